/* test_parallel.c: loops whose rounds run at once. */
#include "support.h"

struct counts {
    _Atomic unsigned char hit[10000];
    _Atomic int calls, running, peak, bad;
    size_t fail_at;
    size_t wait_for; /* rounds that have to run at once */
};

static void count_range(struct counts *c, size_t begin, size_t end)
{
    CHECK(begin < end);
    atomic_fetch_add(&c->calls, 1);
    for (size_t i = begin; i < end; i++)
        CHECK_IS(0, atomic_fetch_add(&c->hit[i], 1));
}

static int count_each(void *arg, size_t begin, size_t end)
{
    count_range(arg, begin, end);
    return 0;
}

static int goes_over_each_index_once(void *arg)
{
    (void)arg;
    static const size_t ends[] = { 0, 1, 2, 7, 64, 1000, 10000 };
    static const leat_parallel hows[] = { { 0, 0 }, { 1, 0 }, { 3, 1 }, { 50, 7 }, { 0, 100000 } };
    struct counts *c = malloc(sizeof *c);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (size_t h = 0; h <= sizeof hows / sizeof *hows; h++)
            for (size_t begin = 0; begin <= ends[e]; begin += ends[e] / 2 + 1) {
                const leat_parallel *how = h < sizeof hows / sizeof *hows ? &hows[h] : NULL;
                memset(c, 0, sizeof *c);
                CHECK_IS(0, leat_parallel_for(begin, ends[e], count_each, c, how));
                for (size_t i = 0; i < 10000; i++)
                    CHECK_IS(i >= begin && i < ends[e], c->hit[i]);
                if (how && how->grain)
                    CHECK_IS((ends[e] - begin + how->grain - 1) / how->grain, c->calls);
            }
    free(c);
    return 0;
}
ON_WORKERS(goes_over_each_index_once);

/* All rounds wait for each other, so `wait_for` of them run at once. */
static int meet(void *arg, size_t begin, size_t end)
{
    struct counts *c = arg;
    CHECK_IS(begin + 1, end);
    int now = atomic_fetch_add(&c->running, 1) + 1, peak = atomic_load(&c->peak);
    while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now)) {
    }
    WAIT_UNTIL(atomic_load(&c->peak) == (int)c->wait_for);
    atomic_fetch_sub(&c->running, 1);
    return 0;
}

static int runs_as_many_at_once_as_asked(void *arg)
{
    (void)arg;
    struct counts *c = calloc(1, sizeof *c);
    c->wait_for = 5;
    CHECK_IS(0, leat_parallel_for(0, 40, meet, c, &(leat_parallel){ 5, 1 }));
    CHECK_IS(5, c->peak);
    free(c);
    return 0;
}
ON_WORKERS(runs_as_many_at_once_as_asked);

static int fail_somewhere(void *arg, size_t begin, size_t end)
{
    struct counts *c = arg;
    count_range(c, begin, end);
    if (begin <= c->fail_at && c->fail_at < end)
        return -EIO;
    return begin > c->fail_at ? leat_sleep(600 * LEAT_S) : 0;
}

static int ends_with_the_first_failure(void *arg)
{
    (void)arg;
    for (size_t at = 0; at < 20; at += 3) {
        struct counts *c = calloc(1, sizeof *c);
        c->fail_at = at;
        CHECK_IS(-EIO, leat_parallel_for(0, 10000, fail_somewhere, c, &(leat_parallel){ 4, 1 }));
        CHECK(c->calls <= (int)at + 4);
        free(c);
    }
    return 0;
}
ON_WORKERS(ends_with_the_first_failure);

static _Atomic size_t begun;

static int fail_at_once(void *arg, size_t index)
{
    (void)arg;
    (void)index;
    atomic_fetch_add(&begun, 1);
    return -EIO;
}

