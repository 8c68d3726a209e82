/* test_crowded.c: a program with more workers than processors settles on as many workers as there
 * are processors. The other workers sleep, and compete for no processor, unless as many workers as
 * there are processors are held up. */
#define _GNU_SOURCE /* CPU_COUNT */
#include "moves.h"

#include <sched.h>

enum { MORE = 4, EACH = 4, MOST_TASKS = EACH * (MORE + 16), ROUND_NS = 20000 };

static int processors(void)
{
    cpu_set_t set;
    CHECK_IS(0, sched_getaffinity(0, sizeof set, &set));
    return CPU_COUNT(&set);
}

struct crowd {
    leat_chan *begin[MOST_TASKS], *done;
    _Atomic uint64_t workers; /* that tasks of this round have run on, a bit for each */
};

struct member {
    struct crowd *crowd;
    int number;
};

static int computes_in_rounds(void *arg)
{
    struct member *me = arg;
    while (leat_recv(me->crowd->begin[me->number], NULL) == 0) {
        int64_t until = leat_now() + ROUND_NS;
        while (leat_now() < until) {
        }
        atomic_fetch_or(&me->crowd->workers, UINT64_C(1) << lt_current_worker()->index);
        CHECK_IS(0, leat_send(me->crowd->done, NULL));
    }
    return 0;
}

/* How many workers the tasks ran on. */
static int round_of(struct crowd *crowd, int tasks)
{
    atomic_store(&crowd->workers, 0);
    for (int i = 0; i < tasks; i++)
        CHECK_IS(0, leat_send(crowd->begin[i], NULL));
    for (int i = 0; i < tasks; i++)
        CHECK_IS(0, leat_recv(crowd->done, NULL));
    return __builtin_popcountll(atomic_load(&crowd->workers));
}

static int settles(void *arg)
{
    (void)arg;
    int tasks = EACH * (processors() + MORE);
    struct crowd crowd = { .workers = 0 };
    struct member members[MOST_TASKS];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    crowd.done = leat_chan_make(s, 0, (size_t)tasks);
    for (int i = 0; i < tasks; i++) {
        crowd.begin[i] = leat_chan_make(s, 0, 1);
        members[i] = (struct member){ &crowd, i };
        CHECK_IS(0, leat_go_spread(s, computes_in_rounds, &members[i]));
    }
    WAIT_UNTIL(round_of(&crowd, tasks) <= processors());
    for (int i = 0; i < tasks; i++)
        CHECK_IS(0, leat_close(crowd.begin[i]));
    return leat_scope_close(s);
}

/* ---- held up ---- */

struct holding {
    bool computes;
    leat_chan *go; /* the tasks after it wait for this */
    _Atomic int held, left;
};

/* Holds its worker until all tasks after it have run. */
static int holds(void *arg)
{
    struct holding *h = arg;
    atomic_fetch_add(&h->held, 1);
    while (atomic_load(&h->left) > 0)
        if (!h->computes)
            nap();
    return 0;
}

static int runs_after(void *arg)
{
    struct holding *h = arg;
    CHECK_IS(-EPIPE, leat_recv(h->go, NULL));
    atomic_fetch_sub(&h->left, 1);
    return 0;
}

static int is_held_up(void *arg)
{
    struct holding *h = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    h->go = leat_chan_make(s, 0, 0);
    h->left = MOST_TASKS;
    for (int i = 0; i < MOST_TASKS; i++)
        CHECK_IS(0, leat_go_spread(s, runs_after, h));
    WAIT_UNTIL(leat_yield() == 0 && receivers_of(h->go) == MOST_TASKS);
    for (int i = 0; i < processors(); i++)
        CHECK_IS(0, leat_go_spread(s, holds, h));
    WAIT_UNTIL(leat_yield() == 0 && h->held == processors());
    CHECK_IS(0, leat_close(h->go));
    return leat_scope_close(s);
}

static void serves_others_while_each_processor_has_a_task_that_stays(void **state)
{
    (void)state;
    if (processors() > MOST_TASKS / EACH - MORE)
        skip();
    for (int computes = 0; computes < 2; computes++) {
        struct holding h = { .computes = computes };
        leat_options options = { .workers = (unsigned)(processors() + MORE) };
        CHECK_IS(0, leat_main_with(is_held_up, &h, &options));
    }
}

static void settles_on_as_many_workers_as_processors(void **state)
{
    (void)state;
    if (processors() > MOST_TASKS / EACH - MORE)
        skip();
    leat_options options = { .workers = (unsigned)(processors() + MORE) };
    CHECK_IS(0, leat_main_with(settles, NULL, &options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settles_on_as_many_workers_as_processors),
        cmocka_unit_test(serves_others_while_each_processor_has_a_task_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
