/* test_gaps.c: what other threads do in the short gap between two steps of the core.
 *
 * In the harsh build lt_gap (base/gap.h) now and then stops a thread in such a gap, and each test
 * makes other threads act just then. Where the order of the steps is wrong, a party is missed, and
 * the test waits for it in vain. scripts/mutate makes such orders. */
#include "support.h"

#include "base/gap.h"
#include "sched/runtime.h"

#include <sched.h>

#ifdef LEAT_HARSH
enum { ROUNDS = 300 / SCALE };
#else
enum { ROUNDS = 30 / SCALE }; /* no gap is longer than it is by itself */
#endif

/* Lets up to `most` nanoseconds pass, without giving the processor away. */
static void pause_below(uint64_t *chance, unsigned most)
{
    int64_t end = leat_now() + below(chance, most);
    while (leat_now() < end)
        ;
}

/* ---- a stackless party, between its look at its scope and its claim's opening ---- */

struct tosser {
    leat_block block;
    leat_chan *from, *to;
    leat_case cases[1];
    int ball;
    bool selects;
    _Atomic int *ended;
};

/* Waits nearly always: there is one ball for two blocks. */
static int toss(leat_block *b)
{
    struct tosser *me = (struct tosser *)b;
    LEAT_BEGIN(b);
    do {
        if (me->selects) {
            me->cases[0] = (leat_case)LEAT_RECV(me->from, &me->ball);
            LEAT_AWAIT_SELECT(b, me->cases, 1, LEAT_NEVER, NULL);
        } else {
            LEAT_AWAIT_RECV(b, me->from, &me->ball);
        }
        if (b->status == 0)
            LEAT_AWAIT_SEND(b, me->to, &me->ball);
    } while (b->status == 0);
    CHECK_IS(-ECANCELED, b->status);
    atomic_fetch_add(me->ended, 1);
    LEAT_END(b);
}

static void cancel_reaches_a_block_that_begins_to_wait(void **state)
{
    (void)state;
    uint64_t chance = seed_of_test();
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    for (int round = 0; round < ROUNDS; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *a = leat_chan_of(s, int, 1), *b = leat_chan_of(s, int, 1);
        static struct tosser tossers[2];
        _Atomic int ended = 0;
        for (int i = 0; i < 2; i++) {
            tossers[i] = (struct tosser){
                .from = i ? b : a, .to = i ? a : b, .selects = round % 2, .ended = &ended
            };
            CHECK_IS(0, leat_go_block(s, &tossers[i].block, toss));
        }
        CHECK_IS(0, leat_try_send(a, &(int){ 1 }));
        CHECK_IS(0, leat_sleep(below(&chance, 300) * LEAT_US));
        CHECK_IS(0, leat_scope_cancel(s));
        WAIT_UNTIL(ended == 2);
        CHECK_IS(0, leat_scope_close(s));
    }
    CHECK_IS(0, leat_stop());
}

struct sleeper {
    leat_block block;
    leat_alarm alarm;
    _Atomic int *begun, *ended;
};

static int sleep_for_ever(leat_block *b)
{
    struct sleeper *me = (struct sleeper *)b;
    LEAT_BEGIN(b);
    atomic_fetch_add(me->begun, 1);
    LEAT_AWAIT_SLEEP_UNTIL(b, LEAT_NEVER, &me->alarm);
    CHECK_IS(-ECANCELED, b->status);
    atomic_fetch_add(me->ended, 1);
    LEAT_END(b);
}

static void cancel_reaches_a_block_that_begins_to_sleep(void **state)
{
    (void)state;
    enum { SLEEPERS = 20 };
    uint64_t chance = seed_of_test();
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    for (int round = 0; round < ROUNDS; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        static struct sleeper sleepers[SLEEPERS];
        _Atomic int begun = 0, ended = 0;
        for (int i = 0; i < SLEEPERS; i++) {
            sleepers[i] = (struct sleeper){ .begun = &begun, .ended = &ended };
            CHECK_IS(0, leat_go_block(s, &sleepers[i].block, sleep_for_ever));
        }
        int first = (int)below(&chance, SLEEPERS);
        WAIT_UNTIL(begun > first);
        CHECK_IS(0, leat_scope_cancel(s));
        WAIT_UNTIL(ended == SLEEPERS);
        CHECK_IS(0, leat_scope_close(s));
    }
    CHECK_IS(0, leat_stop());
}

/* ---- a worker, between its last look for news and its sleep ---- */

static _Atomic int passed;

static int pass(void *arg)
{
    (void)arg;
    atomic_fetch_add(&passed, 1);
    return 0;
}

static int echo(void *arg)
{
    leat_chan **ends = arg;
    while (leat_recv(ends[0], NULL) == 0)
        CHECK_IS(0, leat_send(ends[1], NULL));
    return 0;
}

static int wait_for_cancel(void *arg)
{
    CHECK_IS(-ECANCELED, leat_recv(arg, NULL));
    return pass(NULL);
}

