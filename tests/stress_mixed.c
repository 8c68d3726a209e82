/* stress_mixed.c: everything at once, at random, with every item counted.
 *
 * An epoch is a scope with channels of several capacities and item sizes. Actors of every kind
 * send, receive, try, select, sleep, close, and open their own scopes with channels and actors
 * inside. After some milliseconds the epoch ends in one of several ways. Each item has a number:
 * either it was sent once, and received or dropped once, or it came back to its sender. */
#include "support.h"

enum {
    SHARED = 6,
    ACTORS = 10,
    CHILDREN = 3,
    CASES = 5,
    LARGEST = 256,
    IDS = 1 << 19,
    MADE = 1,
    GONE = 16
};

struct tube {
    leat_chan *ch;
    size_t size;
};

struct actor {
    uint64_t chance;
    struct tube tubes[SHARED + 1];
    unsigned tube_count, depth, lifetime;
};

/* Counts of what happened in all epochs: they show that the test does what it says. */
enum event {
    SENT,
    RECEIVED,
    DROPPED,
    RETURNED,
    TIMED_OUT,
    CANCELED,
    CLOSED,
    AGAIN,
    SELECTED,
    FAILED,
    EVENTS
};
static const char *const event_names[EVENTS] = { "sent",      "received", "dropped", "returned",
                                                 "timed out", "canceled", "closed",  "again",
                                                 "selected",  "failed" };
static _Atomic uint64_t events[EVENTS];
static _Atomic uint8_t fate[IDS];
static _Atomic uint32_t next_id;
static _Atomic bool stop;

static void happened(enum event event)
{
    atomic_fetch_add_explicit(&events[event], 1, memory_order_relaxed);
}

/* An item is a number, and bytes that follow from the number. */
static bool make_item(unsigned char *item, size_t size)
{
    uint32_t id = atomic_fetch_add(&next_id, 1);
    if (id >= IDS)
        return false;
    memcpy(item, &id, sizeof id);
    for (size_t i = sizeof id; i < size; i++)
        item[i] = (unsigned char)(id * 31 + i);
    return true;
}

static uint32_t check_item(const unsigned char *item, size_t size)
{
    uint32_t id;
    memcpy(&id, item, sizeof id);
    CHECK(id < IDS);
    for (size_t i = sizeof id; i < size; i++)
        CHECK_IS((unsigned char)(id * 31 + i), item[i]);
    return id;
}

static void sent(const unsigned char *item, size_t size)
{
    CHECK_IS(0, atomic_fetch_or(&fate[check_item(item, size)], MADE) & MADE);
    happened(SENT);
}

static void gone(const unsigned char *item, size_t size, enum event how)
{
    CHECK_IS(0, atomic_fetch_or(&fate[check_item(item, size)], GONE) & GONE);
    happened(how);
}

/* A drop function does not get the size: it checks as many bytes as any item has (see `sizes`). */
static void drop(void *item)
{
    gone(item, sizeof(uint32_t), DROPPED);
}

static const size_t sizes[] = { 4, 8, 16, 40, LARGEST };
static const size_t capacities[] = { 0, 0, 1, 2, 7, 64 };

static struct tube make_tube(uint64_t *chance, leat_scope *scope)
{
    struct tube tube = { .size = sizes[below(chance, 5)] };
    tube.ch = leat_chan_open(scope, &(leat_chan_spec){ .item_size = tube.size,
                                                       .capacity = capacities[below(chance, 6)],
                                                       .drop = drop });
    CHECK(tube.ch);
    return tube;
}

static int64_t some_deadline(struct actor *a)
{
    switch (below(&a->chance, 8)) {
    case 0: return LEAT_NEVER;
    case 1: return LEAT_NOW;
    case 2: return 1; /* long ago */
    case 3: return leat_after((int64_t)below(&a->chance, 2000) * LEAT_US);
    default: return leat_after(below(&a->chance, 60) * LEAT_US);
    }
}

static void note_refusal(int err)
{
    switch (err) {
    case -EPIPE: happened(CLOSED); break;
    case -ECANCELED: happened(CANCELED); break;
    case -ETIMEDOUT: happened(TIMED_OUT); break;
    case -EAGAIN: happened(AGAIN); break;
    default: check_failed(__FILE__, __LINE__, "an operation returned %d", err);
    }
}

static void send_one(struct actor *a, struct tube tube)
{
    unsigned char item[LARGEST];
    if (!make_item(item, tube.size))
        return;
    int err;
    switch (below(&a->chance, 4)) {
    case 0: err = leat_try_send(tube.ch, item); break;
    case 1: err = leat_send(tube.ch, item); break;
    default: err = leat_send_until(tube.ch, item, some_deadline(a));
    }
    if (err == 0) {
        sent(item, tube.size);
        return;
    }
    check_item(item, tube.size);
    happened(RETURNED);
    note_refusal(err);
}

