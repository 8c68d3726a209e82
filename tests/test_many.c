/* test_many.c: a hundred thousand waiting tasks are woken; operations move many items at once. */
#include "support.h"

#include <unistd.h>

#ifdef LEAT_HARSH
enum { TASKS = IN_SIM ? 300 : UNDER_TSAN ? 2000 : 20000 };
#else
enum { TASKS = IN_SIM ? 300 : UNDER_TSAN ? 2000 : SCALE > 1 ? 10000 : 100000 };
#endif

struct crowd {
    leat_chan *ch;
    _Atomic int served, closed, cancelled;
    _Atomic int64_t sum;
};

static int wait_in_line(void *arg)
{
    struct crowd *crowd = arg;
    int x;
    switch (leat_recv(crowd->ch, &x)) {
    case 0:
        atomic_fetch_add(&crowd->served, 1);
        atomic_fetch_add(&crowd->sum, x);
        return 0;
    case -EPIPE: atomic_fetch_add(&crowd->closed, 1); return 0;
    case -ECANCELED: atomic_fetch_add(&crowd->cancelled, 1); return -ECANCELED;
    default: CHECK(false); return 1;
    }
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file);
    CHECK_IS(1, fscanf(file, "%*s %ld", &pages));
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int wakes_a_crowd(void *arg)
{
    (void)arg;
    for (int way = 0; way < 3; way++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct crowd crowd = { .ch = leat_chan_of(s, int, 0) };
        long before = resident_bytes();
        for (int i = 0; i < TASKS; i++)
            CHECK_IS(0, leat_go(s, wait_in_line, &crowd));
        WAIT_UNTIL(leat_scope_tasks(s) == TASKS);
        WAIT_UNTIL(receivers_of(crowd.ch) == TASKS);
        WAIT_UNTIL(leat_scope_tasks(s) == TASKS);
        /* A page or two for each task, and a descriptor. */
        if (SCALE == 1 && way == 0)
            CHECK((resident_bytes() - before) / TASKS < 3 * 4096);
        int64_t sum = 0;
        for (int i = 0; i < TASKS && way == 0; i++) {
            CHECK_IS(0, leat_send(crowd.ch, &i));
            sum += i;
        }
        if (way == 1)
            CHECK_IS(0, leat_close(crowd.ch));
        if (way == 2)
            CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(way == 0 ? TASKS : 0, crowd.served);
        CHECK_IS(way == 1 ? TASKS : 0, crowd.closed);
        CHECK_IS(way == 2 ? TASKS : 0, crowd.cancelled);
        CHECK_IS(sum, crowd.sum);
    }
    return 0;
}
ON_WORKERS(wakes_a_crowd);

/* As many tasks that have not started, after a task that does not yield. */
static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int starts_a_crowd(void *arg)
{
    (void)arg;
    _Atomic int count = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < TASKS; i++)
        CHECK_IS(0, leat_go(s, count_up, &count));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(TASKS, count);
    return 0;
}
ON_WORKERS(starts_a_crowd);

/* One after the other. TSan has room for 65,536 entries of functions without an exit. */
static int ends_task_after_task(void *arg)
{
    (void)arg;
    enum { TASKS_IN_TURN = IN_SIM ? 100 : UNDER_TSAN ? 70000 : 2000 };
    _Atomic int count = 0;
    for (int i = 0; i < TASKS_IN_TURN; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(s, count_up, &count));
        CHECK_IS(0, leat_scope_close(s));
    }
    CHECK_IS(TASKS_IN_TURN, count);
    return 0;
}
ON_WORKERS(ends_task_after_task);

static int start_from_outside(void *arg)
{
    return starts_a_crowd(arg);
}

static void starts_a_crowd_from_a_thread(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    struct foreign foreign[2];
    for (int i = 0; i < 2; i++)
        foreign_start(&foreign[i], start_from_outside, NULL);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, foreign_join(&foreign[i]));
    CHECK_IS(0, leat_stop());
}