/* Each makes the only worker run something, and returns when it has run. */
static void send_to_a_task(leat_chan **ends)
{
    CHECK_IS(0, leat_send(ends[0], NULL));
    CHECK_IS(0, leat_recv_until(ends[1], NULL, leat_after(60 * LEAT_S)));
}

static void start_a_task(leat_scope *s)
{
    int before = passed;
    CHECK_IS(0, leat_go(s, pass, NULL));
    WAIT_UNTIL(passed > before);
}

static void cancel_a_task(leat_chan *never)
{
    int before = passed;
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, wait_for_cancel, never));
    WAIT_UNTIL(receivers_of(never) == 1);
    CHECK_IS(0, leat_scope_cancel(inner));
    WAIT_UNTIL(passed > before);
    CHECK_IS(0, leat_scope_close(inner));
}

/* There are pauses, since a worker that is notified often sleeps only for a moment. */
static void news_reach_a_worker_that_goes_to_sleep(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ends[3];
    for (int i = 0; i < 3; i++)
        ends[i] = leat_chan_make(s, 0, 0);
    CHECK_IS(0, leat_go(s, echo, ends));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) {
            switch (round % 3) {
            case 0: send_to_a_task(ends); break;
            case 1: start_a_task(s); break;
            default: cancel_a_task(ends[2]);
            }
        }
        CHECK_IS(0, leat_sleep(5 * LEAT_MS));
    }
    CHECK_IS(0, leat_close(ends[0]));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

static void a_worker_that_goes_to_sleep_learns_of_the_stop(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 1 + round % 3; i++)
            start_a_task(s);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(0, leat_stop());
    }
}

/* ---- a poster, between its push and its call, and in the middle of its call ---- */

#ifdef LEAT_HARSH

static _Thread_local int gaps_left; /* the thread stops in the last of them */
static _Atomic bool is_stopped, may_go_on;

static void stop_here(void)
{
    if (gaps_left == 0 || --gaps_left > 0)
        return;
    is_stopped = true;
    WAIT_UNTIL(may_go_on);
}

struct stopping_poster {
    leat_chan *to;
    int gaps;
    _Atomic bool has_ended;
};

static void *post_and_stop(void *arg)
{
    struct stopping_poster *me = arg;
    gaps_left = me->gaps;
    CHECK_IS(0, leat_send(me->to, NULL));
    gaps_left = 0;
    me->has_ended = true;
    return NULL;
}

/* True if the first poster stopped. Then the second one's item must arrive meanwhile. */
static bool second_poster_is_heard(leat_chan *first, leat_chan *second, int gaps)
{
    int before = passed;
    pthread_t thread;
    struct stopping_poster poster = { .to = first, .gaps = gaps };
    is_stopped = may_go_on = false;
    WAIT_UNTIL(lt_runtime.workers[0]->asleep);
    CHECK_IS(0, pthread_create(&thread, NULL, post_and_stop, &poster));
    WAIT_UNTIL(is_stopped || poster.has_ended);
    bool stopped = is_stopped;
    CHECK_IS(0, leat_send(second, NULL));
    WAIT_UNTIL(passed >= before + 1);
    may_go_on = true;
    CHECK_IS(0, pthread_join(thread, NULL));
    WAIT_UNTIL(passed == before + 2);
    return stopped;
}

static int count_items(void *arg)
{
    while (leat_recv(arg, NULL) == 0)
        atomic_fetch_add(&passed, 1);
    return 0;
}

static void a_stopped_poster_holds_up_no_other(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *first = leat_chan_make(s, 0, 0), *second = leat_chan_make(s, 0, 0);
    CHECK_IS(0, leat_go(s, count_items, first));
    CHECK_IS(0, leat_go(s, count_items, second));
    WAIT_UNTIL(receivers_of(first) == 1 && receivers_of(second) == 1);
    lt_gap_hook = stop_here;
    /* One gap: after its push. Two: when it has claimed the call. */
    for (int gaps = 1; gaps <= 2; gaps++)
        WAIT_UNTIL(second_poster_is_heard(first, second, gaps));
    lt_gap_hook = NULL;
    CHECK_IS(0, leat_close(first));
    CHECK_IS(0, leat_close(second));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* ---- a release that has taken the mark of the head of the line, before its wake-up ---- */

static _Atomic bool head_has_left;

/* Stops for longer than the head waits. */
static void stop_until_the_head_leaves(void)
{
    if (gaps_left == 0 || --gaps_left > 0)
        return;
    is_stopped = true;
    for (int64_t end = leat_now() + 30 * LEAT_MS; leat_now() < end && !head_has_left;)
        sched_yield();
    CHECK(!head_has_left);
}

static void *release_and_stop(void *semaphore)
{
    CHECK_IS(0, leat_sleep(LEAT_MS));
    gaps_left = 1;
    CHECK_IS(0, leat_release(semaphore, 1));
    gaps_left = 0;
    return NULL;
}

/* True if the release stopped. The head then gives up, and frees the semaphore at once. */
static bool head_waits_for_the_release(bool is_cancelled)
{
    pthread_t thread;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_semaphore *semaphore = leat_semaphore_open(s, 1);
    is_stopped = head_has_left = false;
    CHECK_IS(0, leat_acquire(semaphore, 1));
    CHECK_IS(0, pthread_create(&thread, NULL, release_and_stop, semaphore));
    int64_t deadline = leat_after(5 * LEAT_MS);
    leat_scope *inner = leat_scope_open(is_cancelled ? deadline : LEAT_NEVER);
    int error = leat_acquire_until(semaphore, 1, is_cancelled ? LEAT_NEVER : deadline);
    head_has_left = true;
    CHECK(!error || error == (is_cancelled ? -ECANCELED : -ETIMEDOUT));
    leat_scope_close(inner);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, pthread_join(thread, NULL));
    return error && is_stopped;
}

