/* test_chan.c: channel functions' arguments, items of all sizes, order, and the try forms. */
#include "support.h"

static void drop_nothing(void *item)
{
    (void)item;
}

static int refuses_impossible_sizes(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(!leat_chan_open(s, NULL));
    CHECK(!leat_chan_make(s, (1 << 20) + 1, 0));
    /* The product overflows to a small number. */
    CHECK(!leat_chan_make(s, 4, SIZE_MAX / 4 + 1));
    CHECK(!leat_chan_make(s, 16, SIZE_MAX / 16 + 2));
    CHECK(!leat_chan_make(s, 1, SIZE_MAX));
    CHECK(!leat_chan_make(NULL, 3, SIZE_MAX / 2));

    leat_chan *big = leat_chan_make(s, 1 << 20, 1);
    CHECK(big);
    CHECK_IS(1, leat_chan_cap(big));
    leat_chan *ch =
        leat_chan_open(s, &(leat_chan_spec){ .item_size = 3, .capacity = 5, .name = "x" });
    CHECK(ch);
    CHECK_IS(5, leat_chan_cap(ch));
    CHECK_IS(3, leat_chan_item_size(ch));
    CHECK(!leat_chan_drop_fn(ch));
    CHECK_IS(0, leat_chan_len(ch));
    CHECK_IS(0, leat_chan_closed(ch));
    ch = leat_chan_open(s, &(leat_chan_spec){ .drop = drop_nothing });
    CHECK_IS(0, leat_chan_cap(ch));
    CHECK_IS(0, leat_chan_item_size(ch));
    CHECK(leat_chan_drop_fn(ch) == drop_nothing);
    return leat_scope_close(s);
}
ON_WORKERS(refuses_impossible_sizes);

