/* test_reclaim.c: when memory is short, idle workers keep no stacks that others could use. */
#define _GNU_SOURCE
#include "support.h"

#include "sched/runtime.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for_closing(void *ch)
{
    CHECK_IS(-EPIPE, leat_recv(ch, NULL));
    return 0;
}

static uint64_t sleeps(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < leat_workers(); i++)
        n += atomic_load(&lt_runtime.workers[i]->tally.sleeps);
    return n;
}

static bool workers_sleep_and_keep_nothing(void)
{
    for (unsigned i = 0; i < leat_workers(); i++)
        if (!atomic_load(&lt_runtime.workers[i]->asleep) ||
            atomic_load(&lt_runtime.workers[i]->reclaim))
            return false;
    return true;
}

/* Starts as many tasks as possible at once. Returns how many. Running workers may keep stacks, so
 * memory has run out only if a start fails while all workers sleep. */
static int fill(leat_scope *scope, leat_chan *ch)
{
    int n = 0;
    bool full = false;
    while (!full) {
        uint64_t before = sleeps();
        bool idle = workers_sleep_and_keep_nothing();
        int error = leat_go(scope, wait_for_closing, ch);
        if (error)
            CHECK_IS(-ENOMEM, error);
        n += error == 0;
        full = error && idle && workers_sleep_and_keep_nothing() && sleeps() == before;
    }
    WAIT_UNTIL(receivers_of(ch) == (unsigned)n);
    CHECK_IS(0, leat_close(ch));
    return n;
}

static size_t mapped(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Runs in a separate process, which may map 64 MB more. */
static void fill_again_and_again(void)
{
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 4 }));
    WAIT_UNTIL(workers_sleep_and_keep_nothing());
    size_t bytes = mapped() + (64 << 20);
    CHECK_IS(0, setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes }));
    int first = 0;
    for (int round = 0; round < 10; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_make(s, 0, 0);
        CHECK(s && ch);
        int n = fill(s, ch);
        CHECK_IS(0, leat_scope_close(s));
        if (round == 0)
            first = n;
        if (n < first)
            check_failed(__FILE__, __LINE__, "in round %d only %d of %d", round, n, first);
        WAIT_UNTIL(workers_sleep_and_keep_nothing());
    }
    CHECK(first > 100);
    CHECK_IS(0, leat_stop());
}

static void all_can_be_made_again(void **state)
{
    (void)state;
    skip_under_emulation();
    if (SCALE > 1)
        skip(); /* the sanitizers need address space themselves */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        fill_again_and_again();
        _exit(0);
    }
    int status;
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_can_be_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
