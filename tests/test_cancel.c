/* test_cancel.c: cancelling ends every kind of wait of every kind of party, loses nothing, and may
 * come from anywhere at any moment. */
#include "support.h"

#include "scope/scope.h"

enum wait {
    SEND,
    SEND_UNTIL,
    RECV,
    RECV_UNTIL,
    SELECT,
    SELECT_UNTIL,
    SELECT_NOTHING,
    SLEEP,
    SLEEP_FOR_EVER,
    WAITS
};

struct waiter {
    enum wait wait;
    leat_chan *full, *empty;
    _Atomic int *about_to;
};

static int wait_for_cancel(void *arg)
{
    struct waiter *w = arg;
    int x = 1, y = 2;
    int64_t far = leat_after(600 * LEAT_S);
    leat_case cases[] = { LEAT_RECV(w->empty, &x), LEAT_SEND(w->full, &y), LEAT_RECV(NULL, &x) };
    atomic_fetch_add(w->about_to, 1);
    switch (w->wait) {
    case SEND: CHECK_IS(-ECANCELED, leat_send(w->full, &x)); break;
    case SEND_UNTIL: CHECK_IS(-ECANCELED, leat_send_until(w->full, &x, far)); break;
    case RECV: CHECK_IS(-ECANCELED, leat_recv(w->empty, &x)); break;
    case RECV_UNTIL: CHECK_IS(-ECANCELED, leat_recv_until(w->empty, &x, far)); break;
    case SELECT: CHECK_IS(-ECANCELED, leat_select(cases, 3, LEAT_NEVER)); break;
    case SELECT_UNTIL: CHECK_IS(-ECANCELED, leat_select_ordered(cases, 3, far)); break;
    case SELECT_NOTHING: CHECK_IS(-ECANCELED, leat_select(cases + 2, 1, LEAT_NEVER)); break;
    case SLEEP: CHECK_IS(-ECANCELED, leat_sleep(600 * LEAT_S)); break;
    default: CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    }
    CHECK_IS(1, x);
    CHECK_IS(0, cases[0].status | cases[1].status | cases[2].status);
    return -ECANCELED;
}

static int cancel_it(void *arg)
{
    CHECK_IS(0, leat_scope_cancel(arg));
    return 0;
}

/* The canceller is a separate party. */
static void cancel_as(enum kind kind, struct crew *crew)
{
    crew_go(crew, kind, cancel_it, crew->scope);
}

static int ends_every_wait(void *arg)
{
    (void)arg;
    for (enum kind canceller = TASK; canceller <= KINDS; canceller++) {
        for (int settle = 0; settle <= 1; settle++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *full = leat_chan_of(crew.scope, int, 1);
            leat_chan *empty = leat_chan_of(crew.scope, int, 1);
            CHECK_IS(0, leat_send(full, &(int){ 5 }));
            struct waiter waiters[WAITS];
            _Atomic int about_to = 0;
            for (int i = 0; i < WAITS; i++) {
                waiters[i] = (struct waiter){ (enum wait)i, full, empty, &about_to };
                crew_go(&crew, TASK, wait_for_cancel, &waiters[i]);
                crew_go(&crew, BLOCKING, wait_for_cancel, &waiters[i]);
            }
            if (settle) /* else the cancel comes while they begin to wait */
                WAIT_UNTIL(about_to == 2 * WAITS && senders_of(full) == 8 &&
                           receivers_of(empty) == 8);
            if (canceller == KINDS)
                cancel_it(crew.scope);
            else
                cancel_as(canceller, &crew);
            WAIT_UNTIL(leat_cancelled(crew.scope));
            for (int i = 0; i < crew.foreigners; i++)
                CHECK_IS(0, foreign_join(&crew.foreign[i]));
            crew.foreigners = 0;
            WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
            /* All have left the queues, and no item has moved. */
            CHECK_IS(0, senders_of(full));
            CHECK_IS(0, receivers_of(empty));
            CHECK_IS(1, leat_chan_len(full));
            CHECK_IS(0, leat_chan_len(empty));
            crew_close(&crew);
        }
    }
    return 0;
}
ON_WORKERS(ends_every_wait);

/* Cancelling ends waits of the opener, too: of a task, a blocking task or a foreign thread. */
struct opener {
    enum wait wait;
    enum kind canceller;
};

