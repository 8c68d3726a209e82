/* test_move_talk.c: tasks that talk through a buffer stay on one worker, although each runs for
 * long at a time; and they come together there if they were started apart. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "base/gap.h"
#include "base/sanitizers.h"
#include "sched/current.h"
#include "sched/runtime.h"

struct talk {
    leat_chan *words;
    int64_t length;
    _Atomic pid_t speaker; /* the thread in which the speaker was last seen */
    int64_t apart;
};

enum { STEP = 64 };

static bool sees(int64_t word)
{
    return word % STEP == 0;
}

static int speak(void *arg)
{
    struct talk *talk = arg;
    for (int64_t word = 0; word < talk->length; word++) {
        if (sees(word))
            atomic_store(&talk->speaker, gettid());
        CHECK_IS(0, leat_send(talk->words, &word));
    }
    leat_close(talk->words);
    return 0;
}

static int listen_to(void *arg)
{
    struct talk *talk = arg;
    for (int64_t word; leat_recv(talk->words, &word) == 0;)
        talk->apart += sees(word) && atomic_load(&talk->speaker) != gettid() ? STEP : 0;
    return 0;
}

typedef int starter(leat_scope *s, leat_fn *fn, void *arg);

static bool mostly_together(starter *start)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct talk talk = { .words = leat_chan_of(s, int64_t, 128), .length = 1000000 / SCALE };
    CHECK_IS(0, start(s, speak, &talk));
    CHECK_IS(0, start(s, listen_to, &talk));
    CHECK_IS(0, leat_scope_close(s));
    return talk.apart < talk.length / 20;
}

/* Where an operation takes longer, such tasks seem to compute. */
static bool operations_are_quick(void)
{
#if defined LEAT_HARSH || defined LT_ASAN || defined LT_TSAN
    return false;
#else
    return !getenv("LEAT_EMULATED");
#endif
}

/* Tries again, since other programs may keep a worker off its processor. */
static void check_together(starter *start)
{
    if (operations_are_quick())
        WAIT_UNTIL(mostly_together(start));
    else
        for (int tries = 10; tries > 0 && !mostly_together(start); tries--)
            continue;
}

static int start_here(leat_scope *s, leat_fn *fn, void *arg)
{
    return leat_go(s, fn, arg);
}

static int start_apart(leat_scope *s, leat_fn *fn, void *arg)
{
    return leat_go_spread(s, fn, arg);
}

static int stay_together(void *arg)
{
    (void)arg;
    check_together(start_here);
    return 0;
}
ON_MOVING_WORKERS(stay_together);

static int come_together(void *arg)
{
    (void)arg;
    check_together(start_apart);
    return 0;
}
ON_MOVING_WORKERS(come_together);

#ifdef LEAT_HARSH
/* ---- a worker that looks for news ---- */

struct question {
    leat_chan *asked, *answered;
    struct lt_worker *here;         /* of the task that asks */
    _Atomic(struct lt_worker *) at; /* where the task that answers received last */
};

/* The worker that is to be held when it looks for news, and whether it is. */
static struct lt_worker *_Atomic looker;
static _Atomic bool is_held;

static void hold_looker(void)
{
    struct lt_worker *here = lt_current_worker();
    if (!here || here != atomic_load(&looker) || !here->own.away)
        return;
    atomic_store(&is_held, true);
    COMPUTE_UNTIL(!atomic_load(&looker));
    atomic_store(&is_held, false);
}

static int answer(void *arg)
{
    struct question *q = arg;
    while (leat_recv(q->asked, NULL) == 0) {
        struct lt_worker *at = lt_current_worker();
        atomic_store(&looker, at == q->here ? NULL : at);
        atomic_store(&q->at, at);
        CHECK_IS(0, leat_send(q->answered, NULL));
    }
    return 0;
}

static void make_it_move(struct question *q)
{
    do {
        atomic_store(&q->at, NULL);
        CHECK_IS(0, leat_send(q->asked, NULL));
        COMPUTE_UNTIL(atomic_load(&q->at));
        CHECK_IS(0, leat_recv(q->answered, NULL));
    } while (atomic_load(&q->at) == q->here);
}

/* A worker that the system has held up seems to have computed, and goes to sleep. */
static bool is_held_before_it_sleeps(struct question *q)
{
    COMPUTE_UNTIL(atomic_load(&is_held) || atomic_load(&atomic_load(&q->at)->asleep));
    return atomic_load(&is_held);
}

static int ask(void *arg)
{
    struct question *q = arg;
    q->here = lt_current_worker();
    for (int round = 0; round < 20; round++) {
        do
            make_it_move(q);
        while (!is_held_before_it_sleeps(q));
        CHECK_IS(0, leat_send(q->asked, NULL));
        CHECK_IS(0, leat_recv(q->answered, NULL));
        CHECK(atomic_load(&q->at) == q->here);
        COMPUTE_UNTIL(!atomic_load(&is_held));
    }
    leat_close(q->asked);
    return 0;
}

static int comes_from_a_worker_that_looks(void *arg)
{
    (void)arg;
    if (lt_runtime.processors < 2)
        return 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    /* The answer has a buffer, so that the task that answers waits only for the next question when
     * its worker is held. */
    struct question q = { .asked = leat_chan_make(s, 0, 0), .answered = leat_chan_make(s, 0, 1) };
    atomic_store(&lt_gap_hook, hold_looker);
    CHECK_IS(0, leat_go(s, answer, &q));
    CHECK_IS(0, leat_go_pinned(s, ask, &q));
    CHECK_IS(0, leat_scope_close(s));
    atomic_store(&lt_gap_hook, NULL);
    return 0;
}

static void comes_from_a_worker_that_looks_on_2(void **state)
{
    (void)state;
    run_on(2, comes_from_a_worker_that_looks);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(stay_together),
        TESTS_ON_MOVING_WORKERS(come_together),
#ifdef LEAT_HARSH
        cmocka_unit_test(comes_from_a_worker_that_looks_on_2),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
