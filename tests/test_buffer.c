/* test_buffer.c: lossy buffers and promises drop the right items once, and sends never wait. */
#include "support.h"

static const leat_buffer lossy[] = { LEAT_DROPPING, LEAT_SLIDING, LEAT_PROMISE };
enum { LOSSY = 3, ITEMS = 6000 };

/* The dropped items. A drop function has no argument that could hold this. */
static _Atomic int dropped[ITEMS], received[ITEMS], drops;

static void note_drop(void *item)
{
    int x = *(int *)item;
    CHECK_IS(0, atomic_fetch_add(&dropped[x], 1));
    atomic_fetch_add(&drops, 1);
}

static void forget_drops(void)
{
    for (int i = 0; i < ITEMS; i++)
        dropped[i] = received[i] = 0;
    drops = 0;
}

static leat_chan *open_chan(leat_scope *s, leat_buffer buffer, size_t size, size_t capacity,
                            leat_drop_fn *drop)
{
    leat_chan_spec spec = { size, capacity, drop, NULL, buffer };
    return leat_chan_open(s, &spec);
}

static leat_chan *noting(leat_scope *s, leat_buffer buffer, size_t capacity)
{
    return open_chan(s, buffer, sizeof(int), capacity, note_drop);
}

static void drop_nothing(void *item)
{
    (void)item;
}

static int refuses_impossible_sizes(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < LOSSY; i++) {
        bool promise = lossy[i] == LEAT_PROMISE;
        CHECK(!open_chan(s, lossy[i], 4, 0, NULL) == !promise);
        leat_chan *ch = open_chan(s, lossy[i], 4, promise ? SIZE_MAX : 3, NULL);
        CHECK(ch);
        CHECK_IS(promise ? 1 : 3, leat_chan_cap(ch));
        CHECK(open_chan(s, lossy[i], 1024, 1, drop_nothing));
        CHECK(!open_chan(s, lossy[i], 1025, 1, drop_nothing));
        CHECK(open_chan(s, lossy[i], 1025, 1, NULL));
        CHECK(!open_chan(s, lossy[i], (1 << 20) + 1, 1, NULL));
        if (!promise) { /* capacity * size overflows */
            CHECK(!open_chan(s, lossy[i], 16, SIZE_MAX, NULL));
            CHECK(!open_chan(s, lossy[i], 16, SIZE_MAX / 16, NULL));
        }
    }
    CHECK(open_chan(s, LEAT_FIXED, 4, 0, NULL));
    CHECK(open_chan(s, LEAT_FIXED, 1025, 1, drop_nothing));
    static const unsigned wrong[] = { 4, 5, 255, 256, 257, 0x80000000, 0xFFFFFFFF };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_buffer buffer;
        memcpy(&buffer, &wrong[i], sizeof wrong[i]);
        CHECK(!open_chan(s, buffer, 4, 4, NULL));
    }
    return leat_scope_close(s);
}
ON_WORKERS(refuses_impossible_sizes);

/* A model of the buffer with one party: what it holds and what it has dropped. */
struct model {
    leat_buffer buffer;
    int capacity, len, items[8];
};

/* Returns the item that is dropped, or -1. */
static int model_send(struct model *m, int x)
{
    if (m->len < m->capacity) {
        m->items[m->len++] = x;
        return -1;
    }
    if (m->buffer != LEAT_SLIDING)
        return x;
    int oldest = m->items[0];
    memmove(m->items, m->items + 1, (size_t)(m->len - 1) * sizeof *m->items);
    m->items[m->len - 1] = x;
    return oldest;
}

static int model_receive(struct model *m)
{
    int x = m->items[0];
    if (m->buffer != LEAT_PROMISE)
        memmove(m->items, m->items + 1, (size_t)--m->len * sizeof *m->items);
    return x;
}

static int send_somehow(uint64_t *chance, leat_chan *ch, int *x)
{
    leat_case cases[] = { LEAT_SEND(ch, x), LEAT_RECV(NULL, NULL) };
    unsigned way = below(chance, 3);
    if (way < 2)
        return way ? leat_try_send(ch, x) : leat_send(ch, x);
    CHECK_IS(0, leat_select(cases, 2, LEAT_NEVER));
    return cases[0].status;
}

static int receive_somehow(uint64_t *chance, leat_chan *ch, int *x)
{
    leat_case cases[] = { LEAT_RECV(NULL, NULL), LEAT_RECV(ch, x) };
    if (below(chance, 2))
        return leat_recv_until(ch, x, LEAT_NOW);
    int result = leat_select(cases, 2, LEAT_NOW);
    return result == 1 ? cases[1].status : result;
}

