/* test_block_cancel.c: cancelling ends every wait of a block, at any moment, and loses nothing. */
#include "support.h"

enum wait {
    SEND,
    SEND_UNTIL,
    RECV,
    RECV_UNTIL,
    SELECT,
    SELECT_UNTIL,
    SELECT_NOTHING,
    SELECT_NOTHING_UNTIL,
    SLEEP,
    SLEEP_FOR_EVER,
    WAITS
};

struct waiter {
    leat_block block;
    leat_alarm alarm;
    leat_chan *full, *empty;
    leat_case cases[3];
    enum wait wait;
    int x, y;
    int64_t far;
    _Atomic int *ended;
};

static int wait_for_cancel(leat_block *b)
{
    struct waiter *me = (struct waiter *)b;
    LEAT_BEGIN(b);
    me->x = 1, me->y = 2;
    me->far = leat_after(600 * LEAT_S);
    me->cases[0] = (leat_case)LEAT_RECV(me->empty, &me->x);
    me->cases[1] = (leat_case)LEAT_SEND(me->full, &me->y);
    me->cases[2] = (leat_case)LEAT_RECV(NULL, &me->x);
    switch (me->wait) {
    case SEND: LEAT_AWAIT_SEND(b, me->full, &me->x); break;
    case SEND_UNTIL: LEAT_AWAIT_SEND_UNTIL(b, me->full, &me->x, me->far, &me->alarm); break;
    case RECV: LEAT_AWAIT_RECV(b, me->empty, &me->x); break;
    case RECV_UNTIL: LEAT_AWAIT_RECV_UNTIL(b, me->empty, &me->x, me->far, &me->alarm); break;
    case SELECT: LEAT_AWAIT_SELECT(b, me->cases, 3, LEAT_NEVER, NULL); break;
    case SELECT_UNTIL: LEAT_AWAIT_SELECT_ORDERED(b, me->cases, 3, me->far, &me->alarm); break;
    case SELECT_NOTHING: LEAT_AWAIT_SELECT(b, me->cases + 2, 1, LEAT_NEVER, NULL); break;
    case SELECT_NOTHING_UNTIL: LEAT_AWAIT_SELECT(b, me->cases + 2, 1, me->far, &me->alarm); break;
    case SLEEP: LEAT_AWAIT_SLEEP(b, 600 * LEAT_S, &me->alarm); break;
    default: LEAT_AWAIT_SLEEP_UNTIL(b, LEAT_NEVER, &me->alarm);
    }
    CHECK_IS(-ECANCELED, b->status);
    CHECK_IS(1, me->x);
    CHECK_IS(0, me->cases[0].status | me->cases[1].status | me->cases[2].status);
    CHECK_IS(1, leat_cancelled(NULL));
    /* Later waits end at once, too. The try forms work. */
    LEAT_AWAIT_SEND_UNTIL(b, me->full, &me->x, me->far, &me->alarm);
    CHECK_IS(-ECANCELED, b->status);
    LEAT_AWAIT_SLEEP(b, LEAT_S, &me->alarm);
    CHECK_IS(-ECANCELED, b->status);
    LEAT_AWAIT_SELECT(b, me->cases, 3, LEAT_NEVER, NULL);
    CHECK_IS(-ECANCELED, b->status);
    CHECK_IS(-EAGAIN, leat_try_recv(me->empty, &me->x));
    CHECK_IS(-EAGAIN, leat_try_send(me->full, &me->x));
    LEAT_AWAIT_YIELD(b);
    CHECK_IS(0, b->status);
    atomic_fetch_add(me->ended, 1);
    LEAT_RETURN(b, -ECANCELED);
}

static int cancel_it(void *arg)
{
    CHECK_IS(0, leat_scope_cancel(arg));
    return 0;
}

static int cancel_in_a_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)b;
    LEAT_BEGIN(b);
    CHECK_IS(0, leat_scope_cancel((leat_scope *)(void *)me->full));
    LEAT_END(b);
}

static void go_all(leat_scope *s, struct waiter *waiters, leat_chan *full, leat_chan *empty,
                   _Atomic int *ended)
{
    for (int i = 0; i < WAITS; i++) {
        waiters[i] =
            (struct waiter){ .full = full, .empty = empty, .wait = (enum wait)i, .ended = ended };
        CHECK_IS(0, leat_go_block(s, &waiters[i].block, wait_for_cancel));
    }
}

