/* test_callback.c: operations that call a function: when, where, how often and with what. */
#include "support.h"

#include <limits.h>

struct call {
    leat_op op; /* first: `note` casts it to the struct */
    _Atomic int calls;
    _Atomic int status;
    int x;
    leat_chan *ch;
    leat_case cases[3];
    pthread_t thread;
    leat_scope *scope;
};

static void note(leat_op *op, int status)
{
    struct call *call = (struct call *)op;
    call->thread = pthread_self();
    atomic_store(&call->status, status);
    atomic_fetch_add(&call->calls, 1);
}

static struct call a_call(leat_scope *s, unsigned flags)
{
    return (struct call){ .op = LEAT_OP(s, flags), .status = 99 };
}

static void check_called(struct call *call, int status)
{
    CHECK_IS(1, call->calls);
    CHECK_IS(status, call->status);
}

/* ---- no runtime, and wrong arguments ---- */

static void needs_a_runtime(void **state)
{
    (void)state;
    struct call call = a_call(NULL, 0);
    leat_chan *ch = leat_chan_of(NULL, int, 1);
    call.cases[0] = (leat_case)LEAT_SEND(ch, &call.x);
    CHECK_IS(-EINVAL, leat_send_then(&call.op, ch, &call.x, note));
    CHECK_IS(-EINVAL, leat_recv_then(&call.op, ch, &call.x, note));
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, 1, note));
    CHECK_IS(0, call.calls);
    CHECK_IS(0, leat_chan_len(ch));
    CHECK_IS(0, leat_chan_unref(ch));
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    struct call call = a_call(s, 0);
    CHECK_IS(-EINVAL, leat_send_then(NULL, ch, &call.x, note));
    CHECK_IS(-EINVAL, leat_send_then(&call.op, NULL, &call.x, note));
    CHECK_IS(-EINVAL, leat_send_then(&call.op, ch, NULL, note));
    CHECK_IS(-EINVAL, leat_send_then(&call.op, ch, &call.x, NULL));
    CHECK_IS(-EINVAL, leat_recv_then(NULL, ch, &call.x, note));
    CHECK_IS(-EINVAL, leat_recv_then(&call.op, NULL, &call.x, note));
    CHECK_IS(-EINVAL, leat_recv_then(&call.op, ch, &call.x, NULL));
    call.cases[0] = (leat_case)LEAT_RECV(ch, &call.x);
    call.cases[1] = (leat_case)LEAT_SEND(ch, &call.x);
    CHECK_IS(-EINVAL, leat_select_then(NULL, call.cases, 2, note));
    CHECK_IS(-EINVAL, leat_select_then(&call.op, NULL, 2, note));
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, 0, note));
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, (size_t)INT_MAX + 1, note));
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, 2, NULL));
    call.cases[1].item = NULL;
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, 2, note));
    call.cases[1] = (leat_case)LEAT_SEND(ch, &call.x);
    call.cases[1].op = 0;
    CHECK_IS(-EINVAL, leat_select_then(&call.op, call.cases, 2, note));
    CHECK_IS(-EINVAL, leat_withdraw(NULL));
    CHECK_IS(-EINVAL, leat_send_signal(NULL, ch, &call.x, 0));
    CHECK_IS(-EINVAL, leat_send_signal(&call.op, ch, &call.x, -1));
    CHECK_IS(-EINVAL, leat_recv_signal(&call.op, NULL, &call.x, 0));
    CHECK_IS(-EINVAL, leat_op_status(NULL));
    CHECK_IS(0, call.calls);
    CHECK_IS(0, leat_chan_len(ch));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

static void got_bytes(leat_io_op *op, int status)
{
    (void)op;
    CHECK_IS(-ECANCELED, status);
}

static int receive_result(void *arg, leat_batch_view *batch)
{
    batch->status[0] = leat_recv((leat_chan *)arg, batch->results);
    return 0;
}

static void got_result(leat_batch_op *op, int status)
{
    (void)op;
    CHECK_IS(0, status);
}

