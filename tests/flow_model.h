/* flow_model.h: random programs around an operator. Sources send, sinks receive, a party may end
 * everything early, and a ledger counts all items. Tests compare what the sinks got with what a
 * plain loop makes of the same items.
 *
 * Each item is a number. A source makes it, and then it must end exactly once: it is received or
 * dropped, or its source keeps it because no party took it. The ledger is global, since a drop
 * function gets nothing but the item. So one program runs at a time. */
#pragma once

#include "support.h"

enum { SOURCES = 4, SINKS = 4, LENGTH = 12, IDS = 160, GOT = 4 * IDS };

enum early { REGULARLY, IN_CLOSED, OUT_CLOSED, ENOUGH, CANCELLED, DEADLINE, EARLIES };

struct source {
    struct world *world;
    leat_chan *ch;
    int items[LENGTH], length;
    _Atomic int sent; /* items that the channel took */
    uint64_t chance;
};

struct sink {
    struct world *world;
    leat_chan *ch;
    size_t size; /* of an item, in bytes */
    /* Notes an item and ends the numbers in it. */
    void (*note)(struct sink *sink, const void *item);
    int enough; /* items after which it closes the channel */
    int got[GOT], n;
    uint64_t chance;
};

struct world {
    const char *name;
    uint64_t chance, seed; /* chance: makes up the program; seed: for its parties */
    leat_scope *s;
    enum early early;
    bool whole; /* nothing ends it early */
    int sources, sinks;
    struct source source[SOURCES];
    struct sink sink[SINKS];
    leat_fn *send, *receive; /* what sources and sinks run */
    int verdict;             /* what else the scope may return */
    leat_chan *left;         /* closes when all sinks have left */
};

static _Atomic int made[IDS], ended[IDS];

static void item_made(int id)
{
    CHECK(id >= 0 && id < IDS);
    atomic_fetch_add(&made[id], 1);
}

static void item_ended(int id)
{
    CHECK(id >= 0 && id < IDS);
    int n = atomic_fetch_add(&ended[id], 1) + 1;
    if (n > atomic_load(&made[id]))
        check_failed(__FILE__, __LINE__, "item %d has been ended %d times", id, n);
}

static void drop_item(void *item)
{
    item_ended(*(const int *)item);
}

__attribute__((unused)) static void check_ledger(void)
{
    for (int id = 0; id < IDS; id++)
        if (atomic_load(&made[id]) != atomic_load(&ended[id]))
            check_failed(__FILE__, __LINE__, "item %d: made %d, ended %d", id, made[id], ended[id]);
}

/* ---- what the parties do ---- */

/* Sleeps only in the seeded world, where that costs no time. */
static void dawdle(uint64_t *chance)
{
    unsigned how = below(chance, 8);
    if (how == 0 && leat_sim_running())
        leat_sleep((int64_t)below(chance, 20) * LEAT_US);
    else if (how < 3)
        leat_yield();
}

static void wait_for_the_moment(uint64_t *chance)
{
    unsigned moment = below(chance, 40);
    if (leat_sim_running())
        leat_sleep((int64_t)moment * LEAT_US);
    else
        for (unsigned i = 0; i < moment; i++)
            leat_yield();
}

static int send_items(void *arg)
{
    struct source *source = arg;
    for (int i = 0; i < source->length; i++) {
        dawdle(&source->chance);
        item_made(source->items[i]);
        if (leat_send(source->ch, &source->items[i]) != 0) {
            item_ended(source->items[i]);
            break;
        }
        atomic_fetch_add(&source->sent, 1);
    }
    return leat_close(source->ch);
}

static void note_item(struct sink *sink, const void *item)
{
    const int *id = item;
    for (size_t i = 0; i < sink->size / sizeof *id; i++) {
        CHECK(sink->n < GOT);
        sink->got[sink->n++] = id[i];
        item_ended(id[i]);
    }
}

static int receive_items(void *arg)
{
    struct sink *sink = arg;
    unsigned char item[256];
    CHECK(sink->size <= sizeof item);
    for (int i = 0; i < sink->enough && leat_recv(sink->ch, item) == 0; i++) {
        sink->note(sink, item);
        dawdle(&sink->chance);
    }
    if (sink->world->early == ENOUGH)
        leat_close(sink->ch);
    return leat_chan_done(sink->world->left);
}

static int end_early(void *arg)
{
    struct world *w = arg;
    uint64_t chance = w->seed;
    wait_for_the_moment(&chance);
    switch (w->early) {
    case IN_CLOSED: return leat_close(w->source[below(&chance, (unsigned)w->sources)].ch);
    case OUT_CLOSED: return leat_close(w->sink[below(&chance, (unsigned)w->sinks)].ch);
    case CANCELLED: return leat_scope_cancel(w->s);
    default: return 0;
    }
}

/* ---- a program ---- */

static leat_chan *item_chan(struct world *w)
{
    leat_chan *ch = leat_chan_open(w->s, &(leat_chan_spec){ .item_size = sizeof(int),
                                                            .capacity = below(&w->chance, 4),
                                                            .drop = drop_item });
    CHECK(ch);
    return ch;
}