static void a_head_that_gives_up_waits_for_its_release(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    lt_gap_hook = stop_until_the_head_leaves;
    for (int i = 0; i < 2; i++)
        WAIT_UNTIL(head_waits_for_the_release(i));
    lt_gap_hook = NULL;
    CHECK_IS(0, leat_stop());
}

#endif

/* ---- a home worker, between the look at a nudged task and the next nudge ---- */

enum { HIDDEN = 20 };

static struct {
    leat_scope *_Atomic scopes[HIDDEN];
    leat_chan *never, *left;
    _Atomic int ended;
} hidden;

/* Cancelling the scope around nudges this task, but does not end its wait. */
static int wait_under_a_shield(void *arg)
{
    CHECK_IS(0, leat_shield());
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&hidden.scopes[(intptr_t)arg], s);
    CHECK_IS(-ECANCELED, leat_recv(hidden.never, NULL));
    atomic_fetch_add(&hidden.ended, 1);
    CHECK_IS(0, leat_shield());
    CHECK_IS(-EPIPE, leat_recv(hidden.left, NULL)); /* keeps the scope for its canceller */
    CHECK_IS(0, leat_unshield());
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_unshield());
    return 0;
}

static void a_second_nudge_is_seen(void **state)
{
    (void)state;
    uint64_t chance = seed_of_test();
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    for (int round = 0; round < ROUNDS; round++) {
        leat_scope *around = leat_scope_open(LEAT_NEVER);
        hidden.never = leat_chan_make(NULL, 0, 0);
        hidden.left = leat_chan_make(NULL, 0, 0);
        hidden.ended = 0;
        for (intptr_t i = 0; i < HIDDEN; i++)
            CHECK_IS(0, leat_go(around, wait_under_a_shield, (void *)i));
        WAIT_UNTIL(receivers_of(hidden.never) == HIDDEN);
        CHECK_IS(0, leat_scope_cancel(around));
        pause_below(&chance, 100 * LEAT_US);
        for (int i = 0; i < HIDDEN; i++)
            CHECK_IS(0, leat_scope_cancel(hidden.scopes[i]));
        WAIT_UNTIL(hidden.ended == HIDDEN);
        CHECK_IS(0, leat_close(hidden.left));
        CHECK_IS(0, leat_scope_close(around));
        CHECK_IS(0, leat_chan_unref(hidden.never));
        CHECK_IS(0, leat_chan_unref(hidden.left));
    }
    CHECK_IS(0, leat_stop());
}

/* ---- a canceller, between two scopes ---- */

static _Atomic int opened;

/* Closes its scope as soon as that is marked. */
static int open_until_cancelled(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(s);
    atomic_fetch_add(&opened, 1);
    while (!leat_cancelled(s)) {
        leat_yield();
        sched_yield();
    }
    CHECK_IS(-ECANCELED, leat_scope_close(s));
    return 0;
}

/* The scopes inside end while the canceller is still on its way to them. */
static void a_canceller_keeps_the_scopes_it_has_marked(void **state)
{
    (void)state;
    enum { OPENERS = 4 };
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    for (int round = 0; round < ROUNDS; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        opened = 0;
        for (int i = 0; i < OPENERS; i++)
            CHECK_IS(0, i % 2 ? leat_go(s, open_until_cancelled, NULL)
                              : leat_go_blocking(s, open_until_cancelled, NULL));
        WAIT_UNTIL(opened == OPENERS);
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
    }
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_reaches_a_block_that_begins_to_wait),
        cmocka_unit_test(cancel_reaches_a_block_that_begins_to_sleep),
        cmocka_unit_test(news_reach_a_worker_that_goes_to_sleep),
        cmocka_unit_test(a_worker_that_goes_to_sleep_learns_of_the_stop),
#ifdef LEAT_HARSH
        cmocka_unit_test(a_stopped_poster_holds_up_no_other),
        cmocka_unit_test(a_head_that_gives_up_waits_for_its_release),
#endif
        cmocka_unit_test(a_second_nudge_is_seen),
        cmocka_unit_test(a_canceller_keeps_the_scopes_it_has_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