/* An operation that is under way goes on as if nobody had tried to start it again. */
static int refuses_what_is_under_way(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(outer, int, 0), *open = leat_chan_of(outer, int, 1);
    struct call call = a_call(s, 0), signals = a_call(s, 0);
    call.cases[0] = (leat_case)LEAT_SEND(open, &call.x);
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, leat_recv_then(&call.op, ch, &call.x, note));
        CHECK_IS(-EBUSY, leat_recv_then(&call.op, ch, &call.x, note));
        CHECK_IS(-EBUSY, leat_send_then(&call.op, open, &call.x, note));
        CHECK_IS(-EBUSY, leat_select_then(&call.op, call.cases, 1, note));
        CHECK_IS(-EBUSY, leat_send_signal(&call.op, open, &call.x, 0));
        CHECK_IS(1, receivers_of(ch));
        CHECK_IS(0, leat_chan_len(open));
        if (i == 0)
            CHECK_IS(0, leat_withdraw(&call.op));
    }
    CHECK_IS(0, leat_send(ch, &(int){ 3 }));
    WAIT_UNTIL(call.calls);
    check_called(&call, 0);
    CHECK_IS(3, call.x);

    CHECK_IS(-EINVAL, leat_recv_signal(&signals.op, NULL, &call.x, 0));
    CHECK_IS(-EINVAL, leat_op_status(&signals.op));

    leat_io *ends[2];
    char bytes[4];
    leat_io_op reading = LEAT_IO_OP(s, 0);
    CHECK_IS(0, leat_io_pair(outer, ends));
    CHECK_IS(0, leat_read_then(&reading, ends[0], bytes, 4, got_bytes));
    CHECK_IS(-EBUSY, leat_read_then(&reading, ends[1], bytes, 4, got_bytes));
    CHECK_IS(-EBUSY, leat_write_then(&reading, ends[0], "x", 1, got_bytes));

    int result = 5;
    leat_batch_op asking = LEAT_BATCH_OP(s, 0);
    leat_batcher *batcher = leat_batcher_open(
        outer,
        &(leat_batcher_spec){ .result_size = sizeof(int), .run = receive_result, .arg = ch });
    CHECK_IS(0, leat_batch_then(&asking, batcher, NULL, &result, got_result));
    CHECK_IS(-EBUSY, leat_batch_then(&asking, batcher, NULL, &result, got_result));
    CHECK_IS(0, leat_send(ch, &(int){ 3 }));
    WAIT_UNTIL(leat_scope_tasks(s) == 1);
    CHECK_IS(3, result);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    return leat_scope_close(outer);
}
ON_WORKERS(refuses_what_is_under_way);

/* ---- at once ---- */

/* In a task or a thread the function runs before the call returns. */
static int call_at_once(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    for (int i = 0; i < 3; i++) {
        struct call send = a_call(i ? s : NULL, 0), recv = a_call(i ? s : NULL, 0);
        send.x = i;
        send.cases[0] = (leat_case)LEAT_RECV(NULL, NULL);
        send.cases[1] = (leat_case)LEAT_SEND(ch, &send.x);
        if (i == 2)
            CHECK_IS(0, leat_select_then(&send.op, send.cases, 2, note));
        else
            CHECK_IS(0, leat_send_then(&send.op, ch, &send.x, note));
        check_called(&send, i == 2 ? 1 : 0);
        CHECK(pthread_equal(send.thread, pthread_self()));
        recv.cases[0] = (leat_case)LEAT_RECV(ch, &recv.x);
        if (i == 2)
            CHECK_IS(0, leat_select_then(&recv.op, recv.cases, 1, note));
        else
            CHECK_IS(0, leat_recv_then(&recv.op, ch, &recv.x, note));
        check_called(&recv, 0);
        CHECK_IS(i, recv.x);
        CHECK(pthread_equal(recv.thread, pthread_self()));
        CHECK_IS(-EALREADY, leat_withdraw(&recv.op));
    }
    CHECK_IS(0, leat_close(ch));
    struct call closed = a_call(s, 0);
    CHECK_IS(0, leat_recv_then(&closed.op, ch, &closed.x, note));
    check_called(&closed, -EPIPE);
    closed = a_call(s, 0);
    CHECK_IS(0, leat_send_then(&closed.op, ch, &closed.x, note));
    check_called(&closed, -EPIPE);
    (void)arg;
    return leat_scope_close(s);
}

