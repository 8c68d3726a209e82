/* test_callback_many.c: callbacks in crowds and chains, operations that are withdrawn in time or
 * too late, and callbacks against every other kind of party. */
#include "support.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- chains ---- */

/* Each function starts an operation that is done at once. The stack must not grow with them. */
struct chain {
    leat_op op;
    leat_chan *ch;
    _Atomic int done;
    int left, x, deepest;
};

static _Thread_local int depth; /* the functions never wait, so they do not change threads */

static void go_on(leat_op *op, int status);

static void start_next(struct chain *chain)
{
    if (chain->left % 2)
        CHECK_IS(0, leat_send_then(&chain->op, chain->ch, &chain->x, go_on));
    else
        CHECK_IS(0, leat_recv_then(&chain->op, chain->ch, &chain->x, go_on));
}

static void go_on(leat_op *op, int status)
{
    struct chain *chain = (struct chain *)op;
    CHECK_IS(0, status);
    CHECK(++depth <= 17); /* one of a worker, and sixteen nested ones */
    if (depth > chain->deepest)
        chain->deepest = depth;
    if (chain->left-- > 0)
        start_next(chain);
    else
        atomic_store(&chain->done, 1);
    depth--;
}

static int start_chain(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct chain chain = { .ch = leat_chan_of(s, int, 1),
                           .left = (IN_SIM ? 100000 : 1000000) / SCALE };
    chain.left += ~chain.left & 1; /* the first operation sends */
    chain.op = (leat_op)LEAT_OP(s, 0);
    start_next(&chain);
    int err = leat_scope_close(s); /* waits for the whole chain */
    CHECK_IS(1, chain.done);
    CHECK_IS(-1, chain.left);
    CHECK(chain.deepest >= 15);
    return err;
}

