/* test_dump_stacks.c: the call stacks in dumps. The program exports its functions (SEEN), so that
 * the dynamic linker knows their names. */
#include "dumps.h"

#include <signal.h>
#include <unistd.h>

#define SEEN __attribute__((noinline, visibility("default")))

/* The lines of a dump from the one about a task to the last one of its stack. Frees the dump. */
static const char *stack_of(const char *task, char *text)
{
    static char result[1 << 14];
    size_t length = 0;
    bool in_it = false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (in_it && strncmp(line + strspn(line, " "), "at ", 3) != 0)
            break;
        in_it |= strstr(line, task) != NULL;
        if (in_it)
            length += (size_t)snprintf(result + length, sizeof result - length, "%s\n", line);
        CHECK(length < sizeof result);
    }
    result[length] = '\0';
    free(text);
    return result;
}

/* Whether the names are in the stack, in this order. Two calls of one function are two. */
static bool has(const char *stack, const char *const *names)
{
    for (const char *at = stack; *names; names++) {
        char frame[64];
        snprintf(frame, sizeof frame, " %s+0x", *names);
        at = strstr(at, frame);
        if (!at)
            return false;
        at++;
    }
    return true;
}

#define HAS(stack, ...) has(stack, (const char *const[]){ __VA_ARGS__, NULL })

static unsigned frames_in(const char *stack)
{
    unsigned n = 0;
    for (; (stack = strstr(stack, "  at ")); stack++)
        n++;
    return n;
}

/* A system without libgcc_s, or an emulator with its own libc. */
static void skip_without_stacks(const char *stack)
{
    if (getenv("LEAT_EMULATED") && frames_in(stack) == 0)
        skip();
}

static volatile int after; /* so that no call is the last thing that its function does */

/* ---- tasks that wait, a task that is ready, the task that dumps ---- */

SEEN int waits_inside(leat_chan *ch, int deeper);

SEEN int waits_inside(leat_chan *ch, int deeper)
{
    int result = deeper ? waits_inside(ch, deeper - 1) : leat_recv(ch, NULL);
    after++;
    return result;
}

SEEN int waits_outside(void *ch)
{
    int result = waits_inside(ch, 2);
    after++;
    return result == -EPIPE ? 0 : result;
}

SEEN int waits_deep(void *ch)
{
    int result = waits_inside(ch, 100);
    after++;
    return result == -EPIPE ? 0 : result;
}

static _Atomic bool enough, yielding;

SEEN int yields(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough)) {
        atomic_store(&yielding, true);
        leat_yield();
    }
    return 0;
}

SEEN char *dumps_inside(void);

SEEN char *dumps_inside(void)
{
    char *text = dump_with(leat_dump);
    after++;
    return text;
}

static char *texts[4];

SEEN int dumps_outside(void *unused)
{
    (void)unused;
    for (int i = 0; i < 4; i++)
        texts[i] = dumps_inside();
    after++;
    return 0;
}

static int parked(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 0);
    atomic_store(&enough, false);
    atomic_store(&yielding, false);
    CHECK_IS(0, leat_go_named(s, waits_outside, ch, "shallow", 0));
    CHECK_IS(0, leat_go_named(s, waits_deep, ch, "deep", 0));
    CHECK_IS(0, leat_go_named(s, yields, NULL, "yielding", 0));
    WAIT_UNTIL(receivers_of(ch) == 2 && atomic_load(&yielding));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(inner, dumps_outside, NULL, "dumping", 0));
    CHECK_IS(0, leat_scope_close(inner));
    atomic_store(&enough, true);
    CHECK_IS(0, leat_close(ch));
    return leat_scope_close(s);
}

static void test_parked(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(parked, NULL,
                               &(leat_options){ .workers = 1, .watch = LEAT_WATCH_STACKS }));
    const char *stack = stack_of("shallow: waits to receive", texts[0]);
    skip_without_stacks(stack);
    if (!HAS(stack, "waits_inside", "waits_inside", "waits_inside", "waits_outside") ||
        HAS(stack, "waits_inside", "waits_inside", "waits_inside", "waits_inside"))
        check_failed(__FILE__, __LINE__, "the stack is %s", stack);
    stack = stack_of("yielding: is ready to go on", texts[1]);
    if (!HAS(stack, "yields"))
        check_failed(__FILE__, __LINE__, "the stack is %s", stack);
    stack = stack_of("dumping: runs", texts[2]);
    if (!HAS(stack, "dumps_inside", "dumps_outside") || HAS(stack, "leat_dump"))
        check_failed(__FILE__, __LINE__, "the stack is %s", stack);
    stack = stack_of("deep: waits to receive", texts[3]);
    CHECK(!HAS(stack, "waits_deep"));
    CHECK_IS(64 + 1, frames_in(stack));
    CHECK(strstr(stack, " at ...\n"));
}

