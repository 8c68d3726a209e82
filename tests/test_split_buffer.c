/* test_split_buffer.c: both ends of a buffer are used at the same time (chan/split.h). No item is
 * lost, doubled or out of order, and to each operation it is still one channel. */
#include "support.h"

#include <sched.h>

enum { CAPACITY = LT_SPLIT_FROM, EACH = 20000 / SCALE, SIDE = 3 };

static int finds_it_empty(void *ch)
{
    int64_t item;
    CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &item, leat_now() + 1));
    /* It is split exactly if a second processor may help. */
    CHECK(!lt_chan_split_buffer(ch) == !(LT_SPLIT_ALONE || lt_this_thread()->spin.most));
    return 0;
}

static int splits_it(void *arg)
{
    leat_chan *ch = arg;
    lt_chan_lock(ch);
    if (!lt_chan_split_buffer(ch))
        lt_chan_split(ch);
    lt_chan_unlock(ch);
    return 0;
}

/* Makes a channel and splits its buffer, by a thread that finds it empty if that suffices. */
static leat_chan *make_split_channel(leat_drop_fn *drop)
{
    leat_chan *ch = leat_chan_open(
        NULL,
        &(leat_chan_spec){ .item_size = sizeof(int64_t), .capacity = CAPACITY, .drop = drop });
    leat_fn *const both[] = { finds_it_empty, splits_it };
    CHECK(ch && !lt_chan_split_buffer(ch));
    for (int i = 0; i < 2; i++) {
        struct foreign thread;
        foreign_start(&thread, both[i], ch);
        CHECK_IS(0, foreign_join(&thread));
    }
    CHECK(lt_chan_split_buffer(ch));
    return ch;
}

/* ---- several parties on each side ---- */

struct side {
    leat_chan *ch;
    int number;
};

static _Atomic int got[SIDE * EACH];

static int sends(void *arg)
{
    struct side *side = arg;
    for (int64_t i = 0; i < EACH; i++) {
        int64_t item = side->number * EACH + i;
        CHECK_IS(0, leat_send(side->ch, &item));
    }
    return leat_chan_done(side->ch);
}

static int receives(void *arg)
{
    struct side *side = arg;
    int64_t last[SIDE] = { -1, EACH - 1, 2 * EACH - 1 }, item;
    int status;
    while ((status = leat_recv(side->ch, &item)) == 0) {
        CHECK(item > last[item / EACH]);
        last[item / EACH] = item;
        CHECK_IS(0, atomic_fetch_add(&got[item], 1));
    }
    CHECK_IS(-EPIPE, status);
    return 0;
}

static int moves_each_item_once(void *arg)
{
    (void)arg;
    struct crew crew;
    struct side sides[SIDE];
    leat_chan *ch = make_split_channel(NULL);
    for (int i = 0; i < SIDE * EACH; i++)
        got[i] = 0;
    CHECK_IS(0, leat_chan_senders(ch, SIDE));
    crew_open(&crew);
    for (int i = 0; i < SIDE; i++) {
        sides[i] = (struct side){ ch, i };
        crew_go(&crew, i ? FOREIGN : TASK, receives, &sides[i]);
        crew_go(&crew, i ? FOREIGN : TASK, sends, &sides[i]);
    }
    crew_close(&crew);
    for (int i = 0; i < SIDE * EACH; i++)
        CHECK_IS(1, got[i]);
    CHECK_IS(0, leat_chan_unref(ch));
    return 0;
}

ON_WORKERS(moves_each_item_once);

/* ---- splitting while parties use the channel ---- */

/* Each round has a new channel. The channel is split when a thread finds it empty or full while the
 * other threads are about to use it. The threads meet by yielding, so that all of them run when a
 * round begins. Beside programs that compute, this takes a millisecond or more for each round, so
 * the rounds also end after some seconds. */
enum { ROUNDS = 60000 / SCALE, ITEMS = 10, PAIRS = 2 };

static struct {
    leat_chan *channels[ROUNDS];
    _Atomic int64_t sums[ROUNDS];
    int64_t end; /* a time of leat_now */
    _Atomic unsigned arrived, begun;
    _Atomic bool enough;
} splitting;

/* Returns false when there are no more rounds. The last thread to arrive decides for all. */
static bool meet_all(unsigned round)
{
    if (++splitting.arrived == (round + 1) * 2 * PAIRS) {
        splitting.enough = round == ROUNDS || (round > 0 && leat_now() > splitting.end);
        splitting.begun = round + 1;
    }
    while (splitting.begun <= round)
        sched_yield();
    return !splitting.enough;
}

