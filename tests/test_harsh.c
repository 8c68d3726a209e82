/* test_harsh.c: each request for memory or a thread fails once, in turn: a function returns -ENOMEM
 * or NULL, nothing is lost, and everything works afterwards. This needs the harsh build. */
#include "faults.h"

#ifdef LEAT_HARSH
#include <malloc.h>
#include <unistd.h>

struct part {
    leat_chan *in, *out;
    _Atomic int *runs;
};

static int relay(void *arg)
{
    struct part *part = arg;
    atomic_fetch_add(part->runs, 1);
    int x = 0;
    while (leat_recv(part->in, &x) == 0) {
        int err = leat_send(part->out, &x);
        CHECK(err == 0 || err == -EPIPE);
    }
    CHECK_IS(0, leat_chan_done(part->out));
    return 0;
}

static int relay_by_select(void *arg)
{
    struct part *part = arg;
    atomic_fetch_add(part->runs, 1);
    int x = 0;
    leat_case in[] = { LEAT_RECV(part->in, &x), LEAT_RECV(NULL, NULL) };
    while (leat_select(in, 2, LEAT_NEVER) == 0 && in[0].status == 0) {
        leat_case out[] = { LEAT_SEND(part->out, &x) };
        CHECK_IS(0, leat_select_ordered(out, 1, leat_after(600 * LEAT_S)));
        leat_yield();
    }
    CHECK_IS(0, leat_chan_done(part->out));
    return 0;
}

static int sleep_long(void *arg)
{
    CHECK_IS(0, leat_sleep(LEAT_US));
    atomic_fetch_add((_Atomic int *)arg, 1);
    return leat_sleep_until(LEAT_NEVER);
}

static int return_five(void *arg)
{
    (void)arg;
    return 5;
}

static void drop_int(void *item)
{
    (void)item;
}

/* A pipeline of tasks of all kinds, as far as it could be made. Only started tasks run. */
static void use_tasks_and_channels(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return;
    enum { STAGES = 5 };
    leat_chan *chans[STAGES + 1];
    struct part parts[STAGES];
    _Atomic int runs = 0;
    int started = 0;
    for (int i = 0; i <= STAGES; i++) {
        chans[i] = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int),
                                                        .capacity = (size_t)i % 3 * 40,
                                                        .drop = drop_int });
        if (!made(chans[i])) {
            CHECK_IS(0, leat_scope_close(s));
            return;
        }
    }
    for (int i = 0; i < STAGES; i++) {
        parts[i] = (struct part){ chans[i], chans[i + 1], &runs };
        CHECK_IS(0, leat_chan_senders(chans[i + 1], 1));
        bool works = i == 2   ? worked(leat_go_blocking(s, relay, &parts[i]))
                     : i == 3 ? worked(leat_go_sized(s, 128 * 1024, relay_by_select, &parts[i]))
                              : worked(leat_go(s, i % 2 ? relay : relay_by_select, &parts[i]));
        started += works;
        if (!works)
            CHECK_IS(0, leat_chan_done(chans[i + 1]));
    }
    for (int i = 0; i < 20; i++) {
        int64_t deadline = started == STAGES ? LEAT_NEVER : leat_after(1);
        int x = i, err = leat_send_until(chans[0], &x, deadline);
        CHECK(err == 0 || err == -ETIMEDOUT);
        CHECK(err == 0 || started < STAGES);
        if (started == STAGES) {
            CHECK_IS(0, leat_recv(chans[STAGES], &x));
            CHECK_IS(i, x);
        }
    }
    CHECK_IS(0, leat_close(chans[0]));
    for (int i = 0; i <= STAGES; i++) /* stages after a gap would wait */
        CHECK_IS(0, leat_close(chans[i]));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(started, runs);
}