/* A loop that is over starts no tasks that would find nothing to do. */
static int starts_no_more_than_needed(void *arg)
{
    (void)arg;
    enum { MANY = 20000 };
    leat_counts before, after;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(s));
    begun = 0;
    leat_count(&before);
    CHECK_IS(-ECANCELED, leat_all(MANY, fail_at_once, NULL));
    leat_count(&after);
    CHECK_IS(0, begun);
    CHECK(after.started - before.started < MANY / 2);
    return leat_scope_close(s);
}
ON_WORKERS(starts_no_more_than_needed);

static int cancel_soon(void *arg)
{
    leat_sleep(LEAT_MS / 2);
    return leat_scope_cancel(arg);
}

static int sleep_a_little(void *arg, size_t begin, size_t end)
{
    (void)arg;
    (void)begin;
    (void)end;
    int error = leat_sleep(LEAT_MS / 10);
    CHECK(error == 0 || error == -ECANCELED);
    return 0;
}

static int is_cancelled_with_its_caller(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, cancel_soon, s));
    CHECK_IS(-ECANCELED,
             leat_parallel_for(0, SIZE_MAX, sleep_a_little, NULL, &(leat_parallel){ 3, 1 }));
    return leat_scope_close(s);
}
ON_WORKERS(is_cancelled_with_its_caller);

/* ---- map ---- */

static int square(void *arg, const void *in, void *out)
{
    int64_t x = *(const int *)in;
    if (arg && x == *(const int *)arg)
        return -EDOM;
    x *= x;
    memcpy(out, &x, sizeof x);
    return 0;
}

static int maps_an_array_in_order(void *arg)
{
    (void)arg;
    enum { N = 5000 };
    int *in = malloc(N * sizeof *in), bad = 4000;
    int64_t *out = malloc(N * sizeof *out);
    for (int i = 0; i < N; i++)
        in[i] = i;
    for (int n = 0; n <= N; n = 3 * n + 1) {
        CHECK_IS(
            0, leat_parallel_map(in, sizeof *in, out, sizeof *out, (size_t)n, square, NULL, NULL));
        for (int i = 0; i < n; i++)
            CHECK_IS((int64_t)i * i, out[i]);
    }
    CHECK_IS(-EDOM, leat_parallel_map(in, sizeof *in, out, sizeof *out, N, square, &bad, NULL));
    CHECK_IS(0, leat_parallel_map(NULL, 4, NULL, 8, 0, square, NULL, NULL));
    CHECK_IS(-EINVAL, leat_parallel_map(NULL, 4, out, 8, 1, square, NULL, NULL));
    CHECK_IS(-EINVAL, leat_parallel_map(in, 4, NULL, 8, 1, square, NULL, NULL));
    CHECK_IS(-EINVAL, leat_parallel_map(in, 4, out, 8, 1, NULL, NULL, NULL));
    free(in);
    free(out);
    return 0;
}
ON_WORKERS(maps_an_array_in_order);

/* ---- all ---- */

static int meet_one(void *arg, size_t index)
{
    return meet(arg, index, index + 1);
}

static int fail_third(void *arg, size_t index)
{
    (void)arg;
    return index == 3 ? -EIO : leat_sleep(600 * LEAT_S);
}

static int runs_all_at_once(void *arg)
{
    (void)arg;
    struct counts *c = calloc(1, sizeof *c);
    c->wait_for = 50;
    CHECK_IS(0, leat_all(50, meet_one, c));
    CHECK_IS(0, leat_all(0, meet_one, c));
    CHECK_IS(-EIO, leat_all(9, fail_third, NULL));
    CHECK_IS(-EINVAL, leat_all(9, NULL, NULL));
    free(c);
    return 0;
}
ON_WORKERS(runs_all_at_once);

/* ---- first ---- */

static _Atomic int dropped;

static void drop_result(void *item)
{
    CHECK(*(int *)item != 0);
    atomic_fetch_add(&dropped, 1);
}

static int win_if_chosen(void *arg, size_t index, void *out)
{
    if (index != *(const size_t *)arg)
        return leat_sleep(600 * LEAT_S);
    memcpy(out, &(int){ 77 }, sizeof(int));
    return 0;
}

static int lose(void *arg, size_t index, void *out)
{
    (void)arg;
    (void)out;
    return index == 0 ? -EIO : leat_sleep((int64_t)index * LEAT_MS) ? 0 : -EDOM;
}