struct step_call {
    leat_block block;
    leat_chan *ch;
    struct call send, recv;
};

/* In a block's step it does, too. */
static int call_in_a_step(leat_block *b)
{
    struct step_call *me = (struct step_call *)b;
    LEAT_BEGIN(b);
    CHECK_IS(0, leat_send_then(&me->send.op, me->ch, &me->send.x, note));
    check_called(&me->send, 0);
    CHECK_IS(0, leat_recv_then(&me->recv.op, me->ch, &me->recv.x, note));
    check_called(&me->recv, 0);
    CHECK_IS(6, me->recv.x);
    LEAT_END(b);
}

static int calls_at_once(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (enum kind kind = TASK; kind < KINDS; kind++)
        for (int i = 0; i < 3; i++)
            crew_go(&crew, kind, call_at_once, NULL);
    struct step_call me = { .ch = leat_chan_of(crew.scope, int, 1),
                            .send = a_call(NULL, 0),
                            .recv = a_call(crew.scope, 0) };
    me.send.x = 6;
    CHECK_IS(0, leat_go_block(crew.scope, &me.block, call_in_a_step));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(calls_at_once);

/* ---- later ---- */

static void forget_to_wait(leat_op *op, int status)
{
    struct call *call = (struct call *)op;
    int x = 0;
    CHECK_IS(-EDEADLK, leat_recv(call->ch, &x));
    CHECK_IS(-EDEADLK, leat_send_until(call->ch, &x, leat_after(LEAT_S)));
    CHECK_IS(-EDEADLK, leat_sleep(LEAT_S));
    CHECK_IS(-EDEADLK, leat_select(call->cases, 1, LEAT_NEVER));
    CHECK(!leat_scope_open(LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_try_recv(call->ch, &x));
    note(op, status);
}

/* A worker calls the function of an operation that had to wait, or that asked for a worker. */
static int calls_on_a_worker(void *arg)
{
    (void)arg;
    for (unsigned flags = 0; flags <= LEAT_ON_WORKER; flags++) {
        for (int later = !flags; later <= 1; later++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            leat_chan *ch = leat_chan_of(s, int, 1), *nobody = leat_chan_of(s, int, 0);
            struct call recv = a_call(s, flags);
            recv.ch = nobody;
            recv.cases[0] = (leat_case)LEAT_RECV(nobody, NULL);
            if (!later)
                CHECK_IS(0, leat_send(ch, &(int){ 8 }));
            CHECK_IS(0, leat_recv_then(&recv.op, ch, &recv.x, forget_to_wait));
            CHECK_IS(1, leat_scope_tasks(s) == 1 || recv.calls);
            if (later) {
                CHECK_IS(0, recv.calls);
                CHECK_IS(1, receivers_of(ch));
                CHECK_IS(0, leat_send(ch, &(int){ 8 }));
            }
            WAIT_UNTIL(recv.calls);
            check_called(&recv, 0);
            CHECK_IS(8, recv.x);
            CHECK_IS(0, receivers_of(nobody));
            CHECK_IS(0, leat_scope_close(s));
        }
    }
    return 0;
}
ON_WORKERS(calls_on_a_worker);

static int call_later(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0), *other = leat_chan_of(s, int, 0);
    struct call recv = a_call(s, 0), send = a_call(NULL, 0), select = a_call(s, 0);
    int x = 1;
    CHECK_IS(0, leat_recv_then(&recv.op, ch, &recv.x, note));
    CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(0, leat_send_then(&send.op, ch, &send.x, note));
    CHECK_IS(0, leat_recv(ch, &x));
    select.cases[0] = (leat_case)LEAT_SEND(other, &x);
    select.cases[1] = (leat_case)LEAT_RECV(NULL, &x);
    select.cases[2] = (leat_case)LEAT_RECV(ch, &select.x);
    CHECK_IS(0, leat_select_then(&select.op, select.cases, 3, note));
    CHECK_IS(0, leat_send(ch, &(int){ 5 }));
    WAIT_UNTIL(recv.calls && send.calls && select.calls);
    check_called(&recv, 0);
    CHECK_IS(1, recv.x);
    check_called(&send, 0);
    check_called(&select, 2);
    CHECK_IS(5, select.x);
    CHECK_IS(0, senders_of(other));
    /* Closing ends operations. */
    recv = a_call(NULL, 0), send = a_call(s, LEAT_ON_WORKER), select = a_call(NULL, 0);
    CHECK_IS(0, leat_recv_then(&recv.op, ch, &recv.x, note));
    CHECK_IS(0, leat_send_then(&send.op, other, &send.x, note));
    select.cases[0] = (leat_case)LEAT_RECV(NULL, &x);
    select.cases[1] = (leat_case)LEAT_RECV(ch, &x);
    CHECK_IS(0, leat_select_then(&select.op, select.cases, 2, note));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_close(other));
    WAIT_UNTIL(recv.calls && send.calls && select.calls);
    check_called(&recv, -EPIPE);
    check_called(&send, -EPIPE);
    check_called(&select, 1);
    CHECK_IS(-EPIPE, select.cases[1].status);
    return leat_scope_close(s);
}

