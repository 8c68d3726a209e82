/* test_sync_exact.c: semaphores, mutexes, latches, onces and singleflights beside a reference that
 * says exactly what they do. The test lets one party after another do something, and after each
 * step it compares who has returned what, at which moment, with the reference, see
 * sync_reference.h.
 *
 * LEAT_SIM=from:to tries other seeds, LEAT_SEED=n repeats one. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define TESTS_IN_SIM 3000
#else
#define TESTS_IN_SIM 30000
#endif

#include "sync_reference.h"

static const char *const way_names[] = { "acquire", "within", "lock",  "unlock",
                                         "latch",   "once",   "flight" };

/* ---- the parties ---- */

struct caller {
    leat_chan *orders;
    struct want want;
    leat_scope *scope;
    bool at_work, returned;
    int status, value;
    int64_t at;
};

static struct {
    uint64_t chance;
    leat_scope *scope;
    leat_semaphore *semaphores[THINGS];
    leat_mutex *mutexes[THINGS];
    leat_chan *latches[THINGS];
    leat_once onces[THINGS];
    leat_singleflight *flights[THINGS];
    struct caller callers[CALLERS];
    int visited, flown, step, used;
} test;

static unsigned long long returned_0[WAYS], failed[WAYS], rounds;

static int visit(void *arg)
{
    (void)arg;
    return leat_sleep_until(end_of(WITHIN, test.visited++, leat_now()));
}

static int run_once(void *arg)
{
    (void)arg;
    int flight = test.flown++;
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_sleep_until(end_of(FLIGHT, flight, leat_now())));
    CHECK_IS(0, leat_unshield());
    return value_of(flight);
}

static int run_flight(void *arg, const void *key, void *value)
{
    (void)arg;
    int flight = test.flown;
    CHECK(*(const int *)key >= 0 && *(const int *)key < KEYS && *(int *)value == 0);
    *(int *)value = flight + 1;
    return run_once(NULL);
}

static int call(struct caller *c)
{
    const struct want *want = &c->want;
    int i = want->thing;
    leat_semaphore *semaphore = test.semaphores[i];
    switch (want->way) {
    case ACQUIRE: return leat_acquire_until(semaphore, want->n, want->deadline);
    case WITHIN: return leat_go_within(test.scope, semaphore, want->deadline, visit, NULL);
    case LOCK: return leat_mutex_lock_until(test.mutexes[i], want->deadline);
    case UNLOCK: return leat_mutex_unlock(test.mutexes[i]);
    case LATCH: return leat_latch_wait(test.latches[i], want->deadline);
    case ONCE: return leat_once_do(&test.onces[i], run_once, NULL);
    default: return leat_singleflight_do(test.flights[i], &want->n, &c->value, want->deadline);
    }
}

static int follow_orders(void *arg)
{
    struct caller *c = arg;
    while (leat_recv(c->orders, NULL) == 0) {
        CHECK(c->scope = leat_scope_open(c->want.scope_deadline));
        c->status = call(c);
        c->at = leat_now();
        c->returned = true;
        leat_scope_close(c->scope);
        c->at_work = false;
    }
    return 0;
}

/* ---- comparing ---- */

static void check_caller(int i)
{
    struct caller *c = &test.callers[i];
    CHECK_IS(ref.callers[i].waits, c->at_work);
    CHECK_IS(ref.callers[i].returned, c->returned);
    if (!c->returned)
        return;
    ref.callers[i].returned = c->returned = false;
    CHECK_IS(ref.callers[i].status, c->status);
    CHECK_IS(ref.callers[i].at, c->at);
    if (c->want.way == FLIGHT)
        CHECK_IS(c->status == 0 ? ref.callers[i].flight + 1 : 0, c->value);
    c->status ? failed[c->want.way]++ : returned_0[c->want.way]++;
}

/* Lets the others do what they can: the clock stands still until no party can run. */
static void sleep_until(int64_t time)
{
    CHECK_IS(0, leat_sleep_until(time));
    ref_until(time);
    CHECK_IS(ref.visited, test.visited);
    CHECK_IS(ref.flown, test.flown);
    for (int i = 0; i < test.used; i++)
        check_caller(i);
    for (int i = 0; i < THINGS; i++) {
        CHECK_IS(ref.permits[i] - ref.taken[i], leat_permits(test.semaphores[i]));
        CHECK_IS(ref.latch[i] == 0, leat_chan_closed(test.latches[i]));
    }
}