/* A task, a thread, a block or the opener cancels before, while or after the waits begin. */
static int ends_every_wait(void *arg)
{
    (void)arg;
    for (int canceller = 0; canceller <= KINDS + 1; canceller++) {
        for (int round = 0; round < 20; round++) {
            struct crew crew;
            crew_open(&crew);
            leat_scope *inner = leat_scope_open(LEAT_NEVER);
            leat_chan *full = leat_chan_of(crew.scope, int, 1);
            leat_chan *empty = leat_chan_of(crew.scope, int, 1);
            CHECK_IS(0, leat_send(full, &(int){ 5 }));
            struct waiter waiters[WAITS], there[WAITS], block;
            _Atomic int ended = 0;
            go_all(crew.scope, waiters, full, empty, &ended);
            go_all(inner, there, full, empty, &ended);
            if (round % 2)
                WAIT_UNTIL(senders_of(full) == 8 && receivers_of(empty) == 8);
            if (canceller < KINDS) {
                crew_go(&crew, (enum kind)canceller, cancel_it, crew.scope);
            } else if (canceller == KINDS) {
                block.full = (leat_chan *)(void *)crew.scope;
                CHECK_IS(0, leat_go_block(crew.scope, &block.block, cancel_in_a_step));
            } else {
                cancel_it(crew.scope);
            }
            CHECK_IS(-ECANCELED, leat_scope_close(inner));
            WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
            CHECK_IS(2 * WAITS, ended);
            CHECK_IS(0, senders_of(full));
            CHECK_IS(0, receivers_of(empty));
            CHECK_IS(1, leat_chan_len(full));
            crew_close(&crew);
        }
    }
    return 0;
}
ON_WORKERS(ends_every_wait);

static int ends_waits_by_deadline(void *arg)
{
    (void)arg;
    for (int i = 0; i < 30; i++) {
        leat_scope *s = leat_scope_open(leat_after(i * 20 * LEAT_US));
        leat_chan *full = leat_chan_of(s, int, 0), *empty = leat_chan_of(s, int, 0);
        struct waiter waiters[WAITS];
        _Atomic int ended = 0;
        go_all(s, waiters, full, empty, &ended);
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
        CHECK_IS(WAITS, ended);
    }
    return 0;
}
ON_WORKERS(ends_waits_by_deadline);

/* A block that starts in a cancelled scope still runs. */
static int runs_in_a_cancelled_scope(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *full = leat_chan_of(s, int, 0), *empty = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_scope_cancel(s));
    struct waiter waiters[WAITS];
    _Atomic int ended = 0;
    go_all(s, waiters, full, empty, &ended);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(WAITS, ended);
    return 0;
}
ON_WORKERS(runs_in_a_cancelled_scope);

/* ---- a hundred thousand blocks ---- */

#ifdef LEAT_HARSH
enum { BLOCKS = IN_SIM ? 500 : UNDER_TSAN ? 2000 : 20000 };
#else
enum { BLOCKS = IN_SIM ? 500 : 100000 / SCALE };
#endif

struct one {
    leat_block block;
    leat_alarm alarm;
    leat_case cases[2];
    leat_chan *a, *b;
    int how;
    _Atomic int *cancelled;
};

static int wait_somehow(leat_block *b)
{
    struct one *me = (struct one *)b;
    LEAT_BEGIN(b);
    switch (me->how) {
    case 0: LEAT_AWAIT_RECV(b, me->a, NULL); break;
    case 1: LEAT_AWAIT_SEND(b, me->b, &me->how); break;
    case 2:
        me->cases[0] = (leat_case)LEAT_RECV(me->a, NULL);
        me->cases[1] = (leat_case)LEAT_SEND(me->b, &me->how);
        LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL);
        break;
    default: LEAT_AWAIT_SLEEP(b, 600 * LEAT_S, &me->alarm);
    }
    CHECK_IS(-ECANCELED, b->status);
    atomic_fetch_add(me->cancelled, 1);
    LEAT_RETURN(b, b->status);
}

static int ends_a_hundred_thousand(void *arg)
{
    (void)arg;
    struct one *blocks = malloc(BLOCKS * sizeof *blocks);
    CHECK(blocks);
    for (int settle = 0; settle <= 1; settle++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *a = leat_chan_of(s, int, 0), *b = leat_chan_of(s, int, 0);
        _Atomic int cancelled = 0;
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i].a = a, blocks[i].b = b, blocks[i].how = i % 4;
            blocks[i].cancelled = &cancelled;
            if (blocks[i].how == 2) /* no second send, or two blocks would meet */
                blocks[i].b = NULL;
            CHECK_IS(0, leat_go_block(s, &blocks[i].block, wait_somehow));
        }
        if (settle)
            WAIT_UNTIL(receivers_of(a) == BLOCKS / 2 && senders_of(b) == BLOCKS / 4);
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(BLOCKS, cancelled);
    }
    free(blocks);
    return 0;
}
ON_WORKERS(ends_a_hundred_thousand);

