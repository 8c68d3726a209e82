/* moves.h: makes a task move: another task computes on its worker until the first has moved. */
#pragma once

#include "support.h"

#include <unistd.h>

/* How long a party has tried, without the time for which the system held it up: between two looks
 * at the clock, a millisecond at most counts. */
struct patience {
    int64_t looked, tried;
};

/* True after ten seconds, which is no measure of speed. */
static inline bool patience_ends(struct patience *patience)
{
    int64_t now = leat_now(), passed = patience->looked ? now - patience->looked : 0;
    patience->looked = now;
    patience->tried += passed < LEAT_MS ? passed : LEAT_MS;
    return patience->tried > 10 * LEAT_S;
}

/* Computes until the condition holds. Fails after ten seconds. */
#define COMPUTE_UNTIL(condition) \
    do { \
        struct patience patience_ = { 0, 0 }; \
        while (!(condition)) \
            if (patience_ends(&patience_)) \
                check_failed(__FILE__, __LINE__, "computed ten seconds for %s", #condition); \
    } while (0)

/* The outer scope of each test. The tasks that compute so that others move belong to it. */
static leat_scope *shovers;
static _Atomic uint64_t shoved, not_shoved;

/* Shared by the task that computes and the task that is to move. The last of the two frees it. */
struct shove {
    _Atomic int holders;
    _Atomic bool enough;
};

static inline void shove_let_go(struct shove *shove)
{
    if (atomic_fetch_sub(&shove->holders, 1) == 1)
        free(shove);
}

static inline int shove_compute(void *arg)
{
    struct shove *shove = arg;
    for (int64_t end = leat_after(2 * LEAT_MS); !atomic_load(&shove->enough) && leat_now() < end;)
        ;
    atomic_store(&shove->enough, true);
    shove_let_go(shove);
    return 0;
}

/* Yields after a task that computes. True: the calling task is in another thread now. */
static inline bool shove_once(void)
{
    pid_t before = gettid();
    struct shove *shove = malloc(sizeof *shove);
    CHECK(shove);
    *shove = (struct shove){ .holders = 2 };
    CHECK_IS(0, leat_go_named(shovers, shove_compute, shove, "shover", 0));
    while (gettid() == before && !atomic_load(&shove->enough))
        CHECK_IS(0, leat_yield());
    bool moved = gettid() != before;
    atomic_store(&shove->enough, true);
    shove_let_go(shove);
    return moved;
}

/* Makes the calling task, the only one to do so, run in another thread. Fails after ten seconds. */
static inline void move_on(void)
{
    for (struct patience patience = { 0, 0 }; !shove_once();) {
        atomic_fetch_add(&not_shoved, 1);
        if (patience_ends(&patience))
            check_failed(__FILE__, __LINE__, "a task has not moved for ten seconds");
    }
    atomic_fetch_add(&shoved, 1);
}

/* Tries the same. Several tasks may do it at once. */
static inline void try_to_move(void)
{
    atomic_fetch_add(shove_once() ? &shoved : &not_shoved, 1);
}

static inline leat_counts counts_now(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    return counts;
}

/* Runs the body as a task of a scope inside the shovers' scope. */
static inline int run_among_shovers(leat_fn *body)
{
    shovers = leat_scope_open(LEAT_NEVER);
    CHECK(shovers);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(s, body, NULL, "body", 0));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_scope_close(shovers));
    WAIT_UNTIL(counts_now().timers == 0);
    return 0;
}

/* ON_MOVING_WORKERS(body) is ON_WORKERS(body) on 2 and 4 workers, with a scope for shovers. */
#define ON_MOVING_WORKERS(body) \
    static int body(void *); \
    static int body##_among(void *arg) \
    { \
        (void)arg; \
        return run_among_shovers(body); \
    } \
    static void body##_on_2(void **state) \
    { \
        (void)state; \
        run_on(2, body##_among); \
    } \
    static void body##_on_4(void **state) \
    { \
        (void)state; \
        run_on(4, body##_among); \
    } \
    static int body(void *)
#define TESTS_ON_MOVING_WORKERS(body) cmocka_unit_test(body##_on_2), cmocka_unit_test(body##_on_4)