static void receive_one(struct actor *a, struct tube tube)
{
    unsigned char item[LARGEST];
    memset(item, 0xA5, sizeof item);
    int err;
    switch (below(&a->chance, 4)) {
    case 0: err = leat_try_recv(tube.ch, item); break;
    case 1: err = leat_recv(tube.ch, item); break;
    default: err = leat_recv_until(tube.ch, item, some_deadline(a));
    }
    if (err == 0) {
        gone(item, tube.size, RECEIVED);
        return;
    }
    for (size_t i = 0; i < sizeof item; i++)
        CHECK_IS(0xA5, item[i]);
    note_refusal(err);
}

static void select_one(struct actor *a)
{
    leat_case cases[CASES];
    struct tube tubes[CASES];
    unsigned char items[CASES][LARGEST];
    unsigned n = 1 + below(&a->chance, CASES);
    for (unsigned i = 0; i < n; i++) {
        tubes[i] = a->tubes[below(&a->chance, a->tube_count)];
        bool sends = below(&a->chance, 2);
        memset(items[i], 0xA5, LARGEST);
        if (sends && !make_item(items[i], tubes[i].size))
            return;
        cases[i] = (leat_case){ .ch = below(&a->chance, 10) ? tubes[i].ch : NULL,
                                .item = items[i],
                                .op = sends ? LEAT_CASE_SEND : LEAT_CASE_RECV };
    }
    int64_t deadline = some_deadline(a);
    int chosen = below(&a->chance, 2) ? leat_select(cases, n, deadline)
                                      : leat_select_ordered(cases, n, deadline);
    CHECK(chosen < (int)n);
    if (chosen < 0)
        note_refusal(chosen);
    else
        happened(SELECTED);
    for (unsigned i = 0; i < n; i++) {
        bool sends = cases[i].op == LEAT_CASE_SEND;
        if ((int)i == chosen && cases[i].status == 0) {
            if (sends)
                sent(items[i], tubes[i].size);
            else
                gone(items[i], tubes[i].size, RECEIVED);
            continue;
        }
        CHECK_IS((int)i == chosen ? -EPIPE : 0, cases[i].status);
        if (sends) {
            check_item(items[i], tubes[i].size);
            happened(RETURNED);
        } else {
            for (size_t j = 0; j < LARGEST; j++)
                CHECK_IS(0xA5, items[i][j]);
        }
    }
}

static int act(void *arg);

static int cancel_it(void *arg)
{
    CHECK_IS(0, leat_scope_cancel(arg));
    return 0;
}

static int do_little(void *arg)
{
    (void)arg;
    return 1234;
}

/* Opens a scope with its own channel, and children that use this channel and the others. */
static void open_inside(struct actor *a)
{
    bool shielded = below(&a->chance, 8) == 0;
    if (shielded)
        CHECK_IS(0, leat_shield());
    int64_t deadline = some_deadline(a);
    if (shielded && deadline > leat_after(LEAT_S))
        deadline = leat_after(LEAT_MS); /* else nothing would end the children's waits */
    leat_scope *s = leat_scope_open(deadline);
    CHECK(s);
    struct tube own = make_tube(&a->chance, s);
    struct actor children[CHILDREN];
    unsigned n = below(&a->chance, CHILDREN + 1);
    for (unsigned i = 0; i < n; i++) {
        children[i] = *a;
        children[i].chance = lt_rng_next(&a->chance);
        children[i].depth = a->depth + 1;
        children[i].lifetime = 1 + below(&a->chance, 40);
        children[i].tubes[SHARED] = own;
        children[i].tube_count = SHARED + 1;
        CHECK_IS(0, below(&a->chance, 8) ? leat_go(s, act, &children[i])
                                         : leat_go_blocking(s, act, &children[i]));
    }
    for (unsigned i = below(&a->chance, 5); i > 0; i--)
        below(&a->chance, 2) ? send_one(a, own) : receive_one(a, own);
    switch (below(&a->chance, 4)) {
    case 0: CHECK_IS(0, leat_close(own.ch)); break;
    case 1: CHECK_IS(0, leat_go(s, cancel_it, s)); break;
    default: CHECK_IS(0, leat_scope_cancel(s));
    }
    if (below(&a->chance, 4) == 0)
        leat_yield();
    if (n && !leat_cancelled(s) && below(&a->chance, 4))
        CHECK_IS(0, leat_scope_cancel(s));
    int why = leat_scope_close(s);
    CHECK(why == 0 || why == -ETIMEDOUT || why == -ECANCELED || why == -EIO);
    if (why == -EIO)
        happened(FAILED);
    if (shielded)
        CHECK_IS(0, leat_unshield());
}

