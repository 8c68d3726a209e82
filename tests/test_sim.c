/* test_sim.c: the seeded world repeats runs, runs all four parties, and refuses some calls. */
#include "sched/current.h"
#include "sched/runtime.h"
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

static int sim_at(uint64_t seed, leat_fn *fn, void *arg, leat_sim_outcome *outcome)
{
    return leat_sim_with(&(leat_sim_options){ .seed = seed, .outcome = outcome }, fn, arg);
}

/* ---- a program that uses everything ---- */

struct medley {
    leat_chan *ch, *other;
    uint64_t trace; /* hash of what was seen, in order, and of random numbers */
    _Atomic int calls;
};

static void see(struct medley *m, uint64_t what)
{
    uint64_t state = m->trace ^ what ^ (uint64_t)leat_now() << 20;
    m->trace = lt_rng_next(&state);
}

static int sends_some(void *arg)
{
    struct medley *m = arg;
    for (int i = 0; i < 5; i++) {
        leat_send_until(m->ch, &i, leat_after((i + 1) * LEAT_MS));
        leat_sleep(below(lt_chance(), 3) * LEAT_MS);
        see(m, 1);
    }
    return 0;
}

static int selects_some(void *arg)
{
    struct medley *m = arg;
    for (int i = 0, x; i < 6; i++) {
        leat_case cases[] = { LEAT_RECV(m->ch, &x), LEAT_SEND(m->other, &i),
                              LEAT_RECV(m->other, &x) };
        see(m, (uint64_t)leat_select(cases, 3, leat_after(2 * LEAT_MS)));
    }
    return 0;
}

struct medley_block {
    leat_block block;
    leat_alarm alarm;
    struct medley *m;
    int x, i;
};

static int receives_some(leat_block *b)
{
    struct medley_block *me = (struct medley_block *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < 6; me->i++) {
        LEAT_AWAIT_RECV_UNTIL(b, me->m->ch, &me->x, leat_after(LEAT_MS), &me->alarm);
        see(me->m, (uint64_t)b->status);
    }
    LEAT_END(b);
}

struct medley_op {
    leat_op op;
    struct medley *m;
    int x;
};

static void called(leat_op *op, int status)
{
    struct medley_op *o = (struct medley_op *)op;
    see(o->m, (uint64_t)status);
    atomic_fetch_add(&o->m->calls, 1);
}

static int blocking_part(void *arg)
{
    struct medley *m = arg;
    int x = 0;
    see(m, (uint64_t)leat_recv_until(m->ch, &x, leat_after(LEAT_MS)));
    return x;
}

static int sends_from_outside(void *arg)
{
    struct medley *m = arg;
    leat_scope *own = leat_scope_open(leat_after(4 * LEAT_MS));
    for (int i = 0; i < 4 && leat_send(m->other, &i) == 0; i++)
        see(m, 7);
    return leat_scope_close(own) == 0 || leat_now() > 0 ? 0 : 1;
}

static int medley(void *arg)
{
    struct medley *m = arg;
    leat_scope *s = leat_scope_open(leat_after(50 * LEAT_MS));
    m->ch = leat_chan_of(s, int, 1);
    m->other = leat_chan_of(s, int, 0);
    struct medley_block blocks[2] = { { .m = m }, { .m = m } };
    struct medley_op op = { LEAT_OP(s, 0), m, 0 };
    struct foreign thread;
    CHECK_IS(0, leat_go(s, sends_some, m));
    CHECK_IS(0, leat_go_blocking(s, sends_some, m));
    CHECK_IS(0, leat_go(s, selects_some, m));
    CHECK_IS(0, leat_go_blocking(s, selects_some, m));
    CHECK_IS(0, leat_go_block(s, &blocks[0].block, receives_some));
    CHECK_IS(0, leat_go_block(s, &blocks[1].block, receives_some));
    CHECK_IS(0, leat_recv_then(&op.op, m->ch, &op.x, called));
    foreign_start(&thread, sends_from_outside, m);
    see(m, (uint64_t)leat_blocking(blocking_part, m));
    leat_sleep(20 * LEAT_MS);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, foreign_join(&thread));
    int result = leat_scope_close(s);
    CHECK(result == 0 || result == -ETIMEDOUT);
    CHECK_IS(1, m->calls);
    return 0;
}

static uint64_t digest_of(uint64_t seed)
{
    struct medley m = { .trace = 0 };
    leat_sim_outcome outcome;
    CHECK_IS(0, sim_at(seed, medley, &m, &outcome));
    CHECK_IS(0, outcome.deadlock);
    CHECK(outcome.elapsed >= 20 * LEAT_MS && outcome.elapsed <= 50 * LEAT_MS);
    return outcome.digest ^ m.trace;
}

enum { DIGESTS = 40 };

