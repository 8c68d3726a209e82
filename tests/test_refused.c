/* test_refused.c: when a sandbox refuses membarrier, from the beginning or later, nothing is lost.
 * When it also refuses what replaces membarrier, the program ends with one line. A program that is
 * started gets no descriptor, whatever the sandbox refuses. */
#define _GNU_SOURCE
#include "base/biased.h"
#include "refuse.h"

#include "base/config.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a test in a separate process, since a filter cannot be removed. Returns its exit status;
 * `said` gets its standard error. */
static int in_child(void (*test)(void), char said[512])
{
    int ends[2], status;
    CHECK_IS(0, pipe(ends));
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(100);
        test();
        _exit(0);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    said[fread(said, 1, 511, file)] = '\0';
    fclose(file);
    CHECK_IS(child, waitpid(child, &status, 0));
    return status;
}

static bool there_is_bias(void)
{
    struct lt_biased biased;
    lt_biased_init(&biased);
    return !biased.settled;
}

/* ---- no item is lost when one side owns the channel's lock and the other side comes ---- */

enum { ROUNDS = 100 / SCALE, OPS = 2000 / SCALE, ALONE = 4 * LT_BIAS_AFTER };

struct meeting {
    leat_chan *ch;
    _Atomic long put, taken;
    _Atomic bool begun;
};

static void use(struct meeting *meeting, long ops)
{
    for (long i = 1; i <= ops; i++) {
        long item = i;
        if (leat_try_send(meeting->ch, &item) == 0)
            atomic_fetch_add(&meeting->put, i);
        if (leat_try_recv(meeting->ch, &item) == 0)
            atomic_fetch_add(&meeting->taken, item);
    }
}

static int owner(void *arg)
{
    struct meeting *meeting = arg;
    use(meeting, ALONE);
    atomic_store(&meeting->begun, true);
    use(meeting, OPS);
    return 0;
}

static void *stranger(void *arg)
{
    struct meeting *meeting = arg;
    while (!atomic_load(&meeting->begun))
        sched_yield();
    use(meeting, OPS);
    return NULL;
}

static void meet(void)
{
    struct meeting meeting = { .ch = leat_chan_of(NULL, long, 8) };
    pthread_t thread;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(meeting.ch && s);
    CHECK_IS(0, pthread_create(&thread, NULL, stranger, &meeting));
    CHECK_IS(0, leat_go(s, owner, &meeting));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, pthread_join(thread, NULL));
    for (long item; leat_try_recv(meeting.ch, &item) == 0;)
        atomic_fetch_add(&meeting.taken, item);
    CHECK_IS(atomic_load(&meeting.put), atomic_load(&meeting.taken));
    CHECK_IS(0, leat_chan_unref(meeting.ch));
}

/* ---- a ready task is stolen from a worker that computes ---- */

static _Atomic bool served;

static int serve(void *ch)
{
    CHECK_IS(0, leat_recv(ch, NULL));
    atomic_store(&served, true);
    return 0;
}

static int compute_until_served(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 0);
    atomic_store(&served, false);
    CHECK_IS(0, leat_go(s, serve, ch));
    while (receivers_of(ch) == 0)
        leat_yield();
    CHECK_IS(0, leat_send(ch, NULL));
    while (!atomic_load(&served)) {
    }
    return leat_scope_close(s);
}

static void compute(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, compute_until_served, NULL));
    CHECK_IS(0, leat_scope_close(s));
}

/* ---- a program gets no descriptor but 0, 1 and 2 ---- */

/* It ends with an error if it has no descriptor 9. */
static int code_of_user(unsigned flags)
{
    static const char *const argv[] = { "sh", "-c", ": >&9", NULL };
    leat_captured captured;
    CHECK_IS(
        0, leat_capture(argv, &(leat_spawn_options){ .flags = flags }, &captured, 100, LEAT_NEVER));
    int code = captured.exit.code;
    CHECK_IS(0, leat_captured_free(&captured));
    return code;
}