static int sends_each_round(void *arg)
{
    (void)arg;
    for (unsigned round = 0; meet_all(round); round++)
        for (int64_t item = 1; item <= ITEMS; item++)
            CHECK_IS(0, leat_send(splitting.channels[round], &item));
    return 0;
}

static int receives_each_round(void *arg)
{
    (void)arg;
    for (unsigned round = 0; meet_all(round); round++) {
        int64_t item, sum = 0;
        for (int i = 0; i < ITEMS; i++, sum += item)
            CHECK_IS(0, leat_recv(splitting.channels[round], &item));
        splitting.sums[round] += sum;
    }
    return 0;
}

static void splits_amid_traffic(void **state)
{
    (void)state;
    struct foreign threads[2 * PAIRS];
    splitting.arrived = splitting.begun = 0;
    splitting.end = leat_now() + 3 * 1000000000LL;
    for (unsigned round = 0; round < ROUNDS; round++) {
        splitting.channels[round] = leat_chan_of(NULL, int64_t, CAPACITY);
        splitting.sums[round] = 0;
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        foreign_start(&threads[i], i % 2 ? sends_each_round : receives_each_round, NULL);
    for (int i = 0; i < 2 * PAIRS; i++)
        CHECK_IS(0, foreign_join(&threads[i]));
    unsigned rounds = splitting.begun - 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        CHECK_IS(0, leat_chan_len(splitting.channels[round]));
        CHECK_IS(round < rounds ? PAIRS * ITEMS * (ITEMS + 1) / 2 : 0, splitting.sums[round]);
        CHECK_IS(0, leat_chan_unref(splitting.channels[round]));
    }
}

/* ---- one item at a time ---- */

struct wall {
    leat_chan *there, *back;
};

static int returns_them(void *arg)
{
    struct wall *wall = arg;
    int64_t item;
    while (leat_recv(wall->there, &item) == 0)
        CHECK_IS(0, leat_send(wall->back, &item));
    return 0;
}

static int wakes_a_party_that_waits_for_one_item(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        struct wall wall = { make_split_channel(NULL), make_split_channel(NULL) };
        crew_open(&crew);
        crew_go(&crew, kind, returns_them, &wall);
        for (int64_t i = 0; i < 2000 / SCALE; i++) {
            int64_t item = i;
            CHECK_IS(0, leat_send(wall.there, &item));
            CHECK_IS(0, leat_recv(wall.back, &item));
            CHECK_IS(i, item);
        }
        CHECK_IS(0, leat_close(wall.there));
        crew_close(&crew);
        CHECK_IS(0, leat_chan_unref(wall.there));
        CHECK_IS(0, leat_chan_unref(wall.back));
    }
    return 0;
}

ON_WORKERS(wakes_a_party_that_waits_for_one_item);

/* ---- closing ---- */

static _Atomic int dropped;

static void note_drop(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

static int closes_with_one_left(void *arg)
{
    leat_chan *ch = arg;
    int64_t item = 7;
    CHECK_IS(0, leat_send(ch, &item));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(-EPIPE, leat_send(ch, &item));
    item = 0;
    CHECK_IS(0, leat_recv(ch, &item));
    CHECK_IS(7, item);
    CHECK_IS(-EPIPE, leat_recv(ch, &item));
    return 0;
}

static int closes_as_any_channel(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        leat_chan *ch = make_split_channel(NULL);
        crew_open(&crew);
        crew_go(&crew, kind, closes_with_one_left, ch);
        crew_close(&crew);
        CHECK_IS(0, leat_chan_unref(ch));
    }
    return 0;
}

ON_WORKERS(closes_as_any_channel);

static int fills(void *arg)
{
    for (int64_t i = 0; i < CAPACITY; i++)
        CHECK_IS(0, leat_send(arg, &i));
    return 0;
}

static int drops_what_is_left(void *arg)
{
    (void)arg;
    struct foreign thread;
    leat_chan *ch = make_split_channel(note_drop);
    dropped = 0;
    foreign_start(&thread, fills, ch);
    CHECK_IS(0, foreign_join(&thread));
    CHECK_IS(CAPACITY, leat_chan_len(ch));
    lt_chan_visit(ch); /* as a dump does */
    CHECK_IS(CAPACITY, lt_chan_count(ch));
    lt_chan_unlock(ch);
    CHECK_IS(0, leat_chan_unref(ch));
    CHECK_IS(CAPACITY, dropped);
    return 0;
}

ON_WORKERS(drops_what_is_left);

/* The drop function of one channel may use another channel of the scope, also when that one's
 * buffer was split and its turn has come. */
static leat_chan *used_by_drop;

