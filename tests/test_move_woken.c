/* test_move_woken.c: a sleeping worker is woken, and one of the parties that it runs then computes
 * for long. Neither a party that was woken at the same time nor the worker's own timers wait for
 * that.
 *
 * A party computes until the other is served: this shows that it is, not when. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

struct pair {
    leat_chan *ch[2];
    _Atomic int waiting, served;
};

struct half {
    struct pair *pair;
    int side;
};

/* The first of the two to run computes until the other has run. */
static int compute_for_the_other(void *arg)
{
    struct half *half = arg;
    atomic_fetch_add(&half->pair->waiting, 1);
    CHECK_IS(0, leat_recv(half->pair->ch[half->side], NULL));
    atomic_fetch_add(&half->pair->served, 1);
    COMPUTE_UNTIL(atomic_load(&half->pair->served) == 2);
    return 0;
}

static int wake_both(void *arg)
{
    struct pair *pair = arg;
    WAIT_UNTIL(receivers_of(pair->ch[0]) == 1 && receivers_of(pair->ch[1]) == 1);
    usleep(atomic_load(&pair->waiting) == 2 ? 1500 : 0); /* the workers sleep by then, or do not */
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_send(pair->ch[i], NULL));
    return 0;
}

static int serves_tasks_woken_together(void *arg)
{
    (void)arg;
    for (int round = 0; round < 200 / SCALE; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pair pair = { .ch = { leat_chan_make(s, 0, 0), leat_chan_make(s, 0, 0) } };
        struct half halves[2] = { { &pair, 0 }, { &pair, 1 } };
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_go(s, compute_for_the_other, &halves[i]));
        CHECK_IS(0, leat_go_blocking(s, wake_both, &pair));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(serves_tasks_woken_together);

struct late {
    leat_chan *ch;
    _Atomic bool slept;
};

static int sleep_a_while(void *arg)
{
    struct late *late = arg;
    CHECK_IS(0, leat_sleep(4 * LEAT_MS));
    atomic_store(&late->slept, true);
    return 0;
}

static int wake_one(void *arg)
{
    struct late *late = arg;
    WAIT_UNTIL(receivers_of(late->ch) == 1);
    usleep(1500);
    return leat_send(late->ch, NULL);
}

static int serves_timers_when_woken(void *arg)
{
    (void)arg;
    for (int round = 0; round < 200 / SCALE; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct late late = { .ch = leat_chan_make(s, 0, 0) };
        CHECK_IS(0, leat_go(s, sleep_a_while, &late));
        CHECK_IS(0, leat_go_blocking(s, wake_one, &late));
        CHECK_IS(0, leat_recv(late.ch, NULL));
        COMPUTE_UNTIL(atomic_load(&late.slept));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(serves_timers_when_woken);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(serves_tasks_woken_together),
        TESTS_ON_MOVING_WORKERS(serves_timers_when_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