static int win_all(void *arg, size_t index, void *out)
{
    meet(arg, index, index + 1);
    memcpy(out, &(int){ (int)index + 1 }, sizeof(int));
    return 0;
}

static int lets_the_first_win(void *arg)
{
    (void)arg;
    for (size_t chosen = 0; chosen < 8; chosen++) {
        int result = 0;
        CHECK_IS(chosen, leat_first(8, win_if_chosen, &chosen, &result, sizeof result, NULL));
        CHECK_IS(77, result);
    }
    int result = 5;
    /* A contender that the system holds up fails after another one. */
    WAIT_UNTIL(leat_first(5, lose, NULL, &result, sizeof result, NULL) == -EIO);
    CHECK_IS(5, result);
    struct counts *c = calloc(1, sizeof *c);
    c->wait_for = 6;
    dropped = 0;
    int winner = leat_first(6, win_all, c, &result, sizeof result, drop_result);
    CHECK_IS(winner + 1, result);
    CHECK_IS(5, dropped);
    free(c);
    CHECK_IS(-EINVAL, leat_first(0, lose, NULL, NULL, 0, NULL));
    CHECK_IS(-EINVAL, leat_first(1, NULL, NULL, NULL, 0, NULL));
    CHECK_IS(-EINVAL, leat_first(1, lose, NULL, NULL, 1, NULL));
    CHECK_IS(-EINVAL, leat_first(SIZE_MAX, lose, NULL, &result, 4, NULL));
    return 0;
}
ON_WORKERS(lets_the_first_win);

/* ---- calls that are refused ---- */

static void try_in_callback(leat_op *op, int status)
{
    (void)op;
    CHECK_IS(0, status);
    struct counts *c = NULL;
    CHECK_IS(-EDEADLK, leat_parallel_for(0, 10, count_each, c, NULL));
    CHECK_IS(-EDEADLK, leat_all(3, meet_one, c));
    CHECK_IS(-EDEADLK, leat_first(3, win_all, c, NULL, 0, NULL));
}

static int refuses_callers_that_may_not_wait(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 1);
    leat_op op = LEAT_OP(s, LEAT_ON_WORKER);
    CHECK_IS(0, leat_send_then(&op, ch, NULL, try_in_callback));
    CHECK_IS(-EINVAL, leat_parallel_for(0, 10, NULL, NULL, NULL));
    CHECK_IS(-EINVAL, leat_parallel_for(11, 10, count_each, NULL, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(refuses_callers_that_may_not_wait);

static int loop_in_thread(void *arg)
{
    struct counts *c = arg;
    CHECK_IS(0, leat_parallel_for(0, 1000, count_each, c, NULL));
    for (int i = 0; i < 1000; i++)
        CHECK_IS(1, c->hit[i]);
    return 0;
}

static int serves_threads(void *arg)
{
    (void)arg;
    struct counts *c = calloc(1, sizeof *c);
    struct foreign thread;
    foreign_start(&thread, loop_in_thread, c);
    CHECK_IS(0, foreign_join(&thread));
    free(c);
    return 0;
}
ON_WORKERS(serves_threads);

static void needs_a_runtime(void **state)
{
    (void)state;
    CHECK_IS(-EINVAL, leat_parallel_for(0, 10, count_each, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(goes_over_each_index_once),
        TESTS_ON_WORKERS(runs_as_many_at_once_as_asked),
        TESTS_ON_WORKERS(ends_with_the_first_failure),
        TESTS_ON_WORKERS(starts_no_more_than_needed),
        TESTS_ON_WORKERS(is_cancelled_with_its_caller),
        TESTS_ON_WORKERS(maps_an_array_in_order),
        TESTS_ON_WORKERS(runs_all_at_once),
        TESTS_ON_WORKERS(lets_the_first_win),
        TESTS_ON_WORKERS(refuses_callers_that_may_not_wait),
        TESTS_ON_WORKERS(serves_threads),
        cmocka_unit_test(needs_a_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