static int act(void *arg)
{
    struct actor *a = arg;
    for (unsigned i = 0; i < a->lifetime && !atomic_load(&stop); i++) {
        if (leat_cancelled(NULL) && below(&a->chance, 4) == 0)
            break; /* leaves after a few refusals */
        struct tube tube = a->tubes[below(&a->chance, a->tube_count)];
        switch (below(&a->chance, 32)) {
        case 0: leat_yield(); break;
        case 1: leat_sleep(below(&a->chance, 30) * LEAT_US); break;
        case 2: {
            int result = leat_blocking(do_little, NULL);
            CHECK(result == 1234 || result == -ECANCELED);
            break;
        }
        case 3:
        case 4:
            if (a->depth < 3)
                open_inside(a);
            break;
        case 5:
            if (below(&a->chance, 1000) == 0)
                CHECK_IS(0, leat_close(tube.ch));
            break;
        case 6:
            if (a->depth && below(&a->chance, 50) == 0)
                return -EIO;
            break;
        case 7: CHECK(leat_chan_len(tube.ch) <= leat_chan_cap(tube.ch)); break;
        case 8:
        case 9:
        case 10:
        case 11:
        case 12: select_one(a); break;
        default:
            if (below(&a->chance, 2))
                send_one(a, tube);
            else
                receive_one(a, tube);
        }
    }
    return leat_cancelled(NULL) && below(&a->chance, 2) ? -ECANCELED : 0;
}

/* A foreign thread has its own scope, which ends when the epoch does. */
static int act_in_a_scope(void *arg)
{
    leat_scope *s = leat_scope_open(leat_after(20 * LEAT_MS));
    CHECK(s);
    act(arg);
    int why = leat_scope_close(s);
    CHECK(why == 0 || why == -ETIMEDOUT);
    return 0;
}

static int live_an_epoch(void *arg)
{
    uint64_t *chance = arg;
    unsigned end = below(chance, 4);
    struct crew crew = { 0 };
    crew.scope = leat_scope_open(end == 0 ? leat_after(10 * LEAT_MS) : LEAT_NEVER);
    CHECK(crew.scope);
    struct actor *actors = calloc(ACTORS, sizeof *actors);
    CHECK(actors);
    struct actor model = { .tube_count = SHARED };
    for (unsigned i = 0; i < SHARED; i++)
        model.tubes[i] = make_tube(chance, crew.scope);
    for (unsigned i = 0; i < ACTORS; i++) {
        actors[i] = model;
        actors[i].chance = lt_rng_next(chance);
        actors[i].lifetime = UINT32_MAX;
        enum kind kind = i % 5 < 3 ? TASK : i % 5 == 3 ? BLOCKING : FOREIGN;
        crew_go(&crew, kind, kind == FOREIGN ? act_in_a_scope : act, &actors[i]);
    }
    leat_sleep(below(chance, 20) * LEAT_MS);
    if (end == 1)
        for (unsigned i = 0; i < SHARED; i++)
            CHECK_IS(0, leat_close(model.tubes[i].ch));
    if (end == 2)
        CHECK_IS(0, leat_scope_cancel(crew.scope));
    atomic_store(&stop, true);
    if (end != 0) /* some may wait for partners that have stopped */
        CHECK_IS(0, leat_scope_cancel(crew.scope));
    for (int i = 0; i < crew.foreigners; i++)
        CHECK_IS(0, foreign_join(&crew.foreign[i]));
    int why = leat_scope_close(crew.scope);
    CHECK(why == 0 || (end == 0 && why == -ETIMEDOUT));
    free(actors);

    uint32_t ids = next_id < IDS ? next_id : IDS;
    for (uint32_t id = 0; id < ids; id++) {
        unsigned was = atomic_exchange(&fate[id], 0);
        CHECK(was == 0 || was == (MADE | GONE));
    }
    CHECK_IS(events[SENT], events[RECEIVED] + events[DROPPED]);
    atomic_store(&next_id, 0);
    atomic_store(&stop, false);
    return 0;
}

/* Fails when an epoch hangs. */
static _Atomic uint64_t epochs;

static void *watch(void *arg)
{
    (void)arg;
    uint64_t seen = 0;
    for (int quiet = 0;; quiet = epochs == seen ? quiet + 1 : 0, seen = epochs) {
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        if (quiet > 90)
            check_failed(__FILE__, __LINE__, "epoch %llu hangs", (unsigned long long)seen);
    }
    return NULL;
}

static void mixes_everything(void **state)
{
    (void)state;
    int64_t end = stress_end(1);
    uint64_t chance = seed_of_test();
    fprintf(stderr, "  %s\n", check_note);
    pthread_t watcher;
    CHECK_IS(0, pthread_create(&watcher, NULL, watch, NULL));
    CHECK_IS(0, pthread_detach(watcher));
    while (leat_now() < end) {
        leat_options options = { .workers = 1 + below(&chance, 4) };
        if (below(&chance, 2)) {
            CHECK_IS(0, leat_main_with(live_an_epoch, &chance, &options));
            epochs++;
            continue;
        }
        CHECK_IS(0, leat_start(&options));
        for (unsigned i = 0; i < 10 && leat_now() < end; i++, epochs++)
            live_an_epoch(&chance);
        CHECK_IS(0, leat_stop());
    }
    fprintf(stderr, "  %llu epochs:", (unsigned long long)epochs);
    for (int i = 0; i < EVENTS; i++)
        fprintf(stderr, " %s %llu%c", event_names[i], (unsigned long long)events[i],
                i + 1 < EVENTS ? ',' : '\n');
    for (int i = 0; i < EVENTS; i++)
        CHECK(events[i] > 0 || events[SENT] < 1000000); /* a slow machine may miss the rarest */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mixes_everything) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
