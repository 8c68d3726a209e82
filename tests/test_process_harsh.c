/* test_process_harsh.c: each request for memory or a thread fails once, in turn, while programs are
 * started and signals are taken. The call that needed it returns -ENOMEM, and leaves no process, no
 * descriptor and no handler. This needs the harsh build. */
#define _GNU_SOURCE
#include "faults.h"
#include "processes.h"

static void use_process(leat_scope *scope)
{
    const leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT };
    leat_process *process = NULL;
    char byte;
    if (!worked(leat_spawn(scope, ARGV("cat"), &options, &process))) {
        CHECK(!process && !has_children());
        return;
    }
    CHECK_IS(1, leat_write(leat_process_in(process), "x", 1));
    int64_t n = leat_read(leat_process_out(process), &byte, 1);
    CHECK(n == 1 || n == -ENOMEM);
    failures += n < 0;
    CHECK_IS(0, leat_io_close(leat_process_in(process)));
    worked(leat_wait(process, NULL, LEAT_NEVER));
}

static void use_capture(void)
{
    leat_captured captured;
    if (!worked(leat_capture(SHELL("echo abc; echo def >&2"), NULL, &captured, 100, LEAT_NEVER)))
        return;
    CHECK(strcmp(captured.out, "abc\n") == 0 && strcmp(captured.err, "def\n") == 0);
    CHECK_IS(0, leat_captured_free(&captured));
}

static void use_signals(leat_scope *scope)
{
    const int signals[] = { SIGUSR1, SIGUSR2 };
    struct sigaction now;
    leat_chan *ch = NULL;
    bool taken = worked(leat_signals(scope, signals, 2, &ch));
    CHECK(taken == !!ch);
    CHECK_IS(0, sigaction(SIGUSR1, NULL, &now));
    CHECK(taken == (now.sa_handler != SIG_DFL));
}

static int use_all(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope)
        return -ENOMEM;
    use_process(scope);
    use_capture();
    use_signals(scope);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}

static void survives_each_failure(void **state)
{
    (void)state;
    int before = open_descriptors();
    fail_each_request(use_all, 20);
    /* The bells of two workers and of signals stay. */
    CHECK(open_descriptors() <= before + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(survives_each_failure) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