static int agrees_with_a_model(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 200 / SCALE; round++) {
        struct model m = { .buffer = lossy[below(&chance, LOSSY)] };
        m.capacity = m.buffer == LEAT_PROMISE ? 1 : 1 + (int)below(&chance, 7);
        forget_drops();
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = noting(s, m.buffer, (size_t)m.capacity);
        unsigned sends = 1 + below(&chance, 3);
        int next = 0, expected_drops = 0, x;
        for (int i = 0; i < 300; i++) {
            if (below(&chance, 4) < sends) {
                int lost_item = model_send(&m, next);
                x = next++;
                CHECK_IS(0, send_somehow(&chance, ch, &x));
                if (lost_item >= 0) {
                    CHECK_IS(1, dropped[lost_item]);
                    expected_drops++;
                }
            } else {
                bool empty = m.len == 0;
                x = -5;
                CHECK_IS(empty ? -EAGAIN : 0, receive_somehow(&chance, ch, &x));
                CHECK_IS(empty ? -5 : model_receive(&m), x);
            }
            CHECK_IS(m.len, leat_chan_len(ch));
            CHECK_IS(expected_drops, drops);
        }
        /* Closing drops nothing. Freeing drops what is left. */
        bool closes = below(&chance, 2);
        if (closes) {
            CHECK_IS(0, leat_close(ch));
            CHECK_IS(-EPIPE, send_somehow(&chance, ch, &next));
            CHECK_IS(m.len, leat_chan_len(ch));
            CHECK_IS(expected_drops, drops);
            for (int n = (int)below(&chance, 9); n > 0 && m.len > 0; n--) {
                CHECK_IS(0, receive_somehow(&chance, ch, &x));
                CHECK_IS(model_receive(&m), x);
            }
            if (m.len == 0)
                CHECK_IS(-EPIPE, receive_somehow(&chance, ch, &x));
        }
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(expected_drops + m.len, drops);
        for (int i = 0; i < m.len; i++)
            CHECK_IS(1, dropped[m.items[i]]);
    }
    return 0;
}
ON_WORKERS(agrees_with_a_model);

/* Every byte of a dropped or kept item is right, whatever the item's size. */
static unsigned char dropped_bytes[1024];
static size_t dropped_size;

static void keep_bytes(void *item)
{
    memcpy(dropped_bytes, item, dropped_size);
}

static int keeps_every_byte(void *arg)
{
    (void)arg;
    static const size_t sizes[] = { 0, 1, 3, 4, 8, 16, 17, 100, 1024 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int b = 0; b < LOSSY; b++) {
            unsigned char a[1024], c[1024], got[1025];
            memset(a, 0x11, sizeof a);
            memset(c, 0x22, sizeof c);
            memset(got, 0x33, sizeof got);
            dropped_size = sizes[i];
            leat_chan *ch = open_chan(s, lossy[b], sizes[i], 1, keep_bytes);
            CHECK_IS(0, leat_send(ch, a));
            CHECK_IS(0, leat_send(ch, c));
            CHECK(memcmp(dropped_bytes, lossy[b] == LEAT_SLIDING ? a : c, sizes[i]) == 0);
            CHECK_IS(0, leat_recv(ch, got));
            CHECK(memcmp(got, lossy[b] == LEAT_SLIDING ? c : a, sizes[i]) == 0);
            CHECK_IS(0x33, got[sizes[i]]);
        }
    }
    dropped_size = 0;
    return leat_scope_close(s);
}
ON_WORKERS(keeps_every_byte);

static int send_a_thousand(void *arg)
{
    for (int i = 0; i < 1000; i++)
        CHECK_IS(0, leat_send(arg, &i));
    return 0;
}

static int never_makes_a_sender_wait(void *arg)
{
    (void)arg;
    for (int b = 0; b < LOSSY; b++) {
        for (enum kind kind = TASK; kind < KINDS; kind++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *ch = open_chan(crew.scope, lossy[b], sizeof(int), 2, NULL);
            crew_go(&crew, kind, send_a_thousand, ch);
            for (int i = 0; i < crew.foreigners; i++)
                CHECK_IS(0, foreign_join(&crew.foreign[i]));
            crew.foreigners = 0;
            WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
            int x = -1;
            CHECK_IS(lossy[b] == LEAT_PROMISE ? 1 : 2, leat_chan_len(ch));
            CHECK_IS(0, leat_recv(ch, &x));
            CHECK_IS(lossy[b] == LEAT_SLIDING ? 998 : 0, x);
            CHECK_IS(0, leat_recv(ch, &x));
            CHECK_IS(lossy[b] == LEAT_SLIDING ? 999 : lossy[b] == LEAT_DROPPING, x);
            crew_close(&crew);
        }
    }
    return 0;
}
ON_WORKERS(never_makes_a_sender_wait);

