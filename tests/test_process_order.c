/* test_process_order.c: an order to end that comes just after the process has ended by itself: the
 * rest of its group still gets the grace. */
#define _GNU_SOURCE
#include "processes.h"

#include "process/process.h"

/* The leader ends when its input does, and leaves a process that has something to do. */
static const char script[] = "(trap 'sleep 0.1; echo late; exit' TERM; exec </dev/null 2>/dev/null;"
                             " echo; while :; do sleep 0.01; done) & read x; exit 0";

/* As leat_process_end, which has found the process not taken yet: but the warden, which has learnt
 * that the process has ended, waits for the lock to take the status. */
static void end_beside_the_warden(leat_process *process)
{
    lt_lock(&process->lock);
    CHECK_IS(0, leat_io_close(leat_process_in(process)));
    while (!has_ended(leat_process_id(process)))
        nap();
    while (!atomic_load(&process->lock.wanted)) /* until the warden waits for the lock */
        nap();
    process->ending = process->spared = true;
    struct lt_shared_timers *timers = lt_shared_timer_set(&process->killer, LEAT_NEVER);
    lt_unlock(&process->lock);
    lt_shared_timers_notify(timers);
    CHECK_IS(0, leat_close(process->orders));
    CHECK_IS(0, leat_kill_all(process, SIGTERM));
}

/* In a thread, so that the warden has a worker. */
static int end_a_zombie(void *arg)
{
    (void)arg;
    char text[8] = { 0 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT,
                                         .grace = 3600 * LEAT_S };
    leat_process *process = spawn(scope, SHELL(script), &options);
    CHECK_IS(1, leat_read(leat_process_out(process), text, 1));
    end_beside_the_warden(process);
    CHECK_IS(0, code_of(process));
    CHECK_IS(5, leat_read_full(leat_process_out(process), text, sizeof text, LEAT_NEVER));
    CHECK(strcmp(text, "late\n") == 0);
    return leat_scope_close(scope);
}

static int gives_the_grace_after_the_end(void *arg)
{
    (void)arg;
    struct foreign foreign;
    foreign_start(&foreign, end_a_zombie, NULL);
    return foreign_join(&foreign);
}
ON_WORKERS(gives_the_grace_after_the_end);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(gives_the_grace_after_the_end) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