/* ---- many items at once ---- */

static void drop_nothing(void *item)
{
    (void)item;
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 4), *empty = leat_chan_make(s, 0, 3);
    leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 4, .drop = drop_nothing };
    leat_chan *owned = leat_chan_open(s, &spec);
    int x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    CHECK_IS(-EINVAL, leat_send_many(NULL, x, 1, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_recv_many(NULL, x, 1, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_send_many(ch, x, 0, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_recv_many(ch, x, 0, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_send_many(ch, NULL, 1, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_send_many(ch, x, 1, -1));
    CHECK_IS(0, leat_chan_len(ch));
    CHECK_IS(4, leat_send_many(ch, x, 4, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_recv_many(ch, x, 1, INT64_MIN));
    CHECK_IS(4, leat_chan_len(ch));
    CHECK_IS(3, leat_recv_many(ch, NULL, 3, LEAT_NEVER)); /* discarded */
    CHECK_IS(1, leat_recv_many(ch, x, 8, LEAT_NEVER));
    CHECK_IS(4, x[0]);
    CHECK_IS(2, x[1]);
    CHECK_IS(2, leat_send_many(owned, x, 2, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_recv_many(owned, NULL, 2, LEAT_NEVER));
    CHECK_IS(2, leat_chan_len(owned));

    CHECK_IS(2, leat_send_many(empty, NULL, 2, LEAT_NEVER));
    CHECK_IS(1, leat_send_many(empty, NULL, 2, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_send_many(empty, x, 2, LEAT_NOW));
    CHECK_IS(2, leat_recv_many(empty, NULL, 2, LEAT_NEVER));
    CHECK_IS(1, leat_recv_many(empty, x, SIZE_MAX, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_recv_many(empty, NULL, SIZE_MAX, LEAT_NOW));
    CHECK_IS(4, x[0]);
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

/* No call moves more items than its result can count. */
static int counts_no_more_than_the_result_can(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, SIZE_MAX);
    for (int i = 0; i < 2; i++)
        CHECK_IS(INT64_MAX, leat_send_many(ch, NULL, SIZE_MAX, LEAT_NEVER));
    CHECK_IS(1, leat_send_many(ch, NULL, SIZE_MAX, LEAT_NEVER));
    CHECK(leat_chan_len(ch) == SIZE_MAX);
    CHECK_IS(-EAGAIN, leat_send_many(ch, NULL, SIZE_MAX, LEAT_NOW));
    for (int i = 0; i < 2; i++)
        CHECK_IS(INT64_MAX, leat_recv_many(ch, NULL, SIZE_MAX, LEAT_NEVER));
    CHECK_IS(1, leat_recv_many(ch, NULL, SIZE_MAX, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_recv_many(ch, NULL, SIZE_MAX, LEAT_NOW));
    return leat_scope_close(s);
}
ON_WORKERS(counts_no_more_than_the_result_can);

/* Changing amounts make the buffer wrap everywhere. Some sizes are copied in one piece. */
static int moves_what_can_go(void *arg)
{
    (void)arg;
    enum { MOST = 12, SIZE = 24 };
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 60 / SCALE + 5; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        int capacity = (int)below(&chance, 9), in = 0, out = 0;
        size_t size = (size_t[]){ 4, 8, 12, 16, SIZE }[below(&chance, 5)];
        leat_chan *ch = leat_chan_make(s, size, (size_t)capacity);
        for (int i = 0; i < 400; i++) {
            unsigned char items[(MOST + 1) * SIZE];
            int n = 1 + (int)below(&chance, MOST), room = capacity - (in - out), x;
            memset(items, 0xA5, sizeof items);
            if (below(&chance, 2)) {
                for (int j = 0; j < n; j++) {
                    x = in + j;
                    memcpy(items + (size_t)j * size, &x, sizeof x);
                }
                int went = n < room ? n : room;
                CHECK_IS(went ? went : -EAGAIN, leat_send_many(ch, items, (size_t)n, LEAT_NOW));
                in += went;
            } else {
                int came = n < in - out ? n : in - out;
                CHECK_IS(came ? came : -EAGAIN, leat_recv_many(ch, items, (size_t)n, LEAT_NOW));
                for (int j = 0; j < came; j++) {
                    memcpy(&x, items + (size_t)j * size, sizeof x);
                    CHECK_IS(out++, x);
                }
                for (size_t j = (size_t)came * size; j < sizeof items; j++)
                    CHECK_IS(0xA5, items[j]);
            }
            CHECK_IS(in - out, leat_chan_len(ch));
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(moves_what_can_go);

struct bulk {
    leat_chan *ch;
    int64_t result, deadline;
    int items[8], n; /* n > 0: sends n; n < 0: receives -n */
};

static int move_bulk(void *arg)
{
    struct bulk *b = arg;
    b->result = b->n > 0 ? leat_send_many(b->ch, b->items, (size_t)b->n, b->deadline)
                         : leat_recv_many(b->ch, b->items, (size_t)-b->n, b->deadline);
    return 0;
}

/* Waiting partners are served in order, and the buffer is used, too. */
static int serves_waiting_partners(void *arg)
{
    (void)arg;
    for (size_t capacity = 0; capacity <= 2; capacity++) {
        struct crew crew;
        struct bulk receivers[3], senders[3];
        int items[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, capacity);
        for (int i = 0; i < 3; i++) {
            receivers[i] = (struct bulk){ .ch = ch, .deadline = LEAT_NEVER, .n = -1 };
            crew_go(&crew, (enum kind)(i % KINDS), move_bulk, &receivers[i]);
            WAIT_UNTIL(receivers_of(ch) == (unsigned)i + 1);
        }
        int64_t went = 3 + (int64_t)capacity;
        CHECK_IS(went, leat_send_many(ch, items, 10, LEAT_NEVER));
        for (int i = 0; i < 3; i++) {
            senders[i] = (struct bulk){ ch, 0, LEAT_NEVER, { (int)went + i }, 1 };
            crew_go(&crew, (enum kind)(i % KINDS), move_bulk, &senders[i]);
            WAIT_UNTIL(senders_of(ch) == (unsigned)i + 1);
        }
        memset(items, 0, sizeof items);
        CHECK_IS(capacity + 3, leat_recv_many(ch, items, 10, LEAT_NEVER));
        for (int i = 0; i < (int)capacity + 3; i++)
            CHECK_IS(3 + i, items[i]);
        crew_close(&crew);
        for (int i = 0; i < 3; i++) {
            CHECK_IS(1, receivers[i].result);
            CHECK_IS(i, receivers[i].items[0]);
            CHECK_IS(1, senders[i].result);
        }
    }
    return 0;
}
ON_WORKERS(serves_waiting_partners);

enum ending { BY_PARTNER, BY_CLOSE, BY_DEADLINE, BY_CANCEL, ENDINGS };

/* When no item can move at once, the call waits until one can, or until something ends the wait. */
static int waits_for_the_first(void *arg)
{
    (void)arg;
    static const int64_t results[] = { 1, -EPIPE, -ETIMEDOUT, -ECANCELED };
    for (int round = 0; round < ENDINGS * 2 * KINDS; round++) {
        enum ending ending = (enum ending)(round % ENDINGS);
        bool sends = round / ENDINGS % 2;
        enum kind kind = (enum kind)(round / ENDINGS / 2);
        if (ending == BY_CANCEL && kind == FOREIGN)
            continue; /* it belongs to no scope */
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(NULL, int, 2);
        int x = -1, first[2] = { 70, 71 };
        if (sends)
            CHECK_IS(2, leat_send_many(ch, first, 2, LEAT_NEVER));
        struct bulk b = { ch, 0, LEAT_NEVER, { 5, 6, 7 }, sends ? 3 : -3 };
        if (ending == BY_DEADLINE)
            b.deadline = leat_after(2 * LEAT_MS);
        crew_go(&crew, kind, move_bulk, &b);
        if (ending != BY_DEADLINE)
            WAIT_UNTIL(sends ? senders_of(ch) : receivers_of(ch));
        if (ending == BY_PARTNER)
            CHECK_IS(0, sends ? leat_recv(ch, &x) : leat_send(ch, first));
        if (ending == BY_CLOSE)
            CHECK_IS(0, leat_close(ch));
        if (ending == BY_CANCEL)
            CHECK_IS(0, leat_scope_cancel(crew.scope));
        for (int i = 0; i < crew.foreigners; i++)
            CHECK_IS(0, foreign_join(&crew.foreign[i]));
        crew.foreigners = 0;
        CHECK_IS(0, leat_scope_close(crew.scope));
        CHECK_IS(results[ending], b.result);
        CHECK(ending != BY_DEADLINE || leat_now() >= b.deadline);
        CHECK_IS(sends || ending != BY_PARTNER ? 5 : 70, b.items[0]);
        CHECK_IS(6, b.items[1]);
        CHECK_IS(sends ? 2 : 0, leat_chan_len(ch)); /* however the wait ended */
        CHECK_IS(sends                ? 2
                 : ending == BY_CLOSE ? -EPIPE
                                      : -EAGAIN,
                 leat_recv_many(ch, b.items, 8, LEAT_NOW));
        if (sends)
            CHECK_IS(ending == BY_PARTNER ? 5 : 71, b.items[1]);
        CHECK_IS(0, leat_chan_unref(ch));
    }
    return 0;
}
ON_WORKERS(waits_for_the_first);

static int ends_with_the_channel(void *arg)
{
    (void)arg;
    int items[8] = { 1, 2, 3 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 5);
    CHECK_IS(3, leat_send_many(ch, items, 3, LEAT_NEVER));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(-EPIPE, leat_send_many(ch, items, 3, LEAT_NEVER));
    CHECK_IS(2, leat_recv_many(ch, items, 2, LEAT_NEVER));
    CHECK_IS(1, leat_recv_many(ch, items, 8, LEAT_NEVER));
    CHECK_IS(3, items[0]);
    CHECK_IS(-EPIPE, leat_recv_many(ch, items, 8, LEAT_NEVER));
    ch = leat_chan_of(s, int, 5);
    CHECK_IS(3, leat_send_many(ch, items, 3, LEAT_NEVER));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(-ECANCELED, leat_send_many(ch, items, 1, LEAT_NEVER));
    CHECK_IS(-ECANCELED, leat_recv_many(ch, items, 1, LEAT_NOW));
    CHECK_IS(3, leat_chan_len(ch));
    return leat_scope_close(s);
}
ON_WORKERS(ends_with_the_channel);

static int goes_through_special_channels(void *arg)
{
    (void)arg;
    int items[8] = { 1, 2, 3, 4, 5, 6, 8, 9 }, got[8];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 3, .buffer = LEAT_DROPPING };
    leat_chan *ch = leat_chan_open(s, &spec);
    CHECK_IS(8, leat_send_many(ch, items, 8, LEAT_NOW));
    CHECK_IS(3, leat_recv_many(ch, got, 8, LEAT_NOW));
    CHECK(got[0] == 1 && got[2] == 3);
    spec.buffer = LEAT_SLIDING;
    ch = leat_chan_open(s, &spec);
    CHECK_IS(8, leat_send_many(ch, items, 8, LEAT_NOW));
    CHECK_IS(3, leat_recv_many(ch, got, 8, LEAT_NOW));
    CHECK(got[0] == 6 && got[2] == 9);
    spec.buffer = LEAT_PROMISE;
    ch = leat_chan_open(s, &spec);
    CHECK_IS(8, leat_send_many(ch, items + 4, 4, LEAT_NOW) * 2);
    CHECK(leat_recv_many(ch, got, 2, LEAT_NOW) >= 1);
    CHECK_IS(5, got[0]);
    CHECK_IS(1, leat_chan_len(ch));
    return leat_scope_close(s);
}
ON_WORKERS(goes_through_special_channels);

/* Several senders and receivers of every kind: each item arrives once, each sender's in order. What
 * is refused is the end of a sender's items. */
enum { SIDES = 3, EACH = 6000 / SCALE, BULK = 7 };

static _Atomic int seen[SIDES * EACH];

struct side {
    leat_chan *ch;
    uint64_t chance;
    int number, sent;
};

static int send_bulks(void *arg)
{
    struct side *side = arg;
    while (side->sent < EACH) {
        int items[BULK], n = 1 + (int)below(&side->chance, BULK);
        n = n < EACH - side->sent ? n : EACH - side->sent;
        for (int i = 0; i < n; i++)
            items[i] = side->number * EACH + side->sent + i;
        int64_t went = leat_send_many(side->ch, items, (size_t)n, LEAT_NEVER);
        if (went == -EPIPE)
            return 0;
        CHECK(went >= 1 && went <= n);
        side->sent += (int)went;
    }
    CHECK_IS(0, leat_chan_done(side->ch));
    return 0;
}

static int receive_bulks(void *arg)
{
    struct side *side = arg;
    int last[SIDES] = { -1, -1, -1 };
    for (;;) {
        int items[BULK], n = 1 + (int)below(&side->chance, BULK);
        int64_t came = leat_recv_many(side->ch, items, (size_t)n, LEAT_NEVER);
        if (came == -EPIPE)
            return 0;
        CHECK(came >= 1 && came <= n);
        for (int i = 0; i < came; i++) {
            CHECK(items[i] > last[items[i] / EACH]);
            last[items[i] / EACH] = items[i];
            CHECK_IS(0, atomic_fetch_add(&seen[items[i]], 1));
        }
    }
}

static int counts_every_item(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 8; round++) {
        struct crew crew;
        struct side sides[2 * SIDES];
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, (size_t)round);
        CHECK_IS(0, leat_chan_senders(ch, SIDES));
        for (int i = 0; i < SIDES * EACH; i++)
            seen[i] = 0;
        for (int i = 0; i < 2 * SIDES; i++) {
            sides[i] = (struct side){ ch, chance + (uint64_t)i * 977, i / 2, 0 };
            crew_go(&crew, (enum kind)((i + round) % KINDS), i % 2 ? receive_bulks : send_bulks,
                    &sides[i]);
        }
        if (round % 2) {
            WAIT_UNTIL(seen[EACH / 3]);
            CHECK_IS(0, leat_close(ch));
        }
        crew_close(&crew);
        for (int i = 0; i < SIDES; i++) {
            CHECK(round % 2 || sides[2 * i].sent == EACH);
            for (int j = 0; j < EACH; j++)
                CHECK_IS(j < sides[2 * i].sent, seen[i * EACH + j]);
        }
    }
    return 0;
}
ON_WORKERS(counts_every_item);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(ends_task_after_task), /* first: TSan is slow after a crowd */
        TESTS_ON_WORKERS(wakes_a_crowd),
        TESTS_ON_WORKERS(starts_a_crowd),
        cmocka_unit_test(starts_a_crowd_from_a_thread),
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(counts_no_more_than_the_result_can),
        TESTS_ON_WORKERS(moves_what_can_go),
        TESTS_ON_WORKERS(serves_waiting_partners),
        TESTS_ON_WORKERS(waits_for_the_first),
        TESTS_ON_WORKERS(ends_with_the_channel),
        TESTS_ON_WORKERS(goes_through_special_channels),
        TESTS_ON_WORKERS(counts_every_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