static int bounds_recursion(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    crew_go(&crew, TASK, start_chain, NULL);
    crew_go(&crew, FOREIGN, start_chain, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(bounds_recursion);

/* ---- crowds ---- */

enum { CROWD = IN_SIM ? 400 : 10000 };

struct call {
    leat_op op;
    int x;
    _Atomic int calls, status;
};

static void note(leat_op *op, int status)
{
    struct call *call = (struct call *)op;
    atomic_store(&call->status, status);
    atomic_fetch_add(&call->calls, 1);
}

static void begin_receiving(struct call *call, leat_scope *s, leat_chan *ch)
{
    call->op = (leat_op)LEAT_OP(s, 0);
    call->x = -1;
    call->calls = call->status = 0;
    CHECK_IS(0, leat_recv_then(&call->op, ch, &call->x, note));
}

/* Every fourth operation is withdrawn, the first others are served, and closing ends the rest. */
static int waits_in_crowds(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    struct call *crowd = calloc(CROWD, sizeof *crowd);
    CHECK(crowd);
    for (int i = 0; i < CROWD; i++)
        begin_receiving(&crowd[i], s, ch);
    CHECK_IS(CROWD, receivers_of(ch));
    WAIT_UNTIL(leat_scope_tasks(s) == CROWD);
    for (int i = 0; i < CROWD; i += 4)
        CHECK_IS(0, leat_withdraw(&crowd[i].op));
    CHECK_IS(CROWD / 4 * 3, receivers_of(ch));
    CHECK_IS(-EALREADY, leat_withdraw(&crowd[0].op));
    for (int i = 0; i < CROWD / 2; i++)
        CHECK_IS(0, leat_send(ch, &i));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0, served = 0; i < CROWD; i++) {
        bool withdrawn = i % 4 == 0;
        CHECK_IS(!withdrawn, crowd[i].calls);
        if (withdrawn)
            continue;
        CHECK_IS(served < CROWD / 2 ? 0 : -EPIPE, crowd[i].status);
        CHECK_IS(served < CROWD / 2 ? served : -1, crowd[i].x);
        served++;
    }
    free(crowd);
    return 0;
}
ON_WORKERS(waits_in_crowds);

/* ---- withdrawn while it completes ---- */

struct duel {
    struct call calls[8];
    leat_case cases[8];
    leat_chan *ch;
    _Atomic int round, sent, stop;
};

static int send_at_any_moment(void *arg)
{
    struct duel *duel = arg;
    int seen = 0;
    for (int x = 1; !atomic_load(&duel->stop); x++) {
        if (atomic_load(&duel->round) == seen) {
            leat_yield();
            continue;
        }
        seen = atomic_load(&duel->round);
        for (int i = 0; i < 5; i++)
            if (leat_try_send(duel->ch, &x) == 0)
                atomic_fetch_add(&duel->sent, 1);
    }
    return 0;
}

static int is_withdrawn_or_called(void *arg)
{
    (void)arg;
    enum { ROUNDS = 5000 / SCALE };
    struct crew crew;
    crew_open(&crew);
    struct duel duel = { .ch = leat_chan_of(crew.scope, int, 0) };
    crew_go(&crew, TASK, send_at_any_moment, &duel);
    crew_go(&crew, FOREIGN, send_at_any_moment, &duel);
    int withdrawn = 0, called = 0, received = 0;
    for (int round = 0; round < ROUNDS; round++) {
        bool taken[8];
        for (int i = 0; i < 8; i++) {
            struct call *call = &duel.calls[i];
            call->op = (leat_op)LEAT_OP(round % 2 ? crew.scope : NULL, i % 2 ? LEAT_ON_WORKER : 0);
            call->calls = 0;
            call->x = 0;
            duel.cases[i] = (leat_case)LEAT_RECV(duel.ch, &call->x);
            if (i < 6)
                CHECK_IS(0, leat_recv_then(&call->op, duel.ch, &call->x, note));
            else
                CHECK_IS(0, leat_select_then(&call->op, &duel.cases[i], 1, note));
        }
        atomic_fetch_add(&duel.round, 1);
        if (round % 3 == 0)
            leat_yield();
        for (int i = 7; i >= 0; i--) {
            int err = leat_withdraw(&duel.calls[i].op);
            CHECK(err == 0 || err == -EALREADY);
            taken[i] = err == 0;
        }
        for (int i = 0; i < 8; i++) {
            struct call *call = &duel.calls[i];
            if (taken[i]) {
                withdrawn++;
                CHECK_IS(0, call->x); /* no item was received */
                CHECK_IS(0, call->calls);
                continue;
            }
            WAIT_UNTIL(atomic_load(&call->calls));
            called++;
            CHECK_IS(0, call->status);
            received += call->x > 0;
        }
        CHECK_IS(0, receivers_of(duel.ch));
        for (int i = 0; i < 8; i++)
            CHECK_IS(!taken[i], duel.calls[i].calls);
    }
    atomic_store(&duel.stop, 1);
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
    CHECK_IS(ROUNDS * 8, withdrawn + called);
    crew_close(&crew);
    CHECK_IS(called, received);
    CHECK_IS(duel.sent, received);
    return 0;
}
ON_WORKERS(is_withdrawn_or_called);

/* ---- every item is counted, against every other kind of party ---- */

struct pump {
    leat_op op; /* its own function uses it again */
    leat_block block;
    leat_chan *ch;
    leat_case cases[1];
    int64_t item, sum, n, limit;
    bool sends;
};

static void pump_on(leat_op *op, int status);

static void pump_once(struct pump *pump)
{
    if (pump->sends)
        CHECK_IS(0, leat_send_then(&pump->op, pump->ch, &pump->item, pump_on));
    else
        CHECK_IS(0, leat_recv_then(&pump->op, pump->ch, &pump->item, pump_on));
}

static void pump_on(leat_op *op, int status)
{
    struct pump *pump = (struct pump *)op;
    if (!pump->sends && status == -EPIPE)
        return;
    CHECK_IS(0, status);
    pump->sum += pump->item;
    pump->item += pump->sends;
    if (++pump->n == pump->limit)
        CHECK_IS(0, leat_chan_done(pump->ch));
    else
        pump_once(pump);
}

static int pump_as_task(void *arg)
{
    struct pump *pump = arg;
    while ((pump->sends ? leat_send(pump->ch, &pump->item) : leat_recv(pump->ch, &pump->item)) ==
           0) {
        pump->sum += pump->item;
        pump->item += pump->sends;
        if (++pump->n == pump->limit)
            return leat_chan_done(pump->ch);
    }
    return 0;
}

static int pump_as_block(leat_block *b)
{
    struct pump *pump = (struct pump *)(void *)((char *)b - offsetof(struct pump, block));
    LEAT_BEGIN(b);
    for (;;) {
        if (pump->sends)
            LEAT_AWAIT_SEND(b, pump->ch, &pump->item);
        else
            LEAT_AWAIT_RECV(b, pump->ch, &pump->item);
        if (b->status < 0)
            break;
        pump->sum += pump->item;
        pump->item += pump->sends;
        if (++pump->n == pump->limit)
            LEAT_RETURN(b, leat_chan_done(pump->ch));
    }
    LEAT_END(b);
}

enum { CALLBACK = KINDS, BLOCK, PARTIES };

static void start_pump(struct crew *crew, int kind, struct pump *pump)
{
    if (kind == CALLBACK) {
        pump->op = (leat_op)LEAT_OP(crew->scope, pump->limit % 2 ? LEAT_ON_WORKER : 0);
        pump_once(pump);
    } else if (kind == BLOCK) {
        CHECK_IS(0, leat_go_block(crew->scope, &pump->block, pump_as_block));
    } else {
        crew_go(crew, (enum kind)kind, pump_as_task, pump);
    }
}

static int meets_every_party(void *arg)
{
    (void)arg;
    enum { EACH = 3, ITEMS = 2000 / SCALE };
    for (int senders = 0; senders < PARTIES; senders++) {
        for (int receivers = 0; receivers < PARTIES; receivers++) {
            if (senders != CALLBACK && receivers != CALLBACK)
                continue;
            for (size_t capacity = 0; capacity <= 16; capacity = capacity * 15 + 1) {
                struct crew crew;
                crew_open(&crew);
                leat_chan *ch = leat_chan_of(crew.scope, int64_t, capacity);
                CHECK_IS(0, leat_chan_senders(ch, EACH));
                struct pump in[EACH], out[EACH];
                for (int i = 0; i < EACH; i++) {
                    in[i] = (struct pump){ .ch = ch, .sends = true, .limit = ITEMS + i };
                    out[i] = (struct pump){ .ch = ch, .limit = -i };
                    start_pump(&crew, senders, &in[i]);
                    start_pump(&crew, receivers, &out[i]);
                }
                crew_close(&crew);
                int64_t sent = 0, received = 0, sum_in = 0, sum_out = 0;
                for (int i = 0; i < EACH; i++) {
                    sent += in[i].n, received += out[i].n;
                    sum_in += in[i].sum, sum_out += out[i].sum;
                }
                CHECK_IS(3 * ITEMS + 3, sent);
                CHECK_IS(sent, received);
                CHECK_IS(sum_in, sum_out);
            }
        }
    }
    return 0;
}
ON_WORKERS(meets_every_party);

static void free_it(leat_op *op, int status)
{
    CHECK(status == 0 || status == -EPIPE);
    memset(op, 0xff, sizeof *op);
    free(op);
}

static int may_be_freed_by_its_function(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 0);
    for (int i = 0; i < 1000; i++) {
        leat_op *op = malloc(sizeof *op);
        CHECK(op);
        *op = (leat_op)LEAT_OP(i % 2 ? s : NULL, i % 3 ? LEAT_ON_WORKER : 0);
        CHECK_IS(0, leat_recv_then(op, ch, NULL, free_it));
        if (i % 5 == 0)
            CHECK_IS(0, leat_send(ch, NULL));
    }
    while (receivers_of(ch))
        CHECK_IS(0, leat_send(ch, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(may_be_freed_by_its_function);

/* ---- signals ---- */

static uint64_t signals_of(int fd, int timeout_ms)
{
    uint64_t count = 0;
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    if (poll(&polled, 1, timeout_ms) == 1)
        CHECK_IS(sizeof count, read(fd, &count, sizeof count));
    return count;
}

/* A thread with its own loop waits in poll, not in leat. */
static int take_part_from_a_loop(void *arg)
{
    leat_chan **chans = arg;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), x = 0, y = 4;
    CHECK(fd >= 0);
    leat_op recv = LEAT_OP(NULL, 0), send = LEAT_OP(NULL, 0);
    CHECK_IS(0, signals_of(fd, 0));
    CHECK_IS(0, leat_send_signal(&send, chans[1], &y, fd)); /* done at once: there is room */
    CHECK_IS(1, signals_of(fd, 60000));
    CHECK_IS(0, leat_op_status(&send));
    for (int i = 0; i < 500 / SCALE; i++) {
        CHECK_IS(0, leat_recv_signal(&recv, chans[0], &x, fd));
        CHECK(leat_op_status(&recv) == -EAGAIN || leat_op_status(&recv) == 0);
        CHECK_IS(1, signals_of(fd, 60000));
        CHECK_IS(0, leat_op_status(&recv));
        CHECK_IS(i, x);
        CHECK_IS(0, leat_send_signal(&send, chans[2], &x, fd));
        CHECK_IS(1, signals_of(fd, 60000));
        CHECK_IS(0, leat_op_status(&send));
    }
    /* Two operations share a descriptor: one is withdrawn, closing ends the other. */
    CHECK_IS(0, leat_recv_signal(&recv, chans[0], &x, fd));
    CHECK_IS(0, leat_send_signal(&send, chans[1], &y, fd));
    CHECK_IS(0, signals_of(fd, 0));
    CHECK_IS(-EAGAIN, leat_op_status(&send));
    CHECK_IS(0, leat_withdraw(&send));
    CHECK_IS(0, leat_close(chans[2]));
    CHECK_IS(1, signals_of(fd, 60000));
    CHECK_IS(-EPIPE, leat_op_status(&recv));
    return close(fd);
}

static int signals_a_loop(void *arg)
{
    (void)arg;
    if (IN_SIM) /* nothing may block in the world */
        return 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *chans[3] = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 1),
                            leat_chan_of(s, int, 0) };
    struct foreign loop;
    foreign_start(&loop, take_part_from_a_loop, chans);
    int x;
    for (int i = 0; i < 500 / SCALE; i++) {
        CHECK_IS(0, leat_send(chans[0], &i));
        CHECK_IS(0, leat_recv(chans[2], &x));
        CHECK_IS(i, x);
    }
    CHECK_IS(-EPIPE, leat_recv(chans[2], &x));
    CHECK_IS(0, leat_close(chans[0]));
    CHECK_IS(0, foreign_join(&loop));
    CHECK_IS(1, leat_chan_len(chans[1])); /* the withdrawn send left nothing */
    return leat_scope_close(s);
}
ON_WORKERS(signals_a_loop);

/* The eventfd's counter is full, so the call that signals it fails in the system. */
static int keeps_errno(void *arg)
{
    (void)arg;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), x = 4;
    CHECK(fd >= 0);
    CHECK_IS(sizeof(uint64_t), write(fd, &(uint64_t){ UINT64_MAX - 1 }, sizeof(uint64_t)));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    leat_op op = LEAT_OP(s, 0);
    errno = ERANGE;
    CHECK_IS(0, leat_send_signal(&op, ch, &x, fd));
    CHECK_IS(ERANGE, errno);
    CHECK_IS(0, leat_op_status(&op));
    close(fd);
    return leat_scope_close(s);
}
ON_WORKERS(keeps_errno);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(bounds_recursion),
        TESTS_ON_WORKERS(waits_in_crowds),
        TESTS_ON_WORKERS(is_withdrawn_or_called),
        TESTS_ON_WORKERS(meets_every_party),
        TESTS_ON_WORKERS(may_be_freed_by_its_function),
        TESTS_ON_WORKERS(signals_a_loop),
        TESTS_ON_WORKERS(keeps_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