static int refuses_null_channels(void *arg)
{
    (void)arg;
    int x = 7;
    CHECK_IS(-EINVAL, leat_send(NULL, &x));
    CHECK_IS(-EINVAL, leat_send_until(NULL, &x, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_try_send(NULL, &x));
    CHECK_IS(-EINVAL, leat_recv(NULL, &x));
    CHECK_IS(-EINVAL, leat_recv_until(NULL, &x, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_try_recv(NULL, &x));
    CHECK_IS(-EINVAL, leat_close(NULL));
    CHECK_IS(-EINVAL, leat_chan_senders(NULL, 1));
    CHECK_IS(-EINVAL, leat_chan_done(NULL));
    CHECK_IS(-EINVAL, leat_chan_ref(NULL));
    CHECK_IS(-EINVAL, leat_chan_unref(NULL));
    CHECK_IS(0, leat_chan_len(NULL));
    CHECK_IS(0, leat_chan_cap(NULL));
    CHECK_IS(0, leat_chan_item_size(NULL));
    CHECK(!leat_chan_drop_fn(NULL));
    CHECK_IS(1, leat_chan_closed(NULL));
    CHECK_IS(7, x);
    return 0;
}
ON_WORKERS(refuses_null_channels);

static int checks_items_and_deadlines(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ints = leat_chan_of(s, int, 2), *empty = leat_chan_make(s, 0, 2);
    leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 2, .drop = drop_nothing };
    leat_chan *dropping = leat_chan_open(s, &spec);
    spec.item_size = 0;
    leat_chan *dropping_empty = leat_chan_open(s, &spec);
    int x = 1;

    CHECK_IS(-EINVAL, leat_send(ints, NULL));
    CHECK_IS(-EINVAL, leat_try_send(ints, NULL));
    CHECK_IS(-EINVAL, leat_send_until(ints, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_chan_len(ints));
    CHECK_IS(-EINVAL, leat_send_until(ints, &x, -1));
    CHECK_IS(-EINVAL, leat_send_until(ints, &x, INT64_MIN));
    CHECK_IS(0, leat_chan_len(ints));
    CHECK_IS(0, leat_send(ints, &x));
    CHECK_IS(-EINVAL, leat_recv_until(ints, &x, -1));
    CHECK_IS(1, leat_chan_len(ints));
    CHECK_IS(0, leat_recv(ints, NULL));
    CHECK_IS(0, leat_chan_len(ints));

    CHECK_IS(0, leat_send(empty, NULL));
    CHECK_IS(0, leat_send(empty, &x));
    CHECK_IS(0, leat_recv(empty, NULL));
    CHECK_IS(0, leat_recv(empty, &x));
    CHECK_IS(1, x);

    CHECK_IS(0, leat_send(dropping, &x));
    CHECK_IS(-EINVAL, leat_recv(dropping, NULL));
    CHECK_IS(-EINVAL, leat_try_recv(dropping, NULL));
    CHECK_IS(-EINVAL, leat_recv_until(dropping, NULL, LEAT_NEVER));
    CHECK_IS(1, leat_chan_len(dropping));
    CHECK_IS(0, leat_send(dropping_empty, NULL));
    CHECK_IS(0, leat_recv(dropping_empty, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(checks_items_and_deadlines);

static int try_forms_do_not_wait(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *direct = leat_chan_of(s, int, 0), *ch = leat_chan_of(s, int, 2);
    int x = 5;
    CHECK_IS(-EAGAIN, leat_try_send(direct, &x));
    CHECK_IS(-EAGAIN, leat_send_until(direct, &x, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_try_recv(direct, &x));
    CHECK_IS(-EAGAIN, leat_recv_until(direct, &x, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_try_recv(ch, &x));
    CHECK_IS(5, x);
    for (x = 1; x <= 2; x++)
        CHECK_IS(0, x == 1 ? leat_try_send(ch, &x) : leat_send_until(ch, &x, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_try_send(ch, &x));
    CHECK_IS(-EAGAIN, leat_send_until(ch, &x, LEAT_NOW));
    CHECK_IS(2, leat_chan_len(ch));
    CHECK_IS(0, leat_try_recv(ch, &x));
    CHECK_IS(1, x);
    CHECK_IS(1, leat_chan_len(ch));
    CHECK_IS(0, leat_recv_until(ch, &x, LEAT_NOW));
    CHECK_IS(2, x);
    CHECK_IS(-EAGAIN, leat_recv_until(ch, &x, LEAT_NOW));
    CHECK_IS(2, x);
    return leat_scope_close(s);
}
ON_WORKERS(try_forms_do_not_wait);

static int holds_its_capacity(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    static const int capacities[] = { 1, 2, 3, 8, 9, 64, 1000 };
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        leat_chan *ch = leat_chan_make(s, sizeof(int), (size_t)capacities[i]);
        for (int round = 0; round < 2; round++) {
            int x;
            for (x = 0; x < capacities[i]; x++)
                CHECK_IS(0, leat_try_send(ch, &x));
            CHECK_IS(-EAGAIN, leat_try_send(ch, &x));
            CHECK_IS(capacities[i], leat_chan_len(ch));
            for (int j = 0; j < capacities[i]; j++) {
                CHECK_IS(0, leat_try_recv(ch, &x));
                CHECK_IS(j, x);
            }
            CHECK_IS(-EAGAIN, leat_try_recv(ch, &x));
        }
    }
    return leat_scope_close(s);
}
ON_WORKERS(holds_its_capacity);

struct end {
    leat_chan *ch;
    int number, result;
    size_t size;
};

static int send_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_send(end->ch, &end->number);
    return 0;
}

static int receive_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_recv(end->ch, &end->number);
    return 0;
}

static int try_forms_meet_a_waiting_partner(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0);
        struct end out = { ch, 11, 1, 0 }, in = { ch, 0, 1, 0 };
        int x = 0;
        crew_go(&crew, kind, send_number, &out);
        WAIT_UNTIL(senders_of(ch) == 1);
        CHECK_IS(0, leat_chan_len(ch));
        CHECK_IS(0, leat_try_recv(ch, &x));
        CHECK_IS(11, x);
        CHECK_IS(-EAGAIN, leat_try_recv(ch, &x));
        crew_go(&crew, kind, receive_number, &in);
        WAIT_UNTIL(receivers_of(ch) == 1);
        x = 12;
        CHECK_IS(0, leat_send_until(ch, &x, LEAT_NOW));
        CHECK_IS(-EAGAIN, leat_try_send(ch, &x));
        crew_close(&crew);
        CHECK_IS(0, out.result);
        CHECK_IS(0, in.result);
        CHECK_IS(12, in.number);
    }
    return 0;
}
ON_WORKERS(try_forms_meet_a_waiting_partner);

enum { ROUNDS = 5, LARGEST = 4096, MARGIN = 32 };

static void fill(unsigned char *item, size_t size, int round)
{
    for (size_t i = 0; i < size; i++)
        item[i] = (unsigned char)((size_t)round * 41 + i * 7 + 1);
}

static int send_patterns(void *arg)
{
    struct end *end = arg;
    unsigned char item[LARGEST];
    for (int round = 0; round < ROUNDS; round++) {
        fill(item, end->size, round);
        CHECK_IS(0, leat_send(end->ch, item));
        memset(item, 0xEE, sizeof item);
    }
    return 0;
}

static int receive_patterns(void *arg)
{
    struct end *end = arg;
    unsigned char room[MARGIN + LARGEST + MARGIN], expected[LARGEST];
    for (int round = 0; round < ROUNDS; round++) {
        memset(room, 0xA5, sizeof room);
        CHECK_IS(0, leat_recv(end->ch, room + MARGIN));
        fill(expected, end->size, round);
        CHECK(memcmp(room + MARGIN, expected, end->size) == 0);
        for (size_t i = 0; i < sizeof room; i++)
            CHECK((i >= MARGIN && i < MARGIN + end->size) || room[i] == 0xA5);
    }
    return 0;
}

/* Each byte arrives and no other is written, whichever side waits, or none. */
static int carries_every_size(void *arg)
{
    (void)arg;
    static const size_t sizes[] = { 0, 1, 3, 4, 8, 16, 100, LARGEST };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t capacity = 0; capacity <= 3; capacity++) {
            for (int sender_first = 0; sender_first <= 1; sender_first++) {
                struct crew crew;
                crew_open(&crew);
                leat_chan *ch = leat_chan_make(crew.scope, sizes[i], capacity);
                struct end end = { .ch = ch, .size = sizes[i] };
                crew_go(&crew, TASK, sender_first ? send_patterns : receive_patterns, &end);
                WAIT_UNTIL(sender_first ? senders_of(ch) : receivers_of(ch));
                CHECK_IS(sender_first ? capacity : 0, leat_chan_len(ch));
                crew_go(&crew, TASK, sender_first ? receive_patterns : send_patterns, &end);
                crew_close(&crew);
            }
        }
    }
    return 0;
}
ON_WORKERS(carries_every_size);

static int buffers_in_order(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int capacity = 1; capacity <= 5; capacity++) {
        leat_chan *ch = leat_chan_of(s, int, (size_t)capacity);
        int in = 0, out = 0, x;
        /* Changing amounts make the buffer wrap at each position. */
        for (int round = 0; round < 50; round++) {
            int most = 1 + round % capacity;
            while (in - out < most) {
                CHECK_IS(0, leat_send(ch, &in));
                in++;
            }
            CHECK_IS(in - out, leat_chan_len(ch));
            for (int n = 1 + round % most; n > 0; n--) {
                CHECK_IS(0, leat_recv(ch, &x));
                CHECK_IS(out, x);
                out++;
            }
        }
    }
    return leat_scope_close(s);
}
ON_WORKERS(buffers_in_order);

