/* batches.h: for test_batch_model.c and test_batch_threads.c: what a round consists of, a record of
 * each run of items, and what a call may return.
 *
 * The caller fills in a run's record before the call, and the function when it sees the run. Only
 * the batcher orders access to fields that are not atomic; ThreadSanitizer checks that. */
#pragma once

#include "support.h"

#include <leat/batch.h>

enum caller_kind { A_TASK, A_THREAD, A_STRANGER, A_BLOCK, A_CALLBACK, CALLER_KINDS };
enum event { NOTHING, CLOSE, CANCEL_CALLERS, CANCEL_BATCHERS, DEADLINE, EVENTS };
/* Which scope is inside the other. In ONE_SCOPE the batchers close while they are in use. */
enum layout { CALLERS_INSIDE, BATCHERS_INSIDE, ONE_SCOPE, LAYOUTS };
/* REFUSED: by the call's result, the run is in no batch. LEFT: the caller did not wait for one. */
enum fate { UNTRIED, PUT, SERVED, LEFT, REFUSED };

static const char *const event_names[] = { "nothing", "close", "cancel callers", "cancel batchers",
                                           "deadline" };
static const char *const layout_names[] = { "callers inside", "batchers inside", "one scope" };

enum {
    BATCHERS = 2,
    KEYS = 3,
    MOST_CALLERS = 8,
    MOST_RUNS = 8,
    LONGEST = 4,
    HELD = 3,
    LARGEST_ITEM = 40,
    LARGEST_RESULT = 33,
    UNTOUCHED = 0xA5
};

struct run {
    struct batcher *batcher;
    unsigned id, n, weight; /* weight: bytes that an item counts for */
    uint64_t key;
    bool single;        /* put by a call for one item */
    bool closed_before; /* the batcher was closed before the call */
    bool doomed;        /* the caller's scope was cancelled before the call */
    bool surely_put, maybe_put;
    uint64_t begun_before, ended_before; /* executions of the key before the call */
    int64_t called_at;
    unsigned order; /* the call's number; 0: not called yet */
    int64_t until;  /* if `exact`: by then the caller has left or the batch has begun */
    _Atomic int64_t awaited_since;
    _Atomic bool seen, refused;
    enum fate fate;
    bool over; /* the function has returned */
    int whole; /* what it returned */
    int said[LONGEST];
};

/* Only one party at a time may use these: the function, and the data that its lock protects. */
struct group {
    leat_mutex *lock;
    bool inside;
    int64_t left_at;
    uint64_t chance;
};

struct batcher {
    struct round *round;
    leat_batcher *batcher;
    leat_batcher_spec spec;
    struct group *group;
    _Atomic bool closing, closed;
    _Atomic uint64_t begun[KEYS], ended[KEYS];
    uint64_t executions, items, sizes[LEAT_BATCH_SIZES];
    int64_t waited_at_most, ran_at_least;
};

struct held {
    struct run *run;
    leat_ticket ticket;
};

struct caller {
    struct round *round;
    enum caller_kind kind;
    unsigned index, made, limit, depth;
    uint64_t chance;
    struct run runs[MOST_RUNS];
    struct held held[HELD];
    leat_scope *own; /* a stranger's scope */
    struct foreign thread;
    /* A block or callback keeps this between its steps. */
    struct run *run;
    leat_block block;
    leat_alarm alarm;
    leat_ticket ticket;
    leat_batch_op op;
    bool fickle; /* a callback that is withdrawn now and then */
    _Atomic uint64_t turn;
    int status;
    unsigned char item[LARGEST_ITEM], result[LARGEST_RESULT];
};

struct round {
    uint64_t chance;
    bool patient; /* no caller leaves early */
    bool exact;   /* what need not wait takes no time */
    enum event event;
    enum layout layout;
    int64_t delay, deadline;
    leat_scope *scope, *callers_scope, *batchers_scope; /* the first is around both */
    leat_chan *left;                                    /* a latch: callers that have not left */
    unsigned batchers_used, callers_used;
    bool event_by_task, closes_both;
    _Atomic unsigned fickle, calls;
    pthread_mutex_t lock; /* of the strangers' scopes */
    _Atomic bool thrown;
    struct group groups[BATCHERS];
    struct batcher batchers[BATCHERS];
    struct caller callers[MOST_CALLERS + 1]; /* the last: one function's calls to another batcher */
    struct run probes[BATCHERS];             /* no call succeeds in putting them */
};