static int wait_as_opener(void *arg)
{
    struct opener *opener = arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *full = leat_chan_of(crew.scope, int, 0), *empty = leat_chan_of(crew.scope, int, 0);
    _Atomic int about_to = 0;
    cancel_as(opener->canceller, &crew);
    wait_for_cancel(&(struct waiter){ opener->wait, full, empty, &about_to });
    crew_close(&crew);
    return 0;
}

static int ends_the_openers_waits(void *arg)
{
    (void)arg;
    struct opener openers[WAITS * KINDS];
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        for (unsigned wait = 0; wait < WAITS; wait++) {
            struct crew crew;
            crew_open(&crew);
            for (enum kind canceller = TASK; canceller < KINDS; canceller++) {
                struct opener *opener = &openers[wait * KINDS + canceller];
                *opener = (struct opener){ (enum wait)wait, canceller };
                crew_go(&crew, kind, wait_as_opener, opener);
            }
            crew_close(&crew);
        }
    }
    return 0;
}
ON_WORKERS(ends_the_openers_waits);

/* A cancelled scope refuses operations that need not wait as well; the try forms work. */
static int refuses_later_waits(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 2), *closed = leat_chan_of(s, int, 0);
    int x = 3;
    CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(0, leat_close(closed));
    CHECK_IS(0, leat_scope_cancel(s));
    leat_case cases[] = { LEAT_RECV(ch, &x), LEAT_SEND(ch, &x) };
    CHECK_IS(-ECANCELED, leat_send(ch, &x));
    CHECK_IS(-ECANCELED, leat_send_until(ch, &x, LEAT_NEVER));
    CHECK_IS(-ECANCELED, leat_recv(ch, &x));
    CHECK_IS(-ECANCELED, leat_recv_until(ch, &x, leat_after(LEAT_S)));
    CHECK_IS(-ECANCELED, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(-ECANCELED, leat_select_ordered(cases, 2, leat_after(LEAT_S)));
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_S));
    CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    CHECK_IS(-ECANCELED, leat_blocking(cancel_it, s));
    CHECK_IS(-EINVAL, leat_send(ch, NULL));
    CHECK_IS(0, leat_yield());
    CHECK_IS(1, leat_chan_len(ch));
    CHECK_IS(0, leat_try_send(ch, &(int){ 4 }));
    CHECK_IS(0, leat_try_recv(ch, &x));
    CHECK_IS(3, x);
    CHECK_IS(-EPIPE, leat_try_recv(closed, &x));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_later_waits);

/* A cancel does not end a wait under a shield. */
struct shielded {
    leat_chan *ch;
    _Atomic bool done;
};

static int wait_under_a_shield(void *arg)
{
    struct shielded *shielded = arg;
    int x = 0;
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_recv(shielded->ch, &x));
    CHECK_IS(8, x);
    CHECK_IS(1, leat_cancelled(NULL));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(-ECANCELED, leat_recv(shielded->ch, &x));
    atomic_store(&shielded->done, true);
    return -ECANCELED;
}

static int spares_the_shielded(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind <= BLOCKING; kind++) {
        struct crew crew;
        crew_open(&crew);
        struct shielded shielded = { leat_chan_of(crew.scope, int, 0), false };
        crew_go(&crew, kind, wait_under_a_shield, &shielded);
        WAIT_UNTIL(receivers_of(shielded.ch) == 1);
        CHECK_IS(0, leat_scope_cancel(crew.scope));
        CHECK_IS(0, leat_shield());
        CHECK_IS(0, leat_sleep(LEAT_MS));
        CHECK_IS(1, receivers_of(shielded.ch));
        CHECK_IS(0, leat_send(shielded.ch, &(int){ 8 }));
        CHECK_IS(0, leat_unshield());
        crew_close(&crew);
        CHECK(shielded.done);
    }
    return 0;
}
ON_WORKERS(spares_the_shielded);

/* Each of many generations opens a scope and starts the next. Then the root is cancelled. */
struct generation {
    int depth;
    leat_chan *never;
    _Atomic int *alive;
};

static int found_generation(void *arg)
{
    struct generation *self = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(s);
    struct generation child = { self->depth - 1, self->never, self->alive };
    if (child.depth > 0)
        CHECK_IS(0, child.depth % 7 ? leat_go(s, found_generation, &child)
                                    : leat_go_blocking(s, found_generation, &child));
    atomic_fetch_add(self->alive, 1);
    CHECK_IS(-ECANCELED, leat_recv(self->never, NULL));
    CHECK_IS(-ECANCELED, leat_scope_close(s));
    atomic_fetch_sub(self->alive, 1);
    return -ECANCELED;
}