/* First comes what is buffered; then waiting parties of any kind are served in their order. */
static int serves_waiting_senders_in_order(void *arg)
{
    (void)arg;
    enum { WAITING = 9 };
    for (int capacity = 0; capacity <= 2; capacity++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, (size_t)capacity);
        struct end ends[WAITING];
        for (int i = 0; i < capacity; i++)
            CHECK_IS(0, leat_send(ch, &i));
        for (int i = 0; i < WAITING; i++) {
            ends[i] = (struct end){ ch, capacity + i, 1, 0 };
            crew_go(&crew, kind_of(i), send_number, &ends[i]);
            WAIT_UNTIL(senders_of(ch) == (unsigned)i + 1);
            CHECK_IS(capacity, leat_chan_len(ch));
        }
        for (int i = 0; i < capacity + WAITING; i++) {
            int x = -1;
            CHECK_IS(0, leat_recv(ch, &x));
            CHECK_IS(i, x);
        }
        CHECK_IS(0, leat_chan_len(ch));
        crew_close(&crew);
        for (int i = 0; i < WAITING; i++)
            CHECK_IS(0, ends[i].result);
    }
    return 0;
}
ON_WORKERS(serves_waiting_senders_in_order);

static int serves_waiting_receivers_in_order(void *arg)
{
    (void)arg;
    enum { WAITING = 9 };
    for (size_t capacity = 0; capacity <= 2; capacity++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, capacity);
        struct end ends[WAITING];
        for (int i = 0; i < WAITING; i++) {
            ends[i] = (struct end){ ch, -1, 1, 0 };
            crew_go(&crew, kind_of(i), receive_number, &ends[i]);
            WAIT_UNTIL(receivers_of(ch) == (unsigned)i + 1);
        }
        for (int i = 0; i < WAITING; i++)
            CHECK_IS(0, leat_send(ch, &i));
        crew_close(&crew);
        for (int i = 0; i < WAITING; i++) {
            CHECK_IS(0, ends[i].result);
            CHECK_IS(i, ends[i].number);
        }
    }
    return 0;
}
ON_WORKERS(serves_waiting_receivers_in_order);

enum { SENDERS = 3, RECEIVERS = 3 };

struct flood {
    leat_chan *ch;
    int sender, each;
    _Atomic int *seen; /* SENDERS * each counts */
};