static void use_scopes(void)
{
    _Atomic int runs = 0;
    int started = 0;
    leat_scope *s = leat_scope_open(leat_after(600 * LEAT_S));
    if (!made(s))
        return;
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 6; i++)
        started += worked(i % 3 == 0   ? leat_go(inner ? inner : s, sleep_long, &runs)
                          : i % 3 == 1 ? leat_go_pinned(inner ? inner : s, sleep_long, &runs)
                                       : leat_go_spread(inner ? inner : s, sleep_long, &runs));
    started += worked(leat_go_blocking(s, sleep_long, &runs));
    CHECK_IS(0, leat_shield());
    leat_scope *shielded = leat_scope_open(leat_after(LEAT_MS));
    if (made(shielded)) {
        CHECK_IS(-ECANCELED, leat_sleep(600 * LEAT_S));
        CHECK_IS(-ETIMEDOUT, leat_scope_close(shielded));
    }
    CHECK_IS(0, leat_unshield());
    WAIT_UNTIL(runs == started);
    CHECK_IS(0, leat_scope_cancel(s));
    if (made(inner))
        CHECK_IS(-ECANCELED, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(started, runs);
}

static void use_counted_channels(void)
{
    leat_chan *ch = leat_chan_make(NULL, 0, 2);
    if (!made(ch))
        return;
    CHECK_IS(0, leat_chan_ref(ch));
    CHECK_IS(0, leat_try_send(ch, NULL));
    CHECK_IS(0, leat_try_send(ch, NULL));
    CHECK_IS(-EAGAIN, leat_try_send(ch, NULL));
    CHECK_IS(0, leat_try_recv(ch, NULL));
    CHECK_IS(1, leat_chan_len(ch));
    CHECK_IS(0, leat_chan_unref(ch));
    CHECK_IS(0, leat_chan_unref(ch));
}

struct counted {
    int64_t x;
    _Atomic int *left_out;
};

static int is_odd(void *arg, const void *item)
{
    (void)arg;
    return ((const struct counted *)item)->x % 2 != 0;
}

static void count_left_out(void *item)
{
    atomic_fetch_add(((struct counted *)item)->left_out, 1);
}

/* An item for which leat_distinct has no memory. */
static int count_failed(void *arg, int error, const void *item, leat_emit *emit)
{
    (void)arg, (void)emit;
    CHECK_IS(-ENOMEM, error);
    atomic_fetch_add(((const struct counted *)item)->left_out, 1);
    return 0;
}

/* Each item that was sent arrives, is left out, or fails. */
static void use_transforms(void)
{
    const size_t size = sizeof(struct counted);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return;
    leat_transform *both = leat_on_failure(
        leat_compose(leat_filter(size, is_odd, NULL), leat_distinct(size)), count_failed, NULL);
    leat_chan_spec spec = { .item_size = size, .capacity = 200, .drop = count_left_out };
    leat_chan *in = made(both) ? leat_chan_open(s, &spec) : NULL;
    if (!both || !made(in)) {
        leat_transform_free(both);
        CHECK_IS(0, leat_scope_close(s));
        return;
    }
    _Atomic int left_out = 0;
    leat_chan *out = leat_through(s, in, both, 200, NULL);
    int sent = 0;
    struct counted item = { .left_out = &left_out };
    if (made(out)) {
        for (; item.x < 200; item.x++)
            sent += worked(leat_send(in, &item));
        CHECK_IS(0, leat_close(in));
        for (; leat_recv(out, &item) == 0; sent--)
            CHECK_IS(1, item.x % 2);
        CHECK_IS(sent, left_out);
    }
    CHECK_IS(0, leat_scope_close(s));
}

static int step_once(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_YIELD(b);
    LEAT_END(b);
}

static void use_blocks(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return;
    leat_block blocks[9];
    for (int i = 0; i < 9; i++)
        CHECK_IS(0, leat_go_block(s, &blocks[i], step_once));
    CHECK_IS(0, leat_scope_close(s));
}

static void count_call(leat_timer *timer, int status)
{
    (void)timer;
    CHECK_IS(-ECANCELED, status);
}