/* ---- at any moment ---- */

/* A select without channels waits only for the cancel, and begins without a channel's lock. */
enum { CASES = 1000 };

struct idler {
    leat_block block;
    leat_alarm alarm;
    leat_case cases[CASES];
    bool with_deadline;
};

static int select_nothing(leat_block *b)
{
    struct idler *me = (struct idler *)b;
    LEAT_BEGIN(b);
    if (me->with_deadline)
        LEAT_AWAIT_SELECT(b, me->cases, CASES, leat_after(600 * LEAT_S), &me->alarm);
    else
        LEAT_AWAIT_SELECT(b, me->cases, CASES, LEAT_NEVER, NULL);
    CHECK_IS(-ECANCELED, b->status);
    memset(me->cases, 0xff, sizeof me->cases); /* they belong to the block again */
    LEAT_RETURN(b, b->status);
}

static int selects_of_nothing_end(void *arg)
{
    (void)arg;
    enum { IDLERS = 6 };
    for (int round = 0; round < 400 / SCALE; round++) {
        struct crew crew;
        crew_open(&crew);
        struct idler *idlers = malloc(IDLERS * sizeof *idlers);
        CHECK(idlers);
        for (int i = 0; i < IDLERS; i++) {
            for (int j = 0; j < CASES; j++)
                idlers[i].cases[j] = (leat_case)LEAT_RECV(NULL, NULL);
            idlers[i].with_deadline = i % 3 == 2;
            CHECK_IS(0, leat_go_block(crew.scope, &idlers[i].block, select_nothing));
            if (i == round % IDLERS)
                crew_go(&crew, BLOCKING, cancel_it, crew.scope);
        }
        crew_close(&crew);
        free(idlers);
    }
    return 0;
}
ON_WORKERS(selects_of_nothing_end);

struct passer {
    leat_block block;
    leat_alarm alarm;
    leat_chan *from, *to;
    leat_case cases[2];
    int x, how, lost;
    unsigned turn;
    _Atomic long *sent, *received;
};

static int pass(leat_block *b)
{
    struct passer *me = (struct passer *)b;
    LEAT_BEGIN(b);
    for (me->turn = 0; b->status >= 0 || me->turn == 0; me->turn++) {
        switch (me->how) {
        case 0: LEAT_AWAIT_SEND(b, me->to, &me->x); break;
        case 1:
            LEAT_AWAIT_SEND_UNTIL(b, me->to, &me->x, leat_after(600 * LEAT_S), &me->alarm);
            break;
        case 2:
            me->cases[0] = (leat_case)LEAT_SEND(me->to, &me->x);
            me->cases[1] = (leat_case)LEAT_RECV(NULL, NULL);
            LEAT_AWAIT_SELECT(b, me->cases, 2, leat_after(600 * LEAT_S), &me->alarm);
            break;
        case 3: LEAT_AWAIT_RECV(b, me->from, &me->x); break;
        case 4:
            LEAT_AWAIT_RECV_UNTIL(b, me->from, &me->x, leat_after(600 * LEAT_S), &me->alarm);
            break;
        default:
            me->cases[0] = (leat_case)LEAT_RECV(me->from, &me->x);
            me->cases[1] = (leat_case)LEAT_RECV(NULL, NULL);
            LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL);
        }
        if (b->status == 0)
            atomic_fetch_add(me->how < 3 ? me->sent : me->received, 1);
    }
    CHECK_IS(-ECANCELED, b->status);
    LEAT_RETURN(b, b->status);
}

/* Each item that was sent was received or is still in the channel. */
static int loses_nothing(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 600 / SCALE; round++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_of(outer, int, (size_t)round % 3);
        _Atomic long sent = 0, received = 0;
        struct passer passers[12];
        for (int i = 0; i < 12; i++) {
            passers[i] = (struct passer){
                .from = ch, .to = ch, .how = i % 6, .sent = &sent, .received = &received
            };
            CHECK_IS(0, leat_go_block(s, &passers[i].block, pass));
        }
        if (round % 4)
            CHECK_IS(0, leat_sleep(below(&chance, 200) * LEAT_US));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(sent, received + (long)leat_chan_len(ch));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(loses_nothing);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(ends_every_wait),           TESTS_ON_WORKERS(ends_waits_by_deadline),
        TESTS_ON_WORKERS(runs_in_a_cancelled_scope), TESTS_ON_WORKERS(ends_a_hundred_thousand),
        TESTS_ON_WORKERS(selects_of_nothing_end),    TESTS_ON_WORKERS(loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