/* Waiting receivers get items first, so no item is dropped while a receiver waits for it. */
struct end {
    leat_chan *ch;
    int result, number;
    bool selects;
};

static int receive_one(void *arg)
{
    struct end *end = arg;
    leat_case cases[] = { LEAT_RECV(NULL, NULL), LEAT_RECV(end->ch, &end->number) };
    if (end->selects)
        CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    end->result = end->selects ? cases[1].status : leat_recv(end->ch, &end->number);
    return 0;
}

static int serves_waiting_receivers_first(void *arg)
{
    (void)arg;
    enum { WAITING = 6 };
    for (int b = 0; b < LOSSY; b++) {
        for (int selects = 0; selects <= 1; selects++) {
            struct crew crew;
            crew_open(&crew);
            forget_drops();
            leat_chan *ch = noting(crew.scope, lossy[b], 1);
            struct end ends[WAITING];
            for (int i = 0; i < WAITING; i++) {
                ends[i] = (struct end){ ch, 1, -1, selects };
                crew_go(&crew, kind_of(i), receive_one, &ends[i]);
                WAIT_UNTIL(receivers_of(ch) == (unsigned)i + 1);
            }
            bool promise = lossy[b] == LEAT_PROMISE;
            for (int i = 0; i < (promise ? 1 : WAITING); i++)
                CHECK_IS(0, leat_send(ch, &i));
            WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
            CHECK_IS(0, drops);
            CHECK_IS(promise, leat_chan_len(ch));
            crew_close(&crew);
            for (int i = 0; i < WAITING; i++) {
                CHECK_IS(0, ends[i].result);
                CHECK_IS(promise ? 0 : i, ends[i].number);
            }
        }
    }
    return 0;
}
ON_WORKERS(serves_waiting_receivers_first);

static int keeps_its_promise(void *arg)
{
    (void)arg;
    forget_drops();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = noting(s, LEAT_PROMISE, 0);
    int x = 41, y = -1;
    CHECK_IS(-EAGAIN, leat_try_recv(ch, &y));
    CHECK_IS(0, leat_send(ch, &x));
    for (x = 42; x < 45; x++)
        CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(3, drops);
    for (int i = 0; i < 10; i++) {
        if (i == 5) {
            CHECK_IS(0, leat_close(ch));
            CHECK_IS(-EPIPE, leat_send(ch, &x));
        }
        y = -1;
        CHECK_IS(0, leat_recv(ch, &y));
        CHECK_IS(41, y);
        CHECK_IS(1, leat_chan_len(ch));
    }
    CHECK_IS(-EINVAL, leat_recv(ch, NULL));

    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(4, drops);
    return 0;
}
ON_WORKERS(keeps_its_promise);

static int breaks_its_promise_to_all(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = noting(crew.scope, LEAT_PROMISE, 0);
    struct end ends[6];
    for (int i = 0; i < 6; i++) {
        ends[i] = (struct end){ ch, 1, -1, i >= 3 };
        crew_go(&crew, kind_of(i), receive_one, &ends[i]);
    }
    WAIT_UNTIL(receivers_of(ch) == 6);
    CHECK_IS(0, leat_close(ch));
    crew_close(&crew);
    for (int i = 0; i < 6; i++) {
        CHECK_IS(-EPIPE, ends[i].result);
    }
    return 0;
}
ON_WORKERS(breaks_its_promise_to_all);

/* A drop function may use channels, even the one that drops: no lock is held. */
static leat_chan *source, *grave;

static void bury(void *item)
{
    CHECK(leat_chan_len(source) <= 2);
    CHECK_IS(0, leat_chan_closed(source));
    CHECK_IS(0, leat_try_send(grave, item));
}