/* Timers request no memory. All calls get the same timeout, except those that failed. */
static void use_time(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return;
    leat_timer timers[3];
    leat_chan *timeouts[6];
    for (int i = 0; i < 3; i++) {
        leat_timer_init(&timers[i], s);
        CHECK_IS(0, leat_after_func(&timers[i], 600 * LEAT_S, count_call));
    }
    for (int i = 0; i < 6; i++) {
        timeouts[i] = leat_timeout(i % 2 ? 1 : LEAT_NEVER);
        made(timeouts[i]);
    }
    leat_chan *tick = leat_tick(s, LEAT_US);
    int64_t at;
    if (made(tick))
        CHECK_IS(0, leat_recv(tick, &at));
    for (int i = 0; i < 6; i++) {
        if (timeouts[i] && i % 2)
            CHECK_IS(-EPIPE, leat_recv(timeouts[i], NULL));
        CHECK_IS(timeouts[i] ? 0 : -EINVAL, leat_chan_unref(timeouts[i]));
    }
    CHECK_IS(0, leat_timer_stop(&timers[1]));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
}

static int use_everything(void *arg)
{
    (void)arg;
    use_time();
    use_transforms();
    use_blocks();
    for (int i = 0; i < 2; i++)
        use_tasks_and_channels();
    use_scopes();
    use_counted_channels();
    int result = leat_blocking(return_five, NULL);
    CHECK(result == 5 || result == -ENOMEM);
    failures += result == -ENOMEM;
    return 0;
}

static int use_from_outside(void *arg)
{
    return use_everything(arg);
}

/* A call fails only if a request failed. Of a failed request a call may know nothing: a worker that
 * wanted to steal just does not. */
static int failed;

static bool note_reports(bool struck)
{
    CHECK(struck || failures == 0);
    failed += failures > 0;
    return struck;
}

/* Runs everything with request n failing. True if it made n requests. */
static bool try_main(long n)
{
    atomic_store(&failures, 0);
    lt_fault_arm(n);
    worked(leat_main_with(use_everything, NULL, &(leat_options){ .workers = 2 }));
    bool struck = lt_fault_struck();
    lt_fault_arm(0);
    CHECK_IS(0, leat_workers());
    return note_reports(struck);
}

static bool try_embedded(long n)
{
    struct foreign foreign[2];
    atomic_store(&failures, 0);
    lt_fault_arm(n);
    if (worked(leat_start(&(leat_options){ .workers = 3, .stack_size = 100 * 1024 }))) {
        for (int i = 0; i < 2; i++)
            foreign_start(&foreign[i], use_from_outside, NULL);
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, foreign_join(&foreign[i]));
        CHECK_IS(0, leat_stop());
    }
    bool struck = lt_fault_struck();
    lt_fault_arm(0);
    CHECK_IS(0, leat_workers());
    return note_reports(struck);
}

static size_t mapped_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file);
    CHECK_IS(1, fscanf(file, "%zu", &pages));
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void sweep(bool (*attempt)(long))
{
    long n = 1;
    failed = 0;
    while (attempt(n)) {
        snprintf(check_note, sizeof check_note, "after failing request %ld", n);
        CHECK(!attempt(0)); /* without a failure everything works again */
        n++;
    }
    fprintf(stderr, "  %ld requests, %d failures reported\n", n - 1, failed);
    CHECK(n > 20 && failed > n / 2);
}

/* LeakSanitizer checks what was allocated. This checks that nothing stays mapped. */
static void loses_nothing(bool (*attempt)(long))
{
    mallopt(M_ARENA_MAX, 1);
    sweep(attempt); /* fills the C library's caches */
    size_t before = mapped_bytes();
    for (int i = 0; i < 4; i++)
        sweep(attempt);
    size_t after = mapped_bytes();
    if (SCALE == 1 && after > before + 1024 * 1024)
        check_failed(__FILE__, __LINE__, "%zu bytes more are mapped", after - before);
}

static void survives_each_failure(void **state)
{
    (void)state;
    loses_nothing(try_main);
}

static void survives_each_failure_embedded(void **state)
{
    (void)state;
    loses_nothing(try_embedded);
}
#else
static void survives_each_failure(void **state)
{
    (void)state;
    skip();
}

static void survives_each_failure_embedded(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_each_failure),
        cmocka_unit_test(survives_each_failure_embedded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