static int flood_send(void *arg)
{
    struct flood *flood = arg;
    for (int i = 0; i < flood->each; i++) {
        int x = flood->sender * flood->each + i;
        CHECK_IS(0, leat_send(flood->ch, &x));
    }
    CHECK_IS(0, leat_chan_done(flood->ch));
    return 0;
}

static int flood_receive(void *arg)
{
    struct flood *flood = arg;
    int last[SENDERS] = { -1, -1, -1 }, x, err;
    while ((err = leat_recv(flood->ch, &x)) == 0) {
        CHECK(x >= 0 && x < SENDERS * flood->each);
        atomic_fetch_add(&flood->seen[x], 1);
        /* One receiver gets one sender's items in order. */
        CHECK(x % flood->each > last[x / flood->each]);
        last[x / flood->each] = x % flood->each;
    }
    CHECK_IS(-EPIPE, err);
    return 0;
}

/* Several senders of one kind and several receivers of another: each item arrives once. */
static int carries_each_item_once(void *arg)
{
    (void)arg;
    const int each = 3000 / SCALE;
    _Atomic int *seen = calloc((size_t)(SENDERS * each), sizeof *seen);
    CHECK(seen);
    for (enum kind from = TASK; from < KINDS; from++) {
        for (enum kind to = TASK; to < KINDS; to++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *ch = leat_chan_of(crew.scope, int, (size_t)((from + to) % 3));
            struct flood floods[SENDERS];
            CHECK_IS(0, leat_chan_senders(ch, SENDERS));
            for (int i = 0; i < SENDERS; i++) {
                floods[i] = (struct flood){ ch, i, each, seen };
                crew_go(&crew, (i ? from : to), flood_send, &floods[i]);
                crew_go(&crew, (i ? to : from), flood_receive, &floods[i]);
            }
            crew_close(&crew);
            for (int i = 0; i < SENDERS * each; i++)
                CHECK_IS(1, atomic_exchange(&seen[i], 0));
        }
    }
    free(seen);
    return 0;
}
ON_WORKERS(carries_each_item_once);

/* Two parties of any kinds send and wait for the other's answer in turn. */
static int echo(void *arg)
{
    leat_chan **pair = arg;
    int x;
    while (leat_recv(pair[0], &x) == 0)
        CHECK_IS(0, leat_send(pair[1], &x));
    CHECK_IS(0, leat_close(pair[1]));
    return 0;
}

static int converses(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *pair[2] = { leat_chan_of(crew.scope, int, 0), leat_chan_of(crew.scope, int, 0) };
        crew_go(&crew, kind, echo, pair);
        for (int i = 0; i < 2000 / SCALE; i++) {
            int x = i, y = -1;
            CHECK_IS(0, leat_send(pair[0], &x));
            CHECK_IS(0, leat_recv(pair[1], &y));
            CHECK_IS(i, y);
        }
        leat_close(pair[0]);
        CHECK_IS(-EPIPE, leat_recv(pair[1], NULL));
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(converses);

/* Without a runtime, operations that need not wait work, and threads may wait. */
static void works_without_a_runtime(void **state)
{
    (void)state;
    leat_chan *pair[2] = { leat_chan_of(NULL, int, 0), leat_chan_of(NULL, int, 1) };
    CHECK(pair[0] && pair[1]);
    struct foreign foreign;
    foreign_start(&foreign, echo, pair);
    for (int i = 0; i < 100; i++) {
        int x = i, y = -1;
        CHECK_IS(0, leat_send(pair[0], &x));
        CHECK_IS(0, leat_recv(pair[1], &y));
        CHECK_IS(i, y);
    }
    leat_close(pair[0]);
    CHECK_IS(0, foreign_join(&foreign));
    CHECK_IS(-EPIPE, leat_recv(pair[1], NULL));
    CHECK_IS(0, leat_chan_unref(pair[0]));
    CHECK_IS(0, leat_chan_unref(pair[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_impossible_sizes),
        TESTS_ON_WORKERS(refuses_null_channels),
        TESTS_ON_WORKERS(checks_items_and_deadlines),
        TESTS_ON_WORKERS(try_forms_do_not_wait),
        TESTS_ON_WORKERS(holds_its_capacity),
        TESTS_ON_WORKERS(try_forms_meet_a_waiting_partner),
        TESTS_ON_WORKERS(carries_every_size),
        TESTS_ON_WORKERS(buffers_in_order),
        TESTS_ON_WORKERS(serves_waiting_senders_in_order),
        TESTS_ON_WORKERS(serves_waiting_receivers_in_order),
        TESTS_ON_WORKERS(carries_each_item_once),
        TESTS_ON_WORKERS(converses),
        cmocka_unit_test(works_without_a_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