static int holds_no_lock_in_drop(void *arg)
{
    (void)arg;
    for (int b = 0; b < 2; b++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        grave = leat_chan_of(s, int, 16);
        source = open_chan(s, lossy[b], sizeof(int), 2, bury);
        int x;
        for (x = 0; x < 10; x++)
            CHECK_IS(0, leat_send(source, &x));
        CHECK_IS(8, leat_chan_len(grave));
        for (int i = 0; i < 8; i++) {
            CHECK_IS(0, leat_recv(grave, &x));
            CHECK_IS(lossy[b] == LEAT_SLIDING ? i : i + 2, x);
        }
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_recv(source, &x));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(holds_no_lock_in_drop);

static int drops_nothing_when_cancelled(void *arg)
{
    (void)arg;
    forget_drops();
    for (int b = 0; b < LOSSY; b++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = noting(s, lossy[b], 1);
        int x = b;
        CHECK_IS(0, leat_scope_cancel(s));
        leat_case one[] = { LEAT_SEND(ch, &x) };
        CHECK_IS(-ECANCELED, leat_send(ch, &x));
        CHECK_IS(-ECANCELED, leat_select(one, 1, LEAT_NEVER));
        CHECK_IS(0, leat_try_send(ch, &x));
        CHECK_IS(b, drops);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(b + 1, drops);
    }
    return 0;
}
ON_WORKERS(drops_nothing_when_cancelled);

/* Many parties: each item is received or dropped once, and each sender's items keep their order. */
enum { PARTIES = 3, EACH = ITEMS / PARTIES / SCALE };

struct flood {
    leat_chan *ch;
    int sender, refused;
    bool selects;
};

static int flood_in(void *arg)
{
    struct flood *f = arg;
    for (int i = 0; i < EACH; i++) {
        int x = f->sender * EACH + i, error;
        leat_case cases[] = { LEAT_SEND(f->ch, &x), LEAT_SEND(NULL, &x) };
        error = f->selects ? leat_select(cases, 2, LEAT_NEVER) : leat_send(f->ch, &x);
        error = f->selects ? cases[0].status : error;
        if (error) {
            CHECK_IS(-EPIPE, error);
            f->refused = EACH - i;
            return 0;
        }
        if (i % 64 == 0)
            leat_yield();
    }
    CHECK_IS(0, leat_chan_done(f->ch));
    return 0;
}

static int flood_out(void *arg)
{
    struct flood *f = arg;
    int last[PARTIES] = { -1, -1, -1 }, x, error;
    for (;;) {
        leat_case cases[] = { LEAT_RECV(f->ch, &x), LEAT_RECV(NULL, NULL) };
        error = f->selects ? leat_select(cases, 2, LEAT_NEVER) : leat_recv(f->ch, &x);
        error = f->selects ? cases[0].status : error;
        if (error)
            break;
        CHECK(x > last[x / EACH]);
        last[x / EACH] = x;
        CHECK_IS(0, atomic_fetch_add(&received[x], 1));
    }
    CHECK_IS(-EPIPE, error);
    return 0;
}

static void flood(leat_buffer buffer, int round, bool closes)
{
    struct crew crew;
    struct flood floods[2 * PARTIES];
    crew_open(&crew);
    forget_drops();
    leat_chan *ch = noting(crew.scope, buffer, 1 + (size_t)round);
    CHECK_IS(0, leat_chan_senders(ch, PARTIES));
    for (int i = 0; i < 2 * PARTIES; i++) {
        floods[i] = (struct flood){ ch, i / 2, 0, (i + round) % 3 == 0 };
        crew_go(&crew, kind_of(i + round), i % 2 ? flood_out : flood_in, &floods[i]);
    }
    if (closes) {
        WAIT_UNTIL(drops > 10 || leat_chan_closed(ch));
        CHECK_IS(0, leat_close(ch));
    }
    crew_close(&crew);
    int refused = 0, lost = 0;
    for (int i = 0; i < PARTIES; i++)
        refused += floods[2 * i].refused;
    for (int i = 0; i < PARTIES * EACH; i++) {
        CHECK(received[i] + dropped[i] <= 1);
        lost += received[i] + dropped[i] == 0;
    }
    CHECK_IS(refused, lost);
    CHECK(closes || refused == 0);
}

static int counts_every_item(void *arg)
{
    (void)arg;
    for (int b = 0; b < 2; b++) {
        for (int round = 0; round < 6; round++)
            flood(lossy[b], round, round % 2);
    }
    return 0;
}
ON_WORKERS(counts_every_item);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_impossible_sizes),
        TESTS_ON_WORKERS(agrees_with_a_model),
        TESTS_ON_WORKERS(keeps_every_byte),
        TESTS_ON_WORKERS(never_makes_a_sender_wait),
        TESTS_ON_WORKERS(serves_waiting_receivers_first),
        TESTS_ON_WORKERS(keeps_its_promise),
        TESTS_ON_WORKERS(breaks_its_promise_to_all),
        TESTS_ON_WORKERS(holds_no_lock_in_drop),
        TESTS_ON_WORKERS(drops_nothing_when_cancelled),
        TESTS_ON_WORKERS(counts_every_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
