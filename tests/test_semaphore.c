/* test_semaphore.c: permits with weights. */
#include "dumps.h"

static const char WAITS_FOR_PERMITS[] = "waits to receive from channel";

struct users {
    leat_semaphore *semaphore;
    _Atomic int64_t out, peak;
    _Atomic int rounds;
    uint64_t chance;
};

static int use_permits(void *arg)
{
    struct users *u = arg;
    uint64_t chance = (uint64_t)atomic_fetch_add(&u->rounds, 1) + u->chance;
    for (int i = 0; i < 300 / SCALE; i++) {
        int64_t n = 1 + below(&chance, 10);
        int error;
        switch (below(&chance, 3)) {
        case 0: error = leat_acquire(u->semaphore, n); break;
        case 1:
            error = leat_acquire_until(u->semaphore, n, leat_after(below(&chance, 50) * LEAT_US));
            break;
        default: error = leat_try_acquire(u->semaphore, n);
        }
        CHECK(error == 0 || error == -ETIMEDOUT || error == -EAGAIN);
        if (error)
            continue;
        int64_t now = atomic_fetch_add(&u->out, n) + n, peak = atomic_load(&u->peak);
        while (now > peak && !atomic_compare_exchange_weak(&u->peak, &peak, now)) {
        }
        CHECK(now <= 10);
        leat_yield();
        atomic_fetch_sub(&u->out, n);
        CHECK_IS(0, leat_release(u->semaphore, n));
    }
    return 0;
}

static int never_grants_more_permits_than_exist(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct users u = { .semaphore = leat_semaphore_open(crew.scope, 10), .chance = seed_of_test() };
    for (int i = 0; i < 9; i++)
        crew_go(&crew, kind_of(i), use_permits, &u);
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0 && u.rounds == 9);
    for (int i = 0; i < crew.foreigners; i++)
        WAIT_UNTIL(atomic_load(&crew.foreign[i].ended));
    CHECK_IS(10, leat_permits(u.semaphore));
    CHECK_IS(0, u.out);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(never_grants_more_permits_than_exist);

struct turn {
    leat_semaphore *semaphore;
    int64_t n;
    _Atomic int *order;
    _Atomic int got;
    int status;
};

static int take_turn(void *arg)
{
    struct turn *t = arg;
    t->status = leat_acquire(t->semaphore, t->n);
    t->got = atomic_fetch_add(t->order, 1);
    return 0;
}

/* A request for few permits does not overtake one for many. */
static int serves_in_order(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_semaphore *semaphore = leat_semaphore_open(s, 5);
    _Atomic int order = 0;
    struct turn turns[4];
    CHECK_IS(0, leat_acquire(semaphore, 4));
    for (int i = 0; i < 4; i++) {
        turns[i] = (struct turn){ semaphore, i ? 1 : 5, &order, -1, 1 };
        CHECK_IS(0, leat_go(s, take_turn, &turns[i]));
        WAIT_UNTIL((int)times_in_dump(WAITS_FOR_PERMITS) == i + 1);
    }
    CHECK_IS(1, leat_permits(semaphore));
    CHECK_IS(-EAGAIN, leat_try_acquire(semaphore, 1)); /* others wait before us */
    CHECK_IS(-ETIMEDOUT, leat_acquire_until(semaphore, 1, leat_after(LEAT_MS)));
    CHECK_IS(0, order);
    CHECK_IS(0, leat_release(semaphore, 4));
    WAIT_UNTIL(turns[0].got == 0);
    CHECK_IS(1, order);
    CHECK_IS(0, leat_release(semaphore, 5));
    WAIT_UNTIL(order == 4);
    CHECK_IS(2, leat_permits(semaphore));
    return leat_scope_close(s);
}
ON_WORKERS(serves_in_order);

static int cancelled_waiters_leave(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_semaphore *semaphore = leat_semaphore_open(s, 2);
    CHECK_IS(0, leat_acquire(semaphore, 1));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    _Atomic int order = 0;
    struct turn turns[3];
    for (int i = 0; i < 3; i++) {
        turns[i] = (struct turn){ semaphore, 2, &order, -1, 1 };
        CHECK_IS(0, leat_go(inner, take_turn, &turns[i]));
    }
    WAIT_UNTIL(times_in_dump(WAITS_FOR_PERMITS) == 3);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    for (int i = 0; i < 3; i++)
        CHECK_IS(-ECANCELED, turns[i].status);
    CHECK_IS(0, leat_try_acquire(semaphore, 1));
    CHECK_IS(0, leat_permits(semaphore));
    CHECK_IS(-EINVAL, leat_release(semaphore, 3));
    CHECK_IS(0, leat_release(semaphore, 2));
    CHECK_IS(-EINVAL, leat_release(semaphore, 1));
    CHECK_IS(-EINVAL, leat_acquire(semaphore, 3));
    CHECK_IS(-EINVAL, leat_acquire(semaphore, 0));
    CHECK_IS(-EINVAL, leat_try_acquire(semaphore, -1));
    CHECK_IS(-EINVAL, leat_acquire(NULL, 1));
    CHECK_IS(-EINVAL, leat_release(NULL, 1));
    CHECK_IS(0, leat_permits(NULL));
    CHECK(!leat_semaphore_open(s, 0));
    CHECK(!leat_semaphore_open(NULL, 1));
    return leat_scope_close(s);
}
ON_WORKERS(cancelled_waiters_leave);