static void repeats_itself(void **state)
{
    (void)state;
    uint64_t digests[DIGESTS];
    for (unsigned seed = 0; seed < DIGESTS; seed++)
        digests[seed] = digest_of(seed);
    setenv("LEAT_PINNED", "1", 1);
    for (unsigned seed = DIGESTS; seed-- > 0;) {
        /* Shifts all later addresses. */
        void *elsewhere[8];
        for (size_t i = 0; i < 8; i++)
            CHECK(elsewhere[i] = malloc(64 + i * 1000 + seed * 48));
        CHECK(digest_of(seed) == digests[seed]);
        for (size_t i = 0; i < 8; i++)
            free(elsewhere[i]);
        for (unsigned other = 0; other < seed; other++)
            CHECK(digests[other] != digests[seed]);
    }
    unsetenv("LEAT_PINNED");
}

/* Prints the digests. This program does so when it gets an argument. */
static int print_digests(void)
{
    for (unsigned seed = 0; seed < DIGESTS; seed++)
        printf("%llx\n", (unsigned long long)digest_of(seed));
    return 0;
}

static void repeats_itself_in_another_process(void **state)
{
    (void)state;
    skip_under_emulation();
    char command[64];
    snprintf(command, sizeof command, "/proc/%d/exe digests", (int)getpid());
    for (int time = 0; time < 2; time++) {
        FILE *other = popen(command, "r");
        CHECK(other);
        unsigned long long digest;
        for (unsigned seed = 0; seed < DIGESTS; seed++) {
            CHECK_IS(1, fscanf(other, "%llx", &digest));
            CHECK(digest == digest_of(seed));
        }
        CHECK_IS(0, pclose(other));
    }
}

/* ---- orders ---- */

static int order[3], ordered;

static int says_its_number(void *arg)
{
    order[ordered++] = *(int *)arg;
    return 0;
}

static int starts_three(void *arg)
{
    (void)arg;
    int numbers[] = { 0, 1, 2 };
    ordered = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_go(s, says_its_number, &numbers[i]));
    return leat_scope_close(s);
}

static void tries_every_order(void **state)
{
    (void)state;
    for (leat_sim_mode mode = LEAT_SIM_UNIFORM; mode <= LEAT_SIM_PCT; mode++) {
        int seen[27] = { 0 };
        for (unsigned seed = 0; seed < 300; seed++) {
            CHECK_IS(0, leat_sim_with(&(leat_sim_options){ .seed = seed, .mode = mode },
                                      starts_three, NULL));
            seen[order[0] * 9 + order[1] * 3 + order[2]]++;
        }
        int different = 0;
        for (int i = 0; i < 27; i++)
            different += seen[i] > 0;
        CHECK_IS(6, different);
    }
}

/* ---- threads ---- */

static int returns_it(void *arg)
{
    return *(int *)arg;
}

static int is_a_thread(void *arg)
{
    leat_chan *ch = arg;
    CHECK(strstr(leat_task_name(), "is_a_thread"));
    CHECK_IS(LT_THREAD, lt_current_party()->kind);
    CHECK(!lt_current_worker());
    char deep[200 * 1024];
    memset(deep, 1, sizeof deep);
    CHECK_IS(0, leat_send(ch, &deep[100000]));
    CHECK_IS(0, leat_yield());
    CHECK_IS(-ECANCELED, leat_recv(ch, NULL));
    return 0;
}

static int called_from_a_task(void *arg)
{
    CHECK(!leat_task_name());
    CHECK_IS(LT_THREAD, lt_current_party()->kind);
    leat_scope *own = leat_scope_open(leat_after(LEAT_MS));
    CHECK_IS(-ECANCELED, leat_recv(arg, NULL));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(own));
    CHECK_IS(5, leat_blocking(returns_it, &(int){ 5 })); /* in a thread: a plain call */
    return 17;
}

static int uses_threads(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 1, 0);
    char x = 0;
    CHECK_IS(0, leat_go_blocking(s, is_a_thread, ch));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(1, x);
    leat_chan *quiet = leat_chan_make(s, 1, 0);
    CHECK_IS(17, leat_blocking(called_from_a_task, quiet));
    CHECK_IS(LT_TASK, lt_current_party()->kind);
    CHECK(lt_current_worker());
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(-ECANCELED, leat_blocking(called_from_a_task, quiet));
    return leat_scope_close(s);
}

static void simulates_threads(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 200, uses_threads, NULL));
}

/* ---- refusals ---- */

