/* test_move_asleep.c: a party whose worker sleeps, and had little to do before that, goes on where
 * it is made ready. So tasks that talk to each other, and have come to be apart, are together again
 * after a few words. Nor does such a task wait for one that computes.
 *
 * A party computes until the other is served: this shows that it is, not when. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "sched/current.h"
#include "sched/runtime.h"

struct talk {
    leat_chan *asked, *answered;
    int64_t patience;     /* how long the task that answers waits for a question */
    _Atomic pid_t thread; /* of the task that answers, when it received last; 0: not since */
};

static int answer(void *arg)
{
    struct talk *talk = arg;
    while (leat_recv_until(talk->asked, NULL, leat_after(talk->patience)) == 0) {
        atomic_store(&talk->thread, gettid());
        CHECK_IS(0, leat_send(talk->answered, NULL));
    }
    return 0;
}

static bool are_together(struct talk *talk)
{
    return atomic_load(&talk->thread) == gettid();
}

/* The other task is served elsewhere, unless the send has to wait for it. */
static void part(struct talk *talk)
{
    do {
        atomic_store(&talk->thread, 0);
        CHECK_IS(0, leat_send(talk->asked, NULL));
        COMPUTE_UNTIL(atomic_load(&talk->thread));
        CHECK_IS(0, leat_recv(talk->answered, NULL));
    } while (are_together(talk));
}

static bool others_sleep(void)
{
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        if (worker != lt_current_worker() && !atomic_load(&worker->asleep))
            return false;
    }
    return true;
}

static void come_together(struct talk *talk)
{
    for (struct patience patience = { 0, 0 }; !are_together(talk);) {
        if (patience_ends(&patience))
            check_failed(__FILE__, __LINE__, "two tasks have been apart for ten seconds");
        COMPUTE_UNTIL(others_sleep());
        CHECK_IS(0, leat_send(talk->asked, NULL));
        CHECK_IS(0, leat_recv(talk->answered, NULL));
    }
}

/* Dumps, and the search for deadlocks, read what a worker that sleeps has published. */
static void check_what_is_published(void)
{
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        if (worker == lt_current_worker() || !lt_owned_visit(&worker->own))
            continue;
        if (atomic_load(&worker->asleep)) {
            CHECK_IS(worker->wheel.count, atomic_load(&worker->tally.timers));
            CHECK(worker->wheel.count || LT_HINT(worker->next_timer) == LEAT_NEVER);
        }
        lt_owned_end_visit(&worker->own, false);
    }
}

static int ask(void *arg)
{
    struct talk *talk = arg;
    for (int round = 0; round < 50 / SCALE; round++) {
        part(talk);
        come_together(talk);
        check_what_is_published();
    }
    leat_close(talk->asked);
    return 0;
}

static int run_talk(int64_t patience)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct talk talk = { .asked = leat_chan_make(s, 0, 0),
                         .answered = leat_chan_make(s, 0, 0),
                         .patience = patience };
    CHECK_IS(0, leat_go(s, answer, &talk));
    CHECK_IS(0, leat_go_pinned(s, ask, &talk));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static int comes_to_where_it_is_woken(void *arg)
{
    (void)arg;
    return run_talk(LEAT_NEVER);
}
ON_MOVING_WORKERS(comes_to_where_it_is_woken);

static int takes_its_deadline_along(void *arg)
{
    (void)arg;
    return run_talk(3600 * LEAT_S);
}
ON_MOVING_WORKERS(takes_its_deadline_along);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_MOVING_WORKERS(comes_to_where_it_is_woken),
                                        TESTS_ON_MOVING_WORKERS(takes_its_deadline_along) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