/* ---- what the parties and the test do ---- */

static int64_t moment(int kind)
{
    return ref.now - ref.now % LEAT_US + (1 + below(&test.chance, 60)) * LEAT_US + kind + test.step;
}

static int64_t some_deadline(void)
{
    switch (below(&test.chance, 6)) {
    case 0: return LEAT_NOW;
    case 1: return 1; /* long ago */
    case 2:
    case 3: return moment(130);
    default: return LEAT_NEVER;
    }
}

static void order(int i, struct want want)
{
    struct caller *c = &test.callers[i];
    ref_call(i, want);
    c->want = want;
    c->value = 0;
    c->at_work = true;
    CHECK_IS(0, leat_send(c->orders, NULL));
}

static void order_something(int i)
{
    if (ref.callers[i].waits)
        return;
    enum way way = (enum way)below(&test.chance, WAYS);
    int thing = (int)below(&test.chance, THINGS);
    struct want want = { .way = way,
                         .thing = thing,
                         .n = 1 + (int)below(&test.chance, PERMITS),
                         .deadline = way == ONCE ? LEAT_NEVER : some_deadline(),
                         .scope_deadline = below(&test.chance, 4) ? LEAT_NEVER : moment(260) };
    if (way == WITHIN)
        want.n = 1;
    if (way == FLIGHT)
        want.n = (int)below(&test.chance, KEYS);
    /* The header does not say whether such a call starts a flight. */
    if (way == FLIGHT && want.deadline <= ref.now && flight_of(thing, want.n) == NO_ONE)
        want.deadline = LEAT_NEVER;
    order(i, want);
}

static void cancel(int i)
{
    if (!ref.callers[i].waits)
        return;
    CHECK_IS(0, leat_scope_cancel(test.callers[i].scope));
    ref_leave(i, -ECANCELED);
}

static void use_semaphore(int i)
{
    int64_t n = below(&test.chance, PERMITS + 2), held = ref.taken[i] - ref.visits[i];
    if (below(&test.chance, 4) == 0) {
        bool can = n >= 1 && first_of(ACQUIRE, i) == NO_ONE && is_free(ACQUIRE, i, (int)n);
        int status = n < 1 || n > ref.permits[i] ? -EINVAL : can ? 0 : -EAGAIN;
        CHECK_IS(status, leat_try_acquire(test.semaphores[i], n));
        ref.taken[i] += status ? 0 : n;
    } else if (n < 1 || n > ref.taken[i]) {
        CHECK_IS(-EINVAL, leat_release(test.semaphores[i], n));
    } else if (n <= held) {
        CHECK_IS(0, leat_release(test.semaphores[i], n));
        ref_release(i, n);
    }
}

static void use_mutex(int i)
{
    if (ref.holder[i] == MYSELF) {
        CHECK_IS(-EDEADLK, leat_mutex_lock(test.mutexes[i]));
        CHECK_IS(0, leat_mutex_unlock(test.mutexes[i]));
        ref.holder[i] = NO_ONE;
        let_in(LOCK, i);
        return;
    }
    CHECK_IS(-EPERM, leat_mutex_unlock(test.mutexes[i]));
    bool can = ref.holder[i] == NO_ONE;
    CHECK_IS(can ? 0 : -EAGAIN, leat_mutex_lock_until(test.mutexes[i], LEAT_NOW));
    if (can)
        ref.holder[i] = MYSELF;
}

static void count_down(int i)
{
    if (ref.latch[i] == 0)
        return;
    if (below(&test.chance, 4) == 0) {
        CHECK_IS(0, leat_chan_senders(test.latches[i], 1));
        ref.latch[i]++;
        return;
    }
    CHECK_IS(0, leat_chan_done(test.latches[i]));
    if (--ref.latch[i] > 0)
        return;
    for (int k = 0; k < CALLERS; k++)
        if (ref.callers[k].waits && waits_for(k, LATCH, i))
            ref_return(k, 0);
}

static void forget(int i)
{
    int key = (int)below(&test.chance, KEYS), flight = flight_of(i, key);
    CHECK_IS(flight == NO_ONE ? -ENOENT : 0, leat_singleflight_forget(test.flights[i], &key));
    if (flight != NO_ONE)
        ref.flights[flight].forgotten = true;
}

