/* batches.h: for test_batch_model.c and test_batch_threads.c: what a round is made of, what it records of each
 * run of items, and what a caller may be told.
 *
 * Each run of items has a record, which its caller fills in before the call, and the function when it sees the
 * run. What is not atomic in it is ordered by the batcher alone, or ThreadSanitizer says so. */
#ifndef LEAT_TESTS_BATCHES_H
#define LEAT_TESTS_BATCHES_H

#include "support.h"

#include <leat/batch.h>

enum caller_kind { A_TASK, A_THREAD, A_STRANGER, A_BLOCK, A_CALLBACK, CALLER_KINDS };
enum event { NOTHING, CLOSE, CANCEL_CALLERS, CANCEL_BATCHERS, DEADLINE, EVENTS };
/* Whose scope is inside the other's; in one scope, the batchers are closed while they are in use. */
enum layout { CALLERS_INSIDE, BATCHERS_INSIDE, ONE_SCOPE, LAYOUTS };
/* REFUSED: told something by which it cannot be in a batch. LEFT: did not wait to see. */
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
    unsigned id, n, weight; /* weight: bytes an item stands for */
    uint64_t key;
    bool single;        /* put by a call for one item */
    bool closed_before; /* the batcher, when it was put */
    bool doomed;        /* its caller's scope was cancelled before the call */
    bool surely_put, maybe_put;
    uint64_t begun_before, ended_before; /* executions of the key, when it was put */
    int64_t called_at;
    unsigned order; /* of the calls; 0: not called yet */
    int64_t
        until; /* its caller has left by then, or its batch has begun; looked at where the clock is exact */
    _Atomic int64_t awaited_since;
    _Atomic bool seen, refused;
    enum fate fate;
    bool over; /* the function has returned */
    int whole; /* what it returned */
    int said[LONGEST];
};

/* Of what only one at a time may use: the function, and who holds the lock. */
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
    leat_scope *own; /* a stranger's */
    struct foreign thread;
    /* What a block or callback keeps. */
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
    bool patient; /* nobody leaves */
    bool exact;   /* what nobody has to wait for takes no time */
    enum event event;
    enum layout layout;
    int64_t delay, deadline;
    leat_scope *scope, *callers_scope, *batchers_scope; /* the first is around both */
    leat_chan *left;                                    /* a latch: callers that have not */
    unsigned batchers_used, callers_used;
    bool event_by_task, closes_both;
    _Atomic unsigned fickle, calls;
    pthread_mutex_t lock; /* of the strangers' scopes */
    _Atomic bool thrown;
    struct group groups[BATCHERS];
    struct batcher batchers[BATCHERS];
    struct caller callers[MOST_CALLERS + 1]; /* the last: calls from one function to another */
    struct run probes[BATCHERS];             /* never to be put */
};

/* How often each kind of thing happened, over all rounds: a test that never gets there shows nothing. */
enum happening {
    TOLD_0,
    TOLD_OTHERWISE,
    TOLD_NOTHING_DONE,
    TOLD_WHOLE,
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
    "told 0",       "told otherwise", "not done", "whole failures", "left late", "left in time",
    "put too late", "would deadlock", "not now",  "withdrawn",      "shared",
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

/* The run of an item, and which of it: all bytes are those that were put. */
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

/* No lock is held: the batcher may be asked. */
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

/* A new run of up to n items, ready to be put; NULL: it has had all of its own. */
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

/* Right before the call. */
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

/* ---- what a caller is told ---- */

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

/* Status is the first that is not 0; each item's own stand in `statuses`, and results where it is 0. */
static void check_served(struct run *run, int status, const int *statuses, const void *results)
{
    if (!atomic_load(&run->seen))
        check_failed(__FILE__, __LINE__, "told %d, and not seen", status);
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
    happened(run->whole                ? TOLD_WHOLE
             : status == LEAT_NOT_DONE ? TOLD_NOTHING_DONE
             : status                  ? TOLD_OTHERWISE
                                       : TOLD_0);
}

/* It can be in no batch from now on; nor, if it is so for sure, have been. */
static void refuse(struct run *run)
{
    atomic_store(&run->refused, true);
    CHECK(!atomic_load(&run->seen));
    run->fate = REFUSED;
}

/* It did not wait to see: nobody needs to know; but when its batch cannot have begun, it will not see it. */
static void leave_run(struct run *run)
{
    run->fate = LEFT;
    run->maybe_put = true;
    bool seen = atomic_load(&run->seen);
    happened(seen ? GONE_LATE : GONE_IN_TIME);
    if (!seen && IN_SIM && !run->batcher->spec.blocking)
        atomic_store(&run->refused, true);
}

/* What came of a call that put the run, or of waiting for one that was put before. */
static void told(struct caller *c, struct run *run, int status, const int *statuses,
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

/* A call that can be seen to be never to end, or to be wrong: so it puts nothing. Some other reason may come
 * first. */
static void refused(const struct batcher *b, bool cancelled, int expected, int status)
{
    CHECK(status == expected || (status == -EPIPE && atomic_load(&b->closing)) ||
          (status == -ECANCELED && cancelled));
    if (status == -EDEADLK)
        happened(DEADLOCKS);
}

#endif