static int never_called(void *arg)
{
    (void)arg;
    check_failed(__FILE__, __LINE__, "was called");
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void *outsider(void *arg)
{
    (void)arg;
    CHECK_IS(-EBUSY, leat_start(NULL));
    CHECK_IS(-EBUSY, leat_main(never_called, NULL));
    CHECK_IS(-EBUSY, leat_sim(1, never_called, NULL));
    CHECK_IS(-EINVAL, leat_stop());
    CHECK_IS(0, leat_workers());
    CHECK(!leat_scope_open(LEAT_NEVER));
    CHECK(!leat_sim_running());
    CHECK(leat_now() != LEAT_SIM_EPOCH);
    return NULL;
}

static int asks_for_another(void *arg)
{
    if (!arg)
        CHECK_IS(0, leat_blocking(asks_for_another, &(int){ 1 }));
    CHECK_IS(1, leat_sim_running());
    CHECK_IS(-EDEADLK, leat_sim(1, never_called, NULL));
    CHECK_IS(-EDEADLK, leat_main(never_called, NULL));
    CHECK_IS(-EDEADLK, leat_start(NULL));
    CHECK_IS(-EDEADLK, leat_stop());
    CHECK_IS(2, leat_workers());
    pthread_t thread;
    CHECK_IS(0, pthread_create(&thread, NULL, outsider, NULL));
    CHECK_IS(0, pthread_join(thread, NULL));
    return 0;
}

static int is_no_world(void *arg)
{
    (void)arg;
    CHECK_IS(-EDEADLK, leat_sim(1, never_called, NULL));
    CHECK_IS(0, leat_sim_running());
    leat_sim_point();
    return 0;
}

static void refuses(void **state)
{
    (void)state;
    CHECK_IS(-EINVAL, leat_sim(1, NULL, NULL));
    CHECK_IS(-EINVAL, leat_sim_with(NULL, NULL, NULL));
    static const leat_sim_options wrong[] = {
        { .mode = (leat_sim_mode)3 }, { .depth = 65 },     { .slip = -1 },
        { .slip = LEAT_S + 1 },       { .schedule = 129 }, { .stack_size = 1000 }
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_IS(-EINVAL, leat_sim_with(&wrong[i], never_called, NULL));
        CHECK_IS(-EINVAL, leat_sim_each_with(&wrong[i], 0, 1, never_called, NULL));
    }
    CHECK_IS(-EINVAL, leat_sim_each(0, 1, NULL, NULL));
    CHECK_IS(-EINVAL, leat_sim_each(1, 1, never_called, NULL));
    CHECK_IS(-EINVAL, leat_sim_each(2, 1, never_called, NULL));
    CHECK_IS(0, leat_sim_running());
    leat_sim_point();

    CHECK_IS(0, leat_sim(3, asks_for_another, NULL));
    CHECK_IS(0, leat_main(is_no_world, NULL));
    CHECK_IS(0, leat_start(NULL));
    CHECK_IS(-EBUSY, leat_sim(1, never_called, NULL));
    CHECK_IS(-EBUSY, leat_sim_each(0, 1, never_called, NULL));
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, leat_sim_with(NULL, nothing, NULL));
    CHECK_IS(0, leat_main(nothing, NULL)); /* everything is as before */
}

static int sized(void *arg)
{
    (void)arg;
    char deep[300 * 1024];
    memset(deep, 1, sizeof deep);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_sized(s, 16 * 1024, nothing, deep));
    return leat_scope_close(s);
}

static void returns_what_the_scope_does(void **state)
{
    (void)state;
    static int results[] = { 0, 5, -EIO, -ECANCELED };
    for (size_t i = 0; i < 4; i++)
        CHECK_IS(results[i], leat_sim(i, returns_it, &results[i]));
    CHECK_IS(0, leat_sim_with(&(leat_sim_options){ .stack_size = 512 * 1024 }, sized, NULL));
}

/* A thread puts something into a worker's inbox, and then looks whether the worker sleeps. By then
 * the item may have arrived, the runtime may have ended, and a world may have begun. */
static struct lt_worker *woken_late;

static void *wake_late(void *arg)
{
    lt_worker_alert(woken_late);
    return arg;
}

static int remember_worker(void *arg)
{
    (void)arg;
    woken_late = lt_current_worker();
    return 0;
}

static int be_woken_late(void *arg)
{
    pthread_t thread;
    (void)arg;
    CHECK_IS(0, pthread_create(&thread, NULL, wake_late, NULL));
    CHECK_IS(0, pthread_join(thread, NULL));
    return leat_sleep(LEAT_MS);
}

static void is_not_reached_by_late_wakers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_IS(0, leat_main_with(remember_worker, NULL, &(leat_options){ .workers = 1 }));
        CHECK_IS(0, leat_sim(i, be_woken_late, NULL));
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return print_digests();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_itself),
        cmocka_unit_test(repeats_itself_in_another_process),
        cmocka_unit_test(tries_every_order),
        cmocka_unit_test(simulates_threads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(returns_what_the_scope_does),
        cmocka_unit_test(is_not_reached_by_late_wakers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
