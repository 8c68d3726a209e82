/* overflow.c: ends by the fault that its argument names; overflow.sh checks how. */
#include <leat/leat.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;
static int *volatile nowhere;

/* Uses the frame before and after the call, so that no compiler turns the recursion into a loop. */
static __attribute__((noinline)) int dig_too_deep(int depth)
{
    volatile char frame[256];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (char)depth;
    sink = depth < 1 << 30 ? dig_too_deep(depth + 1) : 0;
    return sink + frame[depth % 256];
}

static int overflowing_task(void *arg)
{
    (void)arg;
    sink = dig_too_deep(0);
    return 0;
}

/* Jumps past the stack's end, by less than the size of the guard, and touches nothing on the way.
 * (Compiled without -fstack-clash-protection, which would touch every page.) */
static int jumping_task(void *arg)
{
    volatile char much[100000];
    (void)arg;
    for (size_t i = 0; i < 30000; i++)
        much[i] = 1;
    return much[100] - 1;
}

static int faulting_task(void *arg)
{
    (void)arg;
    *nowhere = 1;
    return 0;
}

static int overflow_here(void *arg)
{
    return overflowing_task(arg);
}

static int overflow_default(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, overflowing_task, arg);
    return leat_scope_close(s);
}

static int overflow_odd(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go_named(s, overflowing_task, arg, "odd\n\x1b", 0);
    return leat_scope_close(s);
}

static int overflow_jump(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, jumping_task, arg);
    return leat_scope_close(s);
}

static int overflow_sized(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go_sized(s, 256 * 1024, overflowing_task, arg);
    return leat_scope_close(s);
}

static int overflow_after_wait(void *arg)
{
    leat_yield();
    leat_sleep(LEAT_MS);
    return overflow_default(arg);
}

static int overflow_in_thread(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go_blocking(s, overflowing_task, arg);
    return leat_scope_close(s);
}

static int overflow_while_blocking(void *arg)
{
    return leat_blocking(overflowing_task, arg);
}

static int fault_in_task(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, faulting_task, arg);
    return leat_scope_close(s);
}

static int fault_in_thread(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go_blocking(s, faulting_task, arg);
    return leat_scope_close(s);
}

static void former_handler(int number)
{
    static const char text[] = "the former handler\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(number == SIGSEGV ? 42 : 1);
}

static void former_handler_with_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_addr != NULL)
        _exit(1);
    former_handler(number);
}

static struct sigaction leats;

static void later_handler(int number, siginfo_t *info, void *context)
{
    static const char text[] = "the later handler\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    leats.sa_sigaction(number, info, context);
}

/* Installs a handler that calls leat's, and stays after the runtime. */
static int install_later(void)
{
    int error = leat_start(NULL);
    sigaction(
        SIGSEGV,
        &(struct sigaction){ .sa_sigaction = later_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK },
        &leats);
    return error ? error : leat_stop();
}

/* Keeps leat's handler, and puts it back after the runtime. */
static int install_again(void)
{
    int error = leat_start(NULL);
    sigaction(SIGSEGV, NULL, &leats);
    error = error ? error : leat_stop();
    sigaction(SIGSEGV, &leats, NULL);
    return error;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        leat_fn *run;
    } ways[] = {
        { "first", overflow_here },
        { "default", overflow_default },
        { "odd", overflow_odd },
        { "jump", overflow_jump },
        { "sized", overflow_sized },
        { "after-wait", overflow_after_wait },
        { "in-thread", overflow_in_thread },
        { "blocking", overflow_while_blocking },
        { "null", fault_in_task },
        { "null-in-thread", fault_in_thread },
        { "handler", fault_in_task },
        { "handler-with-info", fault_in_task },
        { "handler-overflow", overflow_default },
        { "handler-later", fault_in_task },
        { "handler-later-overflow", overflow_default },
        { "handler-again", fault_in_task },
        { "world", overflow_default },
        { "world-in-thread", overflow_in_thread },
        { "world-blocking", overflow_while_blocking },
    };
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) != 0)
            continue;
        if (strcmp(argv[1], "handler-with-info") == 0)
            sigaction(SIGSEGV,
                      &(struct sigaction){ .sa_sigaction = former_handler_with_info,
                                           .sa_flags = SA_SIGINFO },
                      NULL);
        else if (strncmp(argv[1], "handler", 7) == 0)
            sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = former_handler }, NULL);
        if (strncmp(argv[1], "handler-later", 13) == 0 && install_later() != 0)
            return 1;
        if (strcmp(argv[1], "handler-again") == 0 && install_again() != 0)
            return 1;
        if (strncmp(argv[1], "world", 5) == 0)
            return leat_sim(0, ways[i].run, NULL);
        return leat_main(ways[i].run, NULL);
    }
    fprintf(stderr, "usage: overflow WAY\n");
    return 2;
}