static int unwanted(void *unused)
{
    (void)unused;
    char *text = dumps_inside();
    CHECK(!strstr(text, "  at "));
    free(text);
    return 0;
}

static void test_unwanted(void **state)
{
    (void)state;
    run_on(1, unwanted);
    setenv("LEAT_WATCH", "waits,stacks", 1);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    unsetenv("LEAT_WATCH");
    struct sigaction now;
    CHECK_IS(0, sigaction(SIGPROF, NULL, &now));
    CHECK(now.sa_flags & SA_SIGINFO);
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, sigaction(SIGPROF, NULL, &now));
    CHECK(now.sa_handler == SIG_DFL);
}

/* ---- a worker that does not answer ---- */

static _Atomic bool spinning;

SEEN void spins_inside(void);

SEEN void spins_inside(void)
{
    atomic_store(&spinning, true);
    while (!atomic_load(&enough)) {
    }
    after++;
}

SEEN int spins_outside(void *unused)
{
    (void)unused;
    spins_inside();
    after++;
    return 0;
}

SEEN int spins_in_block(leat_block *b)
{
    LEAT_BEGIN(b);
    spins_inside();
    LEAT_END(b);
}

static _Atomic int heard;

static void on_prof(int signal)
{
    (void)signal;
    atomic_fetch_add(&heard, 1);
}

static void begin(leat_scope **s)
{
    atomic_store(&spinning, false);
    atomic_store(&enough, false);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1, .watch = LEAT_WATCH_STACKS }));
    *s = leat_scope_open(LEAT_NEVER);
}

static void end(leat_scope *s)
{
    atomic_store(&enough, true);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* TSan keeps a signal back while its thread runs the program's own code. */
static void skip_without_prompt_signals(void)
{
    skip_under_emulation();
    if (UNDER_TSAN)
        skip();
}

static void test_held(void **state)
{
    (void)state;
    leat_scope *s;
    skip_without_prompt_signals();
    begin(&s);
    CHECK_IS(0, leat_go_named(s, spins_outside, NULL, "spinning", 0));
    WAIT_UNTIL(atomic_load(&spinning));
    const char *stack = "";
    /* On a loaded machine the thread of the worker may not run for long. */
    for (int i = 0; i < 100 && frames_in(stack) == 0; i++)
        stack = stack_of("spinning: runs", dump_with(leat_dump));
    if (!HAS(stack, "spins_inside", "spins_outside"))
        check_failed(__FILE__, __LINE__, "the stack is %s", stack);
    CHECK(strstr(strchr(stack, '\n'), "spins_inside+0x") <
          strchr(strchr(stack, '\n') + 1, '\n')); /* the handler's frames are left out */
    end(s);
}

static void test_held_by_block(void **state)
{
    (void)state;
    leat_scope *s;
    leat_block block;
    skip_without_prompt_signals();
    begin(&s);
    CHECK_IS(0, leat_go_block(s, &block, spins_in_block));
    WAIT_UNTIL(atomic_load(&spinning));
    const char *stack = "";
    for (int i = 0; i < 100 && frames_in(stack) == 0; i++)
        stack = stack_of("it runs a block or a callback", dump_with(leat_dump));
    if (!HAS(stack, "spins_inside", "spins_in_block"))
        check_failed(__FILE__, __LINE__, "the stack is %s", stack);
    end(s);
}

/* A handler from before hears all signals but leat's, and one from after leaves leat without. */
static void test_handlers(void **state)
{
    (void)state;
    leat_scope *s;
    struct sigaction ours = { .sa_handler = on_prof }, before, now;
    skip_without_prompt_signals();
    CHECK_IS(0, sigaction(SIGPROF, &ours, &before));
    begin(&s);
    CHECK_IS(0, leat_go_named(s, spins_outside, NULL, "spinning", 0));
    WAIT_UNTIL(atomic_load(&spinning));
    /* A signal that the thread of the worker has not got yet would come to the new handler. */
    WAIT_UNTIL(frames_in(stack_of("spinning: runs", dump_with(leat_dump))) > 0);
    CHECK_IS(0, atomic_load(&heard));
    CHECK_IS(0, kill(getpid(), SIGPROF));
    WAIT_UNTIL(atomic_load(&heard) == 1);
    CHECK_IS(0, raise(SIGPROF));
    CHECK_IS(2, atomic_load(&heard));
    CHECK_IS(0, sigaction(SIGPROF, &ours, NULL));
    CHECK_IS(0, frames_in(stack_of("spinning: runs", dump_with(leat_dump))));
    CHECK_IS(2, atomic_load(&heard));
    end(s);
    CHECK_IS(0, sigaction(SIGPROF, &before, &now));
    CHECK(now.sa_handler == on_prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parked),   cmocka_unit_test(test_unwanted),
        cmocka_unit_test(test_held),     cmocka_unit_test(test_held_by_block),
        cmocka_unit_test(test_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