static int cascades(void *arg)
{
    (void)arg;
    const int deep = 400 / SCALE;
    for (int settle = 0; settle <= 1; settle++) {
        _Atomic int alive = 0;
        leat_scope *root = leat_scope_open(LEAT_NEVER);
        leat_chan *never = leat_chan_of(root, int, 0);
        struct generation first = { deep, never, &alive };
        CHECK_IS(0, leat_go(root, found_generation, &first));
        WAIT_UNTIL(alive >= (settle ? deep : deep / 2));
        CHECK_IS(0, leat_scope_cancel(root));
        CHECK_IS(0, leat_scope_close(root));
        CHECK_IS(0, alive);
    }
    return 0;
}
ON_WORKERS(cascades);

/* This cancel lets the opener's close return. After that it must not touch the scope. */
static int wait_for_ever(void *arg)
{
    int err = leat_recv(arg, NULL);
    CHECK(err == -ECANCELED);
    return err;
}

static int cancels_amid_close(void *arg)
{
    (void)arg;
    for (int round = 0; round < 3000 / SCALE; round++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *never = leat_chan_of(NULL, int, 0);
        /* The scope stays open until it is cancelled: these tasks end only then. */
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, i < 2 || round % 8 ? leat_go(crew.scope, wait_for_ever, never)
                                           : leat_go_blocking(crew.scope, wait_for_ever, never));
        struct foreign foreign;
        if (round % 2)
            foreign_start(&foreign, cancel_it, crew.scope);
        else
            crew_go(&crew, round % 4 ? BLOCKING : TASK, cancel_it, crew.scope);
        CHECK_IS(0, leat_scope_close(crew.scope));
        if (round % 2)
            CHECK_IS(0, foreign_join(&foreign));
        CHECK_IS(0, leat_chan_unref(never));
    }
    return 0;
}
ON_WORKERS(cancels_amid_close);

/* Scopes with and without deadlines open and close while the scope around them is cancelled. */
struct restless {
    _Atomic int rounds;
};

static int sleep_long(void *arg)
{
    (void)arg;
    return leat_sleep(600 * LEAT_S);
}

static int open_and_close(void *arg)
{
    struct restless *restless = arg;
    for (int i = 0; !leat_cancelled(NULL); i++) {
        int64_t deadline = i % 3 ? leat_after(i % 50 * LEAT_US) : LEAT_NEVER;
        leat_scope *s = leat_scope_open(deadline);
        CHECK(s);
        CHECK_IS(0, leat_go(s, sleep_long, NULL));
        if (deadline == LEAT_NEVER && i % 2)
            CHECK_IS(0, leat_scope_cancel(s));
        else if (deadline == LEAT_NEVER)
            CHECK_IS(0, leat_go(s, cancel_it, s));
        int why = leat_scope_close(s);
        if (deadline == LEAT_NEVER)
            CHECK(why == 0 || why == -ECANCELED);
        else
            CHECK(why == -ETIMEDOUT || why == -ECANCELED);
        atomic_fetch_add(&restless->rounds, 1);
    }
    return 0;
}