static void do_something(void)
{
    int thing = (int)below(&test.chance, THINGS);
    int caller = (int)below(&test.chance, (unsigned)test.used);
    switch (below(&test.chance, 12)) {
    case 0:
    case 1:
    case 2: use_semaphore(thing); break;
    case 3: use_mutex(thing); break;
    case 4: count_down(thing); break;
    case 5: forget(thing); break;
    case 6: cancel(caller); break;
    default: order_something(caller);
    }
}

/* ---- a round ---- */

static void start(void)
{
    uint64_t *chance = &test.chance;
    for (int i = 0; i < THINGS; i++) {
        ref.permits[i] = 1 + below(chance, PERMITS);
        ref.holder[i] = NO_ONE;
        ref.latch[i] = 1 + below(chance, 6);
        CHECK(test.semaphores[i] = leat_semaphore_open(test.scope, ref.permits[i]));
        CHECK(test.mutexes[i] = leat_mutex_open(test.scope));
        CHECK(test.latches[i] = leat_latch(test.scope, ref.latch[i]));
        CHECK(test.flights[i] = leat_singleflight_open(
                  test.scope, &(leat_singleflight_spec){ .run = run_flight,
                                                         .key_size = sizeof(int),
                                                         .value_size = sizeof(int) }));
    }
    test.used = 1 + (int)below(chance, CALLERS);
    for (int i = 0; i < test.used; i++) {
        struct caller *c = &test.callers[i];
        CHECK(c->orders = leat_chan_make(test.scope, 0, 0));
        CHECK_IS(0, below(chance, 3) ? leat_go(test.scope, follow_orders, c)
                                     : leat_go_blocking(test.scope, follow_orders, c));
    }
}

static void end(void)
{
    test.step = 0;
    for (int i = 0; i < test.used; i++) {
        sleep_until(ref.now - ref.now % LEAT_US + LEAT_US + 1);
        cancel(i);
    }
    sleep_until(ref.now + LEAT_S);
    for (int i = 0; i < THINGS; i++) {
        if (ref.holder[i] == MYSELF)
            use_mutex(i);
        else if (ref.holder[i] != NO_ONE)
            order(ref.holder[i],
                  (struct want){ .way = UNLOCK, .thing = i, .scope_deadline = LEAT_NEVER });
        sleep_until(ref.now + 1);
    }
    for (int i = 0; i < test.used; i++) {
        CHECK(!ref.callers[i].waits);
        CHECK_IS(0, leat_close(test.callers[i].orders));
    }
    CHECK_IS(0, leat_scope_close(test.scope));
}

static int run_round(void *arg)
{
    (void)arg;
    memset(&ref, 0, sizeof ref);
    memset(&test, 0, sizeof test);
    test.chance = seed_of_test();
    ref.now = leat_now();
    CHECK(test.scope = leat_scope_open(LEAT_NEVER));
    start();
    int steps = 1 + (int)below(&test.chance, STEPS);
    for (test.step = 1; test.step < steps; test.step++) {
        int64_t pause = below(&test.chance, 2) ? below(&test.chance, 20) : 0;
        sleep_until(ref.now - ref.now % LEAT_US + (1 + pause) * LEAT_US + test.step);
        do_something();
    }
    end();
    rounds++;
    return 0;
}

/* The test's own party is a thread, instead of a task. */
static int round_by_a_thread(void *arg)
{
    return leat_blocking(run_round, arg);
}

static void by_order_of_a_task(void **state)
{
    (void)state;
    run_on(1, run_round);
}

static void by_order_of_a_thread(void **state)
{
    (void)state;
    run_on(2, round_by_a_thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_order_of_a_task),
        cmocka_unit_test(by_order_of_a_thread),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    fprintf(stderr, "  %llu rounds; 0 and errors:", rounds);
    for (int i = 0; i < WAYS; i++) {
        fprintf(stderr, " %s %llu %llu%c", way_names[i], returned_0[i], failed[i],
                i + 1 < WAYS ? ',' : '\n');
        CHECK((returned_0[i] > 0 && failed[i] > 0) || rounds < 1000);
    }
    return failures;
}