/* Opens the scope and the sources' channels; the caller adds the operator and the sinks'. */
static void world_open(struct world *w, const char *name, uint64_t *chance, int sources, int sinks)
{
    memset(w, 0, sizeof *w);
    memset(made, 0, sizeof made);
    memset(ended, 0, sizeof ended);
    w->name = name;
    w->send = send_items;
    w->receive = receive_items;
    w->chance = w->seed = lt_rng_next(chance);
    w->early = (enum early)(below(&w->chance, 2) ? below(&w->chance, EARLIES) : REGULARLY);
    w->whole = w->early == REGULARLY;
    snprintf(check_note, sizeof check_note, "%s, seed %#llx, %d sources, %d sinks, ending %d", name,
             (unsigned long long)w->chance, sources, sinks, w->early);
    w->s = leat_scope_open(
        w->early == DEADLINE ? leat_after((int64_t)below(&w->chance, 60) * LEAT_US) : LEAT_NEVER);
    w->sources = sources;
    w->sinks = sinks;
    for (int i = 0; i < sources; i++) {
        struct source *source = &w->source[i];
        source->world = w;
        source->ch = item_chan(w);
        source->length = (int)below(&w->chance, LENGTH + 1);
        source->chance = lt_rng_next(&w->chance);
        for (int k = 0; k < source->length; k++)
            source->items[k] = i * LENGTH + k;
    }
    for (int i = 0; i < sinks; i++)
        w->sink[i] =
            (struct sink){ .world = w,
                           .size = sizeof(int),
                           .note = note_item,
                           .enough = w->early == ENOUGH ? (int)below(&w->chance, 8) : INT32_MAX,
                           .chance = lt_rng_next(&w->chance) };
}

/* Sources and sinks run as tasks or as blocking tasks. */
static void world_go(struct world *w, leat_fn *fn, void *arg)
{
    CHECK_IS(0, below(&w->chance, 8) ? leat_go(w->s, fn, arg) : leat_go_blocking(w->s, fn, arg));
}

/* Runs the program until the sinks have left. Then it closes the inputs, which may have items. */
static void world_run(struct world *w)
{
    w->left = leat_latch(NULL, (unsigned)w->sinks);
    for (int i = 0; i < w->sinks; i++)
        world_go(w, w->receive, &w->sink[i]);
    for (int i = 0; i < w->sources; i++)
        world_go(w, w->send, &w->source[i]);
    world_go(w, end_early, w);
    leat_shield();
    CHECK_IS(0, leat_latch_wait(w->left, LEAT_NEVER));
    leat_unshield();
    for (int i = 0; i < w->sources; i++)
        CHECK_IS(0, leat_close(w->source[i].ch));
}

/* Closes the scope. Every item has ended. */
static void world_close(struct world *w)
{
    int result = leat_scope_close(w->s);
    CHECK(result == 0 || (w->early == DEADLINE && result == -ETIMEDOUT) || result == w->verdict);
    CHECK_IS(0, leat_chan_unref(w->left));
    check_ledger();
}

/* ---- comparing ---- */

/* The sink got what the loop made, or the beginning of it after an early end. */
__attribute__((unused)) static void check_same(const struct sink *sink, const int *expected, int n)
{
    for (int i = 0; i < sink->n; i++) {
        if (i >= n || sink->got[i] != expected[i])
            check_failed(__FILE__, __LINE__, "output %d is %d, and not %d", i, sink->got[i],
                         i < n ? expected[i] : -1);
    }
    if (sink->world->whole)
        CHECK_IS(n, sink->n);
}

/* The sinks together got all items of each source, each sink in order; some, after an early end. */
__attribute__((unused)) static void check_per_source(const struct world *w, int first, int sinks)
{
    int count[SOURCES] = { 0 };
    for (int k = first; k < first + sinks; k++) {
        int last[SOURCES];
        for (int i = 0; i < SOURCES; i++)
            last[i] = -1;
        for (int i = 0; i < w->sink[k].n; i++) {
            int id = w->sink[k].got[i], source = id / LENGTH;
            CHECK(id > last[source]);
            last[source] = id;
            count[source]++;
        }
    }
    for (int i = 0; i < w->sources; i++) {
        CHECK(count[i] <= w->source[i].sent);
        if (w->whole)
            CHECK_IS(w->source[i].length, count[i]);
    }
}

/* A test body: three programs of each operator for a seed, or as many as fit into a second. */
typedef void operator_fn(uint64_t *chance);

__attribute__((unused)) static int run_operators(operator_fn *const *operators, int n)
{
    uint64_t chance = seed_of_test();
    int64_t end = leat_now() + LEAT_S;
    int rounds = leat_sim_running() ? 3 : 5000 / SCALE;
    for (int round = 0; round < rounds && (round == 0 || leat_now() < end); round++)
        for (int i = 0; i < n; i++)
            operators[i](&chance);
    return 0;
}
