/* test_try.c: a call that never waits never lets another task of its worker run. Tasks that share
 * one worker make each call between two lines, and no other task may run between them. */
#include "enough.h"

enum { LOOPS = 2000, TASKS = 2 };

static int within; /* one worker, so not atomic */

struct room {
    leat_scope *scope;
    leat_chan *empty, *full, *direct, *buffer, *many, *latch;
    leat_semaphore *semaphore;
    leat_mutex *mutex, *held;
    leat_batcher *batcher;
};

static void try_it(struct room *r)
{
    int x = 1;
    CHECK_IS(-EAGAIN, leat_try_recv(r->empty, &x));
    CHECK_IS(-EAGAIN, leat_try_send(r->full, &x));
    CHECK_IS(-EAGAIN, leat_try_send(r->direct, &x));
    CHECK_IS(0, leat_try_send(r->buffer, &x));
    CHECK_IS(0, leat_try_recv(r->buffer, &x));
}

static void until_now(struct room *r)
{
    int x = 1;
    CHECK_IS(-EAGAIN, leat_recv_until(r->empty, &x, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_send_until(r->full, &x, LEAT_NOW));
    CHECK_IS(0, leat_send_until(r->buffer, &x, LEAT_NOW));
    CHECK_IS(0, leat_recv_until(r->buffer, &x, LEAT_NOW));
}

static void many_now(struct room *r)
{
    int x[2] = { 0 };
    CHECK_IS(-EAGAIN, leat_recv_many(r->empty, x, 2, LEAT_NOW));
    CHECK_IS(2, leat_send_many(r->many, x, 2, LEAT_NOW));
    CHECK_IS(2, leat_recv_many(r->many, x, 2, LEAT_NOW));
}

static void select_now(struct room *r)
{
    int x = 1;
    leat_case none[] = { LEAT_RECV(r->empty, &x), LEAT_SEND(r->full, &x) };
    leat_case send[] = { LEAT_RECV(r->empty, &x), LEAT_SEND(r->buffer, &x) };
    leat_case receive[] = { LEAT_RECV(r->buffer, &x), LEAT_SEND(r->full, &x) };
    CHECK_IS(-EAGAIN, leat_select(none, 2, LEAT_NOW));
    CHECK_IS(1, leat_select(send, 2, LEAT_NOW));
    CHECK_IS(0, leat_select_ordered(receive, 2, LEAT_NOW));
}

static void permits(struct room *r)
{
    CHECK_IS(0, leat_try_acquire(r->semaphore, 1));
    CHECK_IS(0, leat_acquire_until(r->semaphore, 1, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_try_acquire(r->semaphore, 1));
    CHECK_IS(0, leat_release(r->semaphore, 2));
}

static void mutexes(struct room *r)
{
    CHECK_IS(0, leat_mutex_try_lock(r->mutex));
    CHECK_IS(0, leat_mutex_unlock(r->mutex));
    CHECK_IS(0, leat_mutex_lock_until(r->mutex, LEAT_NOW));
    CHECK_IS(0, leat_mutex_unlock(r->mutex));
    CHECK_IS(-EAGAIN, leat_mutex_try_lock(r->held));
}

static void closing(struct room *r)
{
    leat_chan *ch = leat_chan_make(NULL, 0, 0);
    CHECK_IS(0, leat_chan_senders(r->latch, 1));
    CHECK_IS(0, leat_chan_done(r->latch));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(-EPIPE, leat_try_recv(ch, NULL));
    CHECK_IS(0, leat_chan_unref(ch));
}

static void scopes(struct room *r)
{
    (void)r;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
}

static void called(leat_op *op, int status)
{
    (void)op;
    CHECK_IS(0, status);
}

static void callbacks(struct room *r)
{
    int x = 1;
    leat_op op = LEAT_OP(NULL, 0);
    CHECK_IS(0, leat_send_then(&op, r->buffer, &x, called));
    CHECK_IS(0, leat_recv_then(&op, r->buffer, &x, called));
}

static void too_late(leat_timer *timer, int status)
{
    (void)timer;
    (void)status;
}

static void timers(struct room *r)
{
    leat_timer timer = LEAT_TIMER(r->scope);
    CHECK_IS(0, leat_after_func(&timer, LEAT_S * 1000, too_late));
    CHECK_IS(0, leat_timer_stop(&timer));
}

static void batches(struct room *r)
{
    leat_ticket ticket;
    CHECK_IS(0, leat_batch_put(r->batcher, NULL, 1, &ticket));
    CHECK_IS(0, leat_batch_get(&ticket, NULL, NULL, LEAT_NOW));
    CHECK_IS(0, leat_batch_put(r->batcher, NULL, 1, &ticket));
    CHECK_IS(0, leat_batch_forget(&ticket));
}

static void (*const calls[])(struct room *) = { try_it,    until_now, many_now, select_now,
                                                permits,   mutexes,   closing,  scopes,
                                                callbacks, timers,    batches };

static int call_alone(void *arg)
{
    struct room *r = arg;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int n = 0; n < LOOPS / SCALE; n++) {
            CHECK_IS(0, within);
            within = (int)i + 1;
            calls[i](r);
            CHECK_IS((int)i + 1, within);
            within = 0;
            if (n % 64 == 0)
                leat_yield();
        }
    return 0;
}

static int do_all(void *arg, leat_batch_view *batch)
{
    (void)arg;
    return leat_batch_all_done(batch);
}

static int never_switches(void *arg)
{
    (void)arg;
    int x = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct room r = { .scope = s,
                      .empty = leat_chan_of(s, int, 1),
                      .full = leat_chan_of(s, int, 1),
                      .direct = leat_chan_of(s, int, 0),
                      .buffer = leat_chan_of(s, int, 1),
                      .many = leat_chan_of(s, int, 4),
                      .latch = leat_latch(s, 1),
                      .semaphore = leat_semaphore_open(s, 2),
                      .mutex = leat_mutex_open(s),
                      .held = leat_mutex_open(s),
                      .batcher = leat_batcher_open(s, &(leat_batcher_spec){ .run = do_all }) };
    CHECK_IS(0, leat_send(r.full, &x));
    CHECK_IS(0, leat_mutex_lock(r.held));
    for (int i = 0; i < TASKS; i++)
        CHECK_IS(0, leat_go(s, call_alone, &r));
    return leat_scope_close(s);
}

static void never_lets_others_run(void **state)
{
    (void)state;
    within = 0;
    run_on(1, never_switches);
}

/* A task that only tries does not delay a task that another worker can run. */
static int send_once(void *ch)
{
    return leat_send(ch, NULL);
}

static int poll_until_it_comes(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_make(s, 0, (size_t)i % 2);
        CHECK_IS(0, leat_go(s, send_once, ch));
        for (int64_t since = leat_now(); leat_try_recv(ch, NULL) == -EAGAIN;)
            CHECK(leat_now() - since < 60 * LEAT_S);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void others_run_elsewhere(void **state)
{
    (void)state;
    run_on(2, poll_until_it_comes);
}

/* A task that waits now and then lets others run, though it also tries. */
static int tries_and_waits(void *arg)
{
    (void)arg;
    atomic_store(&enough, false);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 1);
    CHECK_IS(0, leat_go(s, say_enough, NULL));
    for (int64_t since = leat_now(); go_on(since);) {
        CHECK_IS(0, leat_send(ch, NULL));
        CHECK_IS(0, leat_try_recv(ch, NULL));
    }
    return leat_scope_close(s);
}

static void waiting_tasks_are_fair(void **state)
{
    (void)state;
    run_on(1, tries_and_waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_lets_others_run),
        cmocka_unit_test(others_run_elsewhere),
        cmocka_unit_test(waiting_tasks_are_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