/* While there are permits for all, every try succeeds. */
static int borrow(void *arg)
{
    leat_semaphore *semaphore = arg;
    for (int i = 0; i < 20000 / SCALE / (IN_SIM ? 50 : 1); i++) {
        switch (i % 3) {
        case 0: CHECK_IS(0, leat_try_acquire(semaphore, 1)); break;
        case 1: CHECK_IS(0, leat_acquire_until(semaphore, 1, LEAT_NOW)); break;
        default: CHECK_IS(0, leat_acquire(semaphore, 1));
        }
        CHECK_IS(0, leat_release(semaphore, 1));
    }
    return 0;
}

static int grants_free_permits_at_once(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_semaphore *semaphore = leat_semaphore_open(crew.scope, 6);
    for (int i = 0; i < 6; i++)
        crew_go(&crew, kind_of(i), borrow, semaphore);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(grants_free_permits_at_once);

/* The party that gets the last permit may end the scope at once. */
struct lent {
    leat_semaphore *_Atomic semaphore; /* NULL: the permit is given back */
    _Atomic bool over;
};

static void *give_back(void *arg)
{
    struct lent *lent = arg;
    while (!atomic_load(&lent->over)) {
        leat_semaphore *semaphore = atomic_exchange(&lent->semaphore, NULL);
        if (semaphore)
            CHECK_IS(0, leat_release(semaphore, 1));
    }
    return NULL;
}

static int may_go_with_its_last_permit(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    struct lent lent = { NULL, false };
    pthread_t thread;
    CHECK_IS(0, pthread_create(&thread, NULL, give_back, &lent));
    for (int i = 0; i < often(16000); i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_semaphore *semaphore = leat_semaphore_open(s, 1);
        CHECK_IS(0, leat_acquire(semaphore, 1));
        if (i % 3 == 0) /* a party that has waited, and left */
            CHECK_IS(-ETIMEDOUT, leat_acquire_until(semaphore, 1, leat_after(1)));
        atomic_store(&lent.semaphore, semaphore);
        if (i % 3 == 1)
            CHECK_IS(0, leat_acquire(semaphore, 1));
        else
            while (leat_try_acquire(semaphore, 1) != 0)
                continue;
        CHECK_IS(0, leat_scope_close(s));
    }
    atomic_store(&lent.over, true);
    CHECK_IS(0, pthread_join(thread, NULL));
    return 0;
}
ON_WORKERS(may_go_with_its_last_permit);

/* The drop functions of a scope that closes may use its semaphores. But there no party is left to
 * give a permit back: a semaphore that is newer than the channel does not wait. */
struct permits {
    leat_semaphore *older, *newer;
};

static void take_permits(void *item)
{
    const struct permits *permits = item;
    leat_semaphore *both[] = { permits->older, permits->newer };
    for (int i = 0; i < 2; i++) {
        CHECK_IS(1, leat_permits(both[i]));
        CHECK_IS(-EAGAIN, leat_try_acquire(both[i], 2));
        CHECK_IS(i ? -EDEADLK : -ETIMEDOUT, leat_acquire_until(both[i], 2, leat_after(LEAT_MS)));
        CHECK_IS(0, leat_acquire(both[i], 1));
        CHECK_IS(0, leat_release(both[i], 1));
    }
    CHECK_IS(-EDEADLK, leat_acquire(permits->newer, 2));
}

static int serves_drop_functions(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct permits permits = { .older = leat_semaphore_open(s, 2) };
    leat_chan *ch = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof permits, .capacity = 2, .drop = take_permits });
    permits.newer = leat_semaphore_open(s, 2);
    CHECK_IS(0, leat_acquire(permits.older, 1));
    CHECK_IS(0, leat_acquire(permits.newer, 1));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_send(ch, &permits));
    return leat_scope_close(s);
}
ON_WORKERS(serves_drop_functions);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(never_grants_more_permits_than_exist),
        TESTS_ON_WORKERS(serves_in_order),
        TESTS_ON_WORKERS(cancelled_waiters_leave),
        TESTS_ON_WORKERS(grants_free_permits_at_once),
        TESTS_ON_WORKERS(may_go_with_its_last_permit),
        TESTS_ON_WORKERS(serves_drop_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