static void use_other(void *item)
{
    CHECK_IS(-EPIPE, leat_try_send(used_by_drop, item));
    CHECK_IS(-EPIPE, leat_try_recv(used_by_drop, item));
    CHECK_IS(0, leat_close(used_by_drop));
    atomic_fetch_add(&dropped, 1);
}

static int may_be_used_by_drop_functions(void *arg)
{
    (void)arg;
    struct foreign thread;
    int64_t item = 7;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan_spec spec = { .item_size = sizeof item, .capacity = 1, .drop = use_other };
    leat_chan *first = leat_chan_open(s, &spec);
    used_by_drop = leat_chan_of(s, int64_t, CAPACITY);
    foreign_start(&thread, splits_it, used_by_drop);
    CHECK_IS(0, foreign_join(&thread));
    CHECK(lt_chan_split_buffer(used_by_drop));
    CHECK_IS(0, leat_send(first, &item));
    dropped = 0;
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(1, dropped);
    return 0;
}

ON_WORKERS(may_be_used_by_drop_functions);

/* ---- any operation, against a count of the items ---- */

struct model {
    leat_chan *ch;
    int64_t sent, received;
};

static void expect(struct model *model, int64_t item)
{
    CHECK_IS(model->received, item);
    model->received++;
}

static void send_some_way(struct model *model, unsigned way)
{
    bool full = model->sent - model->received == CAPACITY;
    int64_t items[3] = { model->sent, model->sent + 1, model->sent + 2 };
    leat_case c = LEAT_SEND(model->ch, items);
    if (way == 0) {
        CHECK_IS(full ? -EAGAIN : 0, leat_try_send(model->ch, items));
    } else if (way == 1) {
        CHECK_IS(full ? -EAGAIN : 0, leat_select(&c, 1, LEAT_NOW));
    } else if (way == 2) {
        CHECK_IS(full ? -ETIMEDOUT : 0, leat_send_until(model->ch, items, leat_now() + 1));
    } else {
        int64_t room = CAPACITY - (model->sent - model->received);
        int64_t n = leat_send_many(model->ch, items, 3, LEAT_NOW);
        CHECK_IS(full ? -EAGAIN : room < 3 ? room : 3, n);
        model->sent += full ? 0 : n;
        return;
    }
    model->sent += !full;
}

static void receive_some_way(struct model *model, unsigned way)
{
    bool empty = model->sent == model->received;
    int64_t items[3];
    leat_case c = LEAT_RECV(model->ch, items);
    int64_t n = 1;
    if (way == 0) {
        CHECK_IS(empty ? -EAGAIN : 0, leat_try_recv(model->ch, items));
    } else if (way == 1) {
        CHECK_IS(empty ? -EAGAIN : 0, leat_select(&c, 1, LEAT_NOW));
    } else if (way == 2) {
        CHECK_IS(empty ? -ETIMEDOUT : 0, leat_recv_until(model->ch, items, leat_now() + 1));
    } else {
        int64_t there = model->sent - model->received;
        n = leat_recv_many(model->ch, items, 3, LEAT_NOW);
        CHECK_IS(empty ? -EAGAIN : there < 3 ? there : 3, n);
    }
    for (int64_t i = 0; i < n && !empty; i++)
        expect(model, items[i]);
}

static int does_anything(void *arg)
{
    struct model *model = arg;
    uint64_t chance = seed_of_test();
    for (int step = 0; step < 4000 / SCALE; step++) {
        /* Sends mostly for a while, then receives mostly. */
        bool sending = (below(&chance, 4) != 0) == (step / (2 * CAPACITY + 8) % 2 == 0);
        if (sending)
            send_some_way(model, below(&chance, 4));
        else
            receive_some_way(model, below(&chance, 4));
        CHECK_IS(model->sent - model->received, leat_chan_len(model->ch));
    }
    return 0;
}

static int is_one_channel_to_every_operation(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        struct model model = { .ch = make_split_channel(NULL) };
        crew_open(&crew);
        crew_go(&crew, kind, does_anything, &model);
        crew_close(&crew);
        CHECK_IS(0, leat_chan_unref(model.ch));
    }
    return 0;
}

ON_WORKERS(is_one_channel_to_every_operation);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(moves_each_item_once),
        cmocka_unit_test(splits_amid_traffic),
        TESTS_ON_WORKERS(wakes_a_party_that_waits_for_one_item),
        TESTS_ON_WORKERS(closes_as_any_channel),
        TESTS_ON_WORKERS(drops_what_is_left),
        TESTS_ON_WORKERS(may_be_used_by_drop_functions),
        TESTS_ON_WORKERS(is_one_channel_to_every_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