/* How often each outcome occurred in all rounds: a test that never gets there shows nothing. */
enum happening {
    RETURNED_0,
    RETURNED_OTHERWISE,
    RETURNED_NOTHING_DONE,
    RETURNED_WHOLE,
    GONE_LATE,
    GONE_IN_TIME,
    TOO_LATE_TO_PUT,
    DEADLOCKS,
    NOT_NOW,
    WITHDRAWN,
    SHARED,
    HAPPENINGS
};
static const char *const happening_names[] = {
    "returned 0",   "returned otherwise", "not done", "whole failures", "left late", "left in time",
    "put too late", "would deadlock",     "not now",  "withdrawn",      "shared",
};
static _Atomic uint64_t happenings[HAPPENINGS];

static void happened(enum happening happening)
{
    atomic_fetch_add_explicit(&happenings[happening], 1, memory_order_relaxed);
}

/* ---- items and results ---- */

static unsigned char item_byte(unsigned id, size_t i)
{
    return (unsigned char)(i < 4 ? id >> (8 * i) : id * 31 + i);
}

static unsigned char result_byte(unsigned id, size_t i)
{
    return (unsigned char)(id * 37 + i * 11 + 5);
}

static void pack(const struct run *run, void *items)
{
    unsigned char *byte = items;
    size_t size = run->batcher->spec.item_size;
    for (unsigned place = 0; place < run->n; place++)
        for (size_t i = 0; i < size; i++)
            *byte++ = item_byte(run->id * LONGEST + place, i);
}

/* The run of an item and the item's place in it. All bytes must be those that were put. */
static struct run *unpack(const struct batcher *b, const void *item, unsigned *place)
{
    const unsigned char *bytes = item;
    unsigned id = bytes[0] | (unsigned)bytes[1] << 8 | (unsigned)bytes[2] << 16;
    for (size_t i = 0; i < b->spec.item_size; i++)
        CHECK_IS(item_byte(id, i), bytes[i]);
    unsigned run_id = id / LONGEST, caller = run_id / MOST_RUNS, number = run_id % MOST_RUNS;
    CHECK(caller <= MOST_CALLERS + 1 && (caller <= MOST_CALLERS || number < BATCHERS));
    struct run *run = caller <= MOST_CALLERS ? &b->round->callers[caller].runs[number]
                                             : &b->round->probes[number];
    CHECK_IS(run_id, run->id);
    CHECK(run->batcher == b);
    if (place)
        *place = id % LONGEST;
    return run;
}

/* Asks the batcher for its counts, which is allowed where it holds no lock. */
static void ask(const struct batcher *b)
{
    leat_batcher_counts counts;
    CHECK_IS(0, leat_batcher_count(b->batcher, &counts));
    CHECK(counts.items >= counts.batches);
}

static uint64_t key_of(void *arg, const void *item)
{
    const struct run *run = unpack(arg, item, NULL);
    if (run->id % 8 == 0)
        ask(arg);
    return run->key;
}

static size_t bytes_of(void *arg, const void *item)
{
    return unpack(arg, item, NULL)->weight;
}

/* ---- putting ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct batcher *some_batcher(struct round *round, uint64_t *chance)
{
    return &round->batchers[below(chance, round->batchers_used)];
}

/* A new run of up to n items, ready to be put. NULL: the caller has made all of its runs. */
static struct run *new_run(struct caller *c, struct batcher *b, unsigned n)
{
    if (c->made == MOST_RUNS)
        return NULL;
    struct run *run = &c->runs[c->made];
    run->id = c->index * MOST_RUNS + c->made++;
    run->batcher = b;
    run->n = b->spec.most && n > b->spec.most ? (unsigned)b->spec.most : n;
    run->weight = 1 + below(&c->chance, 4);
    run->key = b->spec.key ? below(&c->chance, KEYS) : 0;
    return run;
}

static void note_deadline(struct run *run, int64_t deadline)
{
    if (run->batcher->round->exact)
        run->until = later(deadline, leat_now());
}

/* Call this right before the call that puts the run. */
static void note_call(struct run *run, bool waits)
{
    struct batcher *b = run->batcher;
    run->called_at = leat_now();
    run->order = atomic_fetch_add(&b->round->calls, 1) + 1;
    note_deadline(run, LEAT_NEVER);
    atomic_store_explicit(&run->awaited_since, waits ? run->called_at : LEAT_NEVER,
                          memory_order_relaxed);
    run->begun_before = atomic_load(&b->begun[run->key]);
    run->ended_before = atomic_load(&b->ended[run->key]);
    run->closed_before = atomic_load(&b->closed);
}

