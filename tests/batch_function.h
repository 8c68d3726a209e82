/* batch_function.h: the function that serves batches in test_batch_model.c and
 * test_batch_threads.c. It checks everything that it receives. */
#pragma once

#include "batches.h"

/* Sums and times of one batch. */
struct tally {
    unsigned runs, last; /* last: the highest number of a call */
    size_t n, bytes;
    int64_t first, awaited; /* the earliest put; the earliest wait for a result */
    int64_t enough;         /* from then on no leader lingers; LEAT_NEVER: unknown */
};

static void tally_run(const struct batcher *b, struct tally *tally, const struct run *run,
                      int64_t now)
{
    CHECK(!b->round->exact || now <= run->until);
    const leat_batcher_spec *spec = &b->spec;
    int64_t since = atomic_load_explicit(&run->awaited_since, memory_order_relaxed);
    tally->runs++;
    tally->last = tally->last > run->order ? tally->last : run->order;
    tally->n += run->n;
    tally->bytes += run->n * (spec->bytes ? run->weight : spec->item_size);
    tally->first = tally->first < run->called_at ? tally->first : run->called_at;
    tally->awaited = tally->awaited < since ? tally->awaited : since;
    if (tally->enough == LEAT_NEVER && ((spec->least && tally->n >= spec->least) ||
                                        (spec->least_bytes && tally->bytes >= spec->least_bytes) ||
                                        (spec->most && tally->n >= spec->most) ||
                                        (spec->most_bytes && tally->bytes >= spec->most_bytes)))
        tally->enough = run->called_at;
}

/* When the first run was put that did not fit into this batch any more. */
static int64_t outgrown(const struct batcher *b, const struct tally *tally, uint64_t key)
{
    int64_t since = LEAT_NEVER;
    for (unsigned i = 0; i <= MOST_CALLERS; i++) {
        for (unsigned j = 0; j < b->round->callers[i].made; j++) {
            const struct run *run = &b->round->callers[i].runs[j];
            if (run->batcher == b && run->key == key && run->order > tally->last && !run->refused &&
                run->called_at < since)
                since = run->called_at;
        }
    }
    return since;
}

/* The batch did not begin before its linger was over, unless a run that did not fit ended the
 * linger (such a run is not seen here). Where the clock stands still while a party can run, the
 * batch did not begin late either. */
static void check_moment(const struct batcher *b, struct tally *tally, uint64_t key, int64_t now)
{
    const leat_batcher_spec *spec = &b->spec;
    int64_t lingered = tally->first + spec->linger;
    if (b->round->patient) {
        CHECK(tally->awaited < LEAT_NEVER);
        if (tally->enough == LEAT_NEVER && !spec->most && !spec->most_bytes)
            CHECK(now >= lingered);
    }
    if (b->round->patient && b->round->exact && !b->spec.blocking && spec->linger) {
        int64_t since = outgrown(b, tally, key);
        tally->enough = tally->enough < since ? tally->enough : since;
    }
    int64_t ready = tally->enough < lingered ? tally->enough : lingered;
    if (b->round->exact)
        CHECK(now <= later(later(tally->awaited, ready), b->group->left_at));
}

static void check_run(struct batcher *b, struct run *run, uint64_t begun)
{
    CHECK(!atomic_exchange(&run->seen, true));
    CHECK(!atomic_load(&run->refused));
    CHECK(!run->closed_before);
    if (b->spec.most || b->spec.most_bytes)
        return;
    /* At most the execution that was under way comes before the run's own. Where nothing lies
     * between a batch's beginning and its function, the run's own is the very next to begin. */
    CHECK(IN_SIM ? begun <= run->ended_before + 2 : true);
    if (IN_SIM && !b->spec.blocking)
        CHECK_IS(run->begun_before + 1, begun);
}

static void check_view(struct batcher *b, const leat_batch_view *view, uint64_t begun, int64_t now)
{
    CHECK(view->n >= 1);
    CHECK(!b->spec.most || view->n <= b->spec.most);
    CHECK_IS(0, (uintptr_t)view->items % 16);
    CHECK_IS(0, (uintptr_t)view->results % 16);
    CHECK_IS(0, (uintptr_t)view->status % 16);
    unsigned last[MOST_CALLERS + 1] = { 0 }, place;
    struct tally tally = { .first = LEAT_NEVER, .awaited = LEAT_NEVER, .enough = LEAT_NEVER };
    const unsigned char *item = view->items, *result = view->results;
    for (size_t i = 0; i < view->n; i++, item += b->spec.item_size) {
        struct run *run = unpack(b, item, &place);
        CHECK(b->spec.key ? run->key == view->key : view->key == 0);
        CHECK_IS(LEAT_NOT_DONE, view->status[i]);
        struct run *next_to = NULL;
        unsigned next_place = 0;
        if (i)
            next_to = unpack(b, item - b->spec.item_size, &next_place);
        if (next_to && next_place + 1 < next_to->n) {
            CHECK(run == next_to); /* a run stays whole and in order */
            CHECK_IS(next_place + 1, place);
            continue;
        }
        CHECK_IS(0, place);
        check_run(b, run, begun);
        unsigned caller = run->id / MOST_RUNS, number = run->id % MOST_RUNS + 1;
        CHECK(number > last[caller]); /* in the order in which they were put */
        last[caller] = number;
        tally_run(b, &tally, run, now);
    }
    CHECK_IS(0, unpack(b, item - b->spec.item_size, &place)->n - 1 - place);
    CHECK(!b->spec.most_bytes || tally.bytes <= b->spec.most_bytes || tally.runs == 1);
    for (size_t i = 0; i < view->n * b->spec.result_size; i++)
        CHECK_IS(0, result[i]);
    if (tally.runs > 1)
        happened(SHARED);
    check_moment(b, &tally, view->key, now);
    b->waited_at_most += now - tally.first;
}