static int cancels_amid_opening(void *arg)
{
    (void)arg;
    for (int round = 0; round < 200 / SCALE; round++) {
        struct crew crew;
        struct restless restless = { 0 };
        crew_open(&crew);
        for (int i = 0; i < 4; i++)
            crew_go(&crew, i < 3 ? TASK : BLOCKING, open_and_close, &restless);
        WAIT_UNTIL(restless.rounds > 5 + round);
        cancel_as(kind_of(round), &crew);
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(cancels_amid_opening);

/* A cancel, a deadline and a partner race: an item is either its sender's or its receiver's. */
static int send_once(void *arg)
{
    leat_chan **ends = arg;
    int err = leat_send_until(ends[0], &(int){ 1 }, leat_after(20 * LEAT_US));
    CHECK(err == 0 || err == -ECANCELED || err == -ETIMEDOUT);
    if (err == 0)
        CHECK_IS(0, leat_try_send(ends[1], NULL));
    return 0;
}

static int receive_once(void *arg)
{
    leat_chan **ends = arg;
    int x = 0;
    int err = leat_recv_until(ends[0], &x, leat_after(20 * LEAT_US));
    CHECK(err == 0 || err == -ECANCELED || err == -ETIMEDOUT);
    CHECK_IS(err == 0, x);
    if (err == 0)
        CHECK_IS(0, leat_try_send(ends[2], NULL));
    return 0;
}

static int cancels_amid_meetings(void *arg)
{
    (void)arg;
    for (int round = 0; round < 4000 / SCALE; round++) {
        struct crew crew;
        leat_chan *ends[3] = { leat_chan_of(NULL, int, 0), leat_chan_make(NULL, 0, 8),
                               leat_chan_make(NULL, 0, 8) };
        crew_open(&crew);
        for (int i = 0; i < 8; i++)
            crew_go(&crew, (i + round) % 11 ? TASK : BLOCKING, i % 2 ? send_once : receive_once,
                    ends);
        for (int i = 0; i < round % 5; i++)
            leat_yield();
        cancel_it(crew.scope);
        crew_close(&crew);
        CHECK_IS(leat_chan_len(ends[1]), leat_chan_len(ends[2]));
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, leat_chan_unref(ends[i]));
    }
    return 0;
}
ON_WORKERS(cancels_amid_meetings);

/* A task is cancelled in one scope after another, at the moment at which an item comes. When it
 * does not see a cancel, it must still see the next. */
struct visit {
    leat_scope *scope;
    leat_chan *items, *left;
};

static int bring_item(void *arg)
{
    struct visit *visit = arg;
    CHECK_IS(0, leat_send(visit->items, &(int){ 1 }));
    CHECK_IS(0, leat_send(visit->left, NULL));
    return 0;
}

static int cancel_visit(void *arg)
{
    struct visit *visit = arg;
    CHECK_IS(0, leat_scope_cancel(visit->scope));
    CHECK_IS(0, leat_send(visit->left, NULL));
    return 0;
}

static int cancels_again(void *arg)
{
    (void)arg;
    enum { VISITS = 5 };
    for (int round = 0; round < 200 / SCALE; round++) {
        leat_scope *around = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < VISITS; i++) {
            bool brought = i < VISITS - 1;
            struct visit visit = { NULL, leat_chan_of(around, int, 1),
                                   leat_chan_make(around, 0, 2) };
            visit.scope = leat_scope_open(LEAT_NEVER);
            CHECK_IS(0, leat_go(around, cancel_visit, &visit));
            if (brought)
                CHECK_IS(0, leat_go(around, bring_item, &visit));
            int err = leat_recv(visit.items, NULL);
            CHECK(err == -ECANCELED || (brought && err == 0));
            CHECK_IS(0, leat_shield());
            for (int left = 0; left < 1 + brought; left++)
                CHECK_IS(0, leat_recv(visit.left, NULL));
            CHECK_IS(0, leat_unshield());
            CHECK_IS(0, leat_scope_close(visit.scope));
        }
        CHECK_IS(0, leat_scope_close(around));
    }
    return 0;
}
ON_WORKERS(cancels_again);

/* A canceller marks a scope after its parents, and may be held up on the way. */
static int tells_of_a_cancel_under_way(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0; /* a party must not hold a lock there */
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *between = leat_scope_open(LEAT_NEVER),
               *inner = leat_scope_open(LEAT_NEVER);
    struct foreign canceller;
    lt_lock(&between->lock);
    foreign_start(&canceller, cancel_it, outer);
    WAIT_UNTIL(lt_scope_is_cancelled(outer));
    bool marked = lt_scope_is_cancelled(inner);
    int named = leat_cancelled(inner), own = leat_cancelled(NULL), slept = leat_sleep(0);
    lt_unlock(&between->lock);
    CHECK_IS(0, foreign_join(&canceller));
    CHECK(!marked);
    CHECK_IS(1, named);
    CHECK_IS(1, own);
    CHECK_IS(-ECANCELED, slept);
    CHECK_IS(-ECANCELED, leat_scope_close(inner));
    CHECK_IS(-ECANCELED, leat_scope_close(between));
    CHECK_IS(0, leat_scope_close(outer));
    return 0;
}
ON_WORKERS(tells_of_a_cancel_under_way);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(ends_every_wait),
        TESTS_ON_WORKERS(ends_the_openers_waits),
        TESTS_ON_WORKERS(refuses_later_waits),
        TESTS_ON_WORKERS(spares_the_shielded),
        TESTS_ON_WORKERS(cascades),
        TESTS_ON_WORKERS(cancels_amid_close),
        TESTS_ON_WORKERS(cancels_amid_opening),
        TESTS_ON_WORKERS(cancels_amid_meetings),
        TESTS_ON_WORKERS(cancels_again),
        TESTS_ON_WORKERS(tells_of_a_cancel_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