static int calls_later(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (enum kind kind = TASK; kind < KINDS; kind++)
        for (int i = 0; i < 5; i++)
            crew_go(&crew, kind, call_later, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(calls_later);

/* ---- scopes ---- */

/* Cancelling ends all operations, and closing waits for their functions. */
static int ends_with_the_scope(void *arg)
{
    (void)arg;
    enum { CALLS = 60 };
    for (int round = 0; round < 40; round++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        leat_scope *s =
            leat_scope_open(round % 4 == 3 ? leat_after(round * 10 * LEAT_US) : LEAT_NEVER);
        leat_chan *full = leat_chan_of(outer, int, 0), *empty = leat_chan_of(outer, int, 0);
        struct call calls[CALLS];
        for (int i = 0; i < CALLS; i++) {
            calls[i] = a_call(s, i % 2 ? LEAT_ON_WORKER : 0);
            calls[i].cases[0] = (leat_case)LEAT_RECV(empty, &calls[i].x);
            calls[i].cases[1] = (leat_case)LEAT_RECV(NULL, &calls[i].x);
            if (round % 4 == 2 && i == CALLS / 2)
                CHECK_IS(0, leat_scope_cancel(s));
            if (i % 4 == 0)
                CHECK_IS(0, leat_select_then(&calls[i].op, calls[i].cases + i % 8 / 4, 1, note));
            else if (i % 4 == 1)
                CHECK_IS(0, leat_send_then(&calls[i].op, full, &calls[i].x, note));
            else
                CHECK_IS(0, leat_recv_then(&calls[i].op, empty, &calls[i].x, note));
        }
        if (round % 4 < 2)
            WAIT_UNTIL(leat_scope_tasks(s) == CALLS);
        if (round % 4 == 0)
            CHECK_IS(0, leat_scope_cancel(s));
        if (round % 4 == 1)
            CHECK_IS(0, leat_scope_cancel(outer));
        int why = leat_scope_close(s);
        CHECK_IS(round % 4 == 1 ? -ECANCELED : round % 4 == 3 ? -ETIMEDOUT : 0, why);
        for (int i = 0; i < CALLS; i++)
            check_called(&calls[i], -ECANCELED);
        CHECK_IS(0, senders_of(full));
        CHECK_IS(0, receivers_of(empty));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(ends_with_the_scope);

/* An operation without a scope does not end with the scope of the party that started it. */
static int is_free_of_scopes(void *arg)
{
    (void)arg;
    leat_chan *ch = leat_chan_of(NULL, int, 0);
    struct call call = a_call(NULL, 0);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_recv_then(&call.op, ch, &call.x, note));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, call.calls);
    CHECK_IS(0, leat_send(ch, &(int){ 3 }));
    WAIT_UNTIL(call.calls);
    check_called(&call, 0);
    CHECK_IS(3, call.x);
    return leat_chan_unref(ch);
}
ON_WORKERS(is_free_of_scopes);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_a_runtime),           TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(refuses_what_is_under_way), TESTS_ON_WORKERS(calls_at_once),
        TESTS_ON_WORKERS(calls_on_a_worker),         TESTS_ON_WORKERS(calls_later),
        TESTS_ON_WORKERS(ends_with_the_scope),       TESTS_ON_WORKERS(is_free_of_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