/* Calls that might wait for the function, or for the caller's own lock, must return -EDEADLK. */
static void call_from_within(struct batcher *b, uint64_t *chance)
{
    struct round *round = b->round;
    struct batcher *asked = some_batcher(round, chance);
    if (asked->group != b->group)
        asked = b;
    unsigned char item[LARGEST_ITEM];
    leat_ticket ticket;
    int status;
    pack(&round->probes[asked - round->batchers], item);
    switch (below(chance, 4)) {
    case 0: status = leat_batch(asked->batcher, item, NULL); break;
    case 1: status = leat_batch_until(asked->batcher, item, NULL, leat_after(LEAT_S)); break;
    case 2: status = leat_batch_many(asked->batcher, item, 1, NULL, NULL, LEAT_NEVER); break;
    default: status = leat_batch_put(asked->batcher, item, 1, &ticket);
    }
    refused(asked, leat_cancelled(NULL), -EDEADLK, status);
    ask(asked);
}

/* Only the first batcher's function calls the second batcher, and only if their locks differ. */
static void call_another(struct batcher *b)
{
    struct caller *c = &b->round->callers[MOST_CALLERS];
    struct batcher *other = &b->round->batchers[1];
    if (b == other || b->round->batchers_used < BATCHERS || other->group == b->group)
        return;
    struct run *run = new_run(c, other, 1);
    if (!run)
        return;
    unsigned char item[LARGEST_ITEM], result[LARGEST_RESULT];
    memset(result, UNTOUCHED, sizeof result);
    pack(run, item);
    run->single = true;
    int64_t deadline =
        b->round->patient || below(&c->chance, 2) ? LEAT_NEVER : leat_after(20 * LEAT_US);
    note_call(run, true);
    int status = leat_batch_until(other->batcher, item, result, deadline);
    check_returned(c, run, status, NULL, result, deadline);
}

/* Sets the status and the result of one item. */
static void speak(const struct batcher *b, leat_batch_view *view, size_t i, uint64_t *chance)
{
    unsigned place;
    struct run *run = unpack(b, (const unsigned char *)view->items + i * b->spec.item_size, &place);
    unsigned id = run->id * LONGEST + place;
    switch (below(chance, 6)) {
    case 0: break;
    case 1: view->status[i] = -(2000 + (int)id); break;
    default: view->status[i] = 0;
    }
    run->said[place] = view->status[i];
    for (size_t j = 0; j < b->spec.result_size; j++)
        ((unsigned char *)view->results)[i * b->spec.result_size + j] = result_byte(id, j);
}

/* No cancel ends the function's waits. */
static void pause_within(uint64_t *chance)
{
    switch (below(chance, 6)) {
    case 0: CHECK_IS(0, leat_sleep((int64_t)below(chance, 80) * LEAT_US)); break;
    case 1: leat_yield(); break;
    case 2: leat_sim_point(); break;
    default:;
    }
}

static int serve(void *arg, leat_batch_view *view)
{
    struct batcher *b = arg;
    struct group *group = b->group;
    int64_t now = leat_now();
    CHECK(!group->inside);
    group->inside = true;
    uint64_t chance = lt_rng_next(&group->chance);
    CHECK(view->key < KEYS);
    check_view(b, view, atomic_fetch_add(&b->begun[view->key], 1) + 1, now);
    b->executions++;
    b->items += view->n;
    b->sizes[view->n < LEAT_BATCH_SIZES - 1 ? view->n : LEAT_BATCH_SIZES - 1]++;
    pause_within(&chance);
    for (size_t i = 0; i < view->n; i++)
        speak(b, view, i, &chance);
    switch (below(&chance, 8)) {
    case 0: call_from_within(b, &chance); break;
    case 1: call_another(b); break;
    default:;
    }
    pause_within(&chance);
    int whole = below(&chance, 6) ? 0 : -(1000 + (int)(b->executions % 1000));
    unsigned place;
    for (size_t i = 0; i < view->n; i++) {
        struct run *run =
            unpack(b, (const unsigned char *)view->items + i * b->spec.item_size, &place);
        run->whole = whole;
        run->over = true;
    }
    CHECK(group->inside);
    group->inside = false;
    atomic_fetch_add(&b->ended[view->key], 1);
    group->left_at = leat_now();
    b->ran_at_least += group->left_at - now;
    return whole;
}