static int start_programs(void *arg)
{
    (void)arg;
    CHECK_IS(0, code_of_user(LEAT_INHERIT));
    CHECK(code_of_user(0) != 0);
    return 0;
}

static void descriptors_refused(void)
{
    CHECK_IS(9, dup2(STDERR_FILENO, 9));
    refuse(SYS_close_range, EPERM);
    refuse(SYS_getdents64, EPERM);
    CHECK_IS(0, leat_main(start_programs, NULL));
}

/* ---- the tests ---- */

static void refused_first(void)
{
    refuse(SYS_membarrier, EPERM);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    CHECK(!there_is_bias());
    for (int i = 0; i < ROUNDS; i++) {
        compute();
        meet();
    }
    CHECK_IS(0, leat_stop());
}

static void refused_later(void)
{
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    compute();
    meet();
    refuse(SYS_membarrier, EPERM);
    for (int i = 0; i < ROUNDS; i++) {
        compute();
        meet();
    }
    CHECK(!there_is_bias());
    CHECK_IS(0, leat_stop());
}

/* The lock got its owner before. A thread takes the right back, and may still run everywhere. */
static void taken_back_later(void)
{
    static struct lt_biased biased, other;
    static int me;
    cpu_set_t before, after;
    lt_bias_open();
    lt_biased_init(&biased);
    lt_biased_init(&other);
    for (int i = 0; i <= LT_BIAS_AFTER; i++) {
        lt_biased_lock(&biased, &me);
        lt_biased_unlock(&biased);
    }
    CHECK(lt_biased_is_mine(&biased, &me));
    refuse(SYS_membarrier, EPERM);
    CHECK_IS(0, sched_getaffinity(0, sizeof before, &before));
    lt_biased_lock(&biased, NULL);
    CHECK(!lt_biased_is_mine(&biased, &me));
    lt_biased_unlock(&biased);
    CHECK_IS(0, sched_getaffinity(0, sizeof after, &after));
    CHECK(CPU_EQUAL(&before, &after));
    /* No lock gets an owner any more. */
    for (int i = 0; i <= LT_BIAS_AFTER; i++) {
        lt_biased_lock(&other, &me);
        lt_biased_unlock(&other);
    }
    CHECK(!lt_biased_is_mine(&other, &me));
    CHECK(!there_is_bias());
}

static void all_is_refused(void)
{
    static struct lt_biased biased;
    static int me;
    lt_bias_open();
    lt_biased_init(&biased);
    for (int i = 0; i <= LT_BIAS_AFTER; i++) {
        lt_biased_lock(&biased, &me);
        lt_biased_unlock(&biased);
    }
    refuse(SYS_membarrier, EPERM);
    refuse(SYS_sched_setaffinity, EPERM);
    lt_biased_lock(&biased, NULL);
}

static void expect_success(void (*test)(void))
{
    char said[512];
    skip_under_emulation();
    int status = in_child(test, said);
    if (status != 0)
        check_failed(__FILE__, __LINE__, "status %x: %s", (unsigned)status, said);
}

static void works_when_refused_from_the_beginning(void **state)
{
    (void)state;
    expect_success(refused_first);
}

static void works_when_refused_later(void **state)
{
    (void)state;
    expect_success(refused_later);
}

static void takes_back_the_right_when_refused(void **state)
{
    (void)state;
    lt_bias_open();
    if (!there_is_bias())
        skip();
    expect_success(taken_back_later);
}

static void hides_descriptors_when_refused(void **state)
{
    (void)state;
    expect_success(descriptors_refused);
}

static void ends_when_all_is_refused(void **state)
{
    (void)state;
    char said[512];
    skip_under_emulation();
    lt_bias_open();
    if (!there_is_bias())
        skip();
    int status = in_child(all_is_refused, said);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, "leat: the system refuses membarrier"));
    CHECK(strchr(said, '\n') == said + strlen(said) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_when_refused_from_the_beginning),
        cmocka_unit_test(works_when_refused_later),
        cmocka_unit_test(takes_back_the_right_when_refused),
        cmocka_unit_test(ends_when_all_is_refused),
        cmocka_unit_test(hides_descriptors_when_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