/* ---- what a call returns ---- */

static bool is_cancelled(const struct caller *c)
{
    return c->kind < A_BLOCK ? leat_cancelled(NULL) : leat_cancelled(c->round->callers_scope);
}

static void check_untouched(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_IS(UNTOUCHED, ((const unsigned char *)bytes)[i]);
}

static void check_result(const struct run *run, unsigned place, const unsigned char *result)
{
    for (size_t i = 0; i < run->batcher->spec.result_size; i++)
        CHECK_IS(result_byte(run->id * LONGEST + place, i), result[i]);
}

/* `status` is the first item's status that is not 0. `statuses` holds each item's own status, and
 * `results` the results of items whose status is 0. */
static void check_served(struct run *run, int status, const int *statuses, const void *results)
{
    if (!atomic_load(&run->seen))
        check_failed(__FILE__, __LINE__, "returned %d, and not seen", status);
    CHECK(run->over);
    int first = 0;
    for (unsigned i = 0; i < run->n; i++) {
        int said = run->whole ? run->whole : run->said[i];
        first = first ? first : said;
        if (statuses)
            CHECK_IS(said, statuses[i]);
        if (results && said == 0)
            check_result(run, i,
                         (const unsigned char *)results + i * run->batcher->spec.result_size);
    }
    CHECK_IS(first, status);
    if (run->single && results && status)
        check_untouched(results, run->batcher->spec.result_size);
    run->fate = SERVED;
    happened(run->whole                ? RETURNED_WHOLE
             : status == LEAT_NOT_DONE ? RETURNED_NOTHING_DONE
             : status                  ? RETURNED_OTHERWISE
                                       : RETURNED_0);
}

/* From now on the run is in no batch, and it has been in none. */
static void refuse(struct run *run)
{
    atomic_store(&run->refused, true);
    CHECK(!atomic_load(&run->seen));
    run->fate = REFUSED;
}

/* Without a result the run may be served or not. If its batch cannot have begun, it will not be. */
static void leave_run(struct run *run)
{
    run->fate = LEFT;
    run->maybe_put = true;
    bool seen = atomic_load(&run->seen);
    happened(seen ? GONE_LATE : GONE_IN_TIME);
    if (!seen && IN_SIM && !run->batcher->spec.blocking)
        atomic_store(&run->refused, true);
}

/* Checks the result of a call that put the run, or that waited for it. */
static void check_returned(struct caller *c, struct run *run, int status, const int *statuses,
                           const void *results, int64_t deadline)
{
    const struct batcher *b = run->batcher;
    switch (status) {
    case -EPIPE:
        CHECK(atomic_load(&b->closing) && !run->surely_put);
        happened(TOO_LATE_TO_PUT);
        refuse(run);
        break;
    case -EAGAIN:
        CHECK(deadline == LEAT_NOW);
        happened(NOT_NOW);
        atomic_store_explicit(&run->awaited_since, LEAT_NEVER, memory_order_relaxed);
        note_deadline(run, LEAT_NEVER);
        run->maybe_put = true; /* and taken back */
        if (!run->surely_put)
            refuse(run);
        break;
    case -ETIMEDOUT:
        CHECK(deadline != LEAT_NOW && leat_now() >= deadline);
        CHECK(!c->round->exact || leat_now() <= later(deadline, run->awaited_since));
        leave_run(run);
        break;
    case -ECANCELED:
        CHECK(is_cancelled(c));
        leave_run(run);
        break;
    default:
        CHECK(!run->closed_before && !run->doomed);
        check_served(run, status, statuses, results);
        return;
    }
    if (statuses)
        check_untouched(statuses, run->n * sizeof *statuses);
    if (results)
        check_untouched(results, run->n * b->spec.result_size);
}

/* The call must fail with `expected`, since it would never end or is wrong, and so puts nothing.
 * Closing or cancelling may come first. */
static void refused(const struct batcher *b, bool cancelled, int expected, int status)
{
    CHECK(status == expected || (status == -EPIPE && atomic_load(&b->closing)) ||
          (status == -ECANCELED && cancelled));
    if (status == -EDEADLK)
        happened(DEADLOCKS);
}
