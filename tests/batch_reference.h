/* batch_reference.h: for test_batch_exact.c: a batcher as leat/batch.h describes it, in one thread,
 * made of lists and of events at known times. No two events have the same time. So it says exactly
 * which batch begins when, with which items in which order, which party leads it, and what each
 * call returns at which moment. */
#pragma once

#include "support.h"

#include <leat/batch.h>

enum { BATCHERS = 2, KEYS = 3, CALLERS = 6, STEPS = 80, LONGEST = 3, NO_RUN = -1 };
/* Who leads, besides a caller: STAND_IN leads for blocks and callbacks. */
enum { STAND_IN = CALLERS, NO_ONE, UNKNOWN };

struct ref_batch {
    int batcher;
    uint64_t key;
    enum { FORMS, RUNS, DONE, GONE } state; /* GONE: all callers left before it began */
    int runs[STEPS], count;                 /* in the order in which they were put */
    size_t n, bytes;
    int64_t first, begin, end;
    int waiters[CALLERS + 1], waiting; /* in the order in which they began to wait */
    int leader;
    bool has_stand_in, lingers;
    bool outgrown; /* an item did not fit, so the batch does not grow any more */
};

struct ref_lock {
    bool kept; /* by the test itself */
    struct ref_batch *holder, *queue[STEPS];
    int queued;
};

struct ref_caller {
    int run; /* that it waits for, or NO_RUN */
    bool stands_aside;
    int64_t deadline, scope_deadline;
    bool returned, served; /* served: `status` is that of the run */
    int status;
    int64_t at;
};

struct execution {
    int batcher, leader, n;
    uint64_t key;
    int64_t begin;
    int items[STEPS * LONGEST];
};

static struct {
    uint64_t seed;
    int64_t now;
    leat_batcher_spec spec[BATCHERS];
    bool closed[BATCHERS], at_once; /* at_once: the function takes no time */
    leat_batcher_counts counts[BATCHERS];
    struct ref_lock locks[BATCHERS], *lock[BATCHERS];
    struct ref_batch batches[STEPS]; /* the youngest is the last */
    int made;
    struct {
        int batcher, n;
        struct ref_batch *batch;
    } runs[STEPS];
    struct ref_caller callers[CALLERS];
    struct execution executions[STEPS];
    int executed;
} ref;

/* ---- what runs and items are like: functions of their numbers ---- */

static unsigned trait(int number, unsigned which, unsigned bound)
{
    uint64_t chance = ref.seed + (uint64_t)number * 16 + which;
    return below(&chance, bound);
}

static uint64_t key_of_run(int run)
{
    return ref.spec[ref.runs[run].batcher].key ? trait(run, 0, KEYS) : 0;
}

static size_t bytes_of_run(int run)
{
    const leat_batcher_spec *spec = &ref.spec[ref.runs[run].batcher];
    return (size_t)ref.runs[run].n * (spec->bytes ? 1 + trait(run, 1, 4) : spec->item_size);
}

/* The status that the function sets for an item. */
static int said_of(int id)
{
    unsigned how = trait(id, 2, 8);
    return how == 0 ? LEAT_NOT_DONE : how == 1 ? -(2000 + id) : 0;
}

/* What the function returns for a batch whose first run this is. */
static int whole_of(int first)
{
    return trait(first, 3, 6) ? 0 : -(1000 + first);
}

/* When the function ends. A run is the first of one batch at most, so no two have the same end. */
static int64_t end_of(int first, int64_t begin)
{
    unsigned length = trait(first, 4, 60);
    if (ref.at_once || length < 10)
        return begin;
    return begin - begin % LEAT_US + length * LEAT_US + 700 + first;
}

static int item_status(int id)
{
    int whole = whole_of(ref.runs[id / LONGEST].batch->runs[0]);
    return whole ? whole : said_of(id);
}

static int status_of(int run)
{
    int status = 0;
    for (int i = 0; i < ref.runs[run].n && !status; i++)
        status = item_status(run * LONGEST + i);
    return status;
}

/* ---- lists ---- */

static int remove_number(int *numbers, int count, int number)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (numbers[i] != number)
            numbers[kept++] = numbers[i];
    return kept;
}

static void leave_queue(struct ref_batch *batch)
{
    struct ref_lock *lock = ref.lock[batch->batcher];
    int kept = 0;
    for (int i = 0; i < lock->queued; i++)
        if (lock->queue[i] != batch)
            lock->queue[kept++] = lock->queue[i];
    lock->queued = kept;
}

/* ---- leading ---- */

static void returns(int caller, int status, bool served)
{
    struct ref_caller *c = &ref.callers[caller];
    c->run = NO_RUN;
    c->returned = true;
    c->status = status;
    c->served = served;
    c->at = ref.now;
}

static bool is_full(const leat_batcher_spec *spec, size_t n, size_t bytes)
{
    return (spec->most && n >= spec->most) || (spec->most_bytes && bytes >= spec->most_bytes);
}

static bool is_enough(const leat_batcher_spec *spec, size_t n, size_t bytes)
{
    return is_full(spec, n, bytes) || (spec->least && n >= spec->least) ||
           (spec->least_bytes && bytes >= spec->least_bytes);
}

static bool must_linger(const struct ref_batch *batch)
{
    const leat_batcher_spec *spec = &ref.spec[batch->batcher];
    return spec->linger && !ref.closed[batch->batcher] && !batch->outgrown &&
           !is_enough(spec, batch->n, batch->bytes) && ref.now < batch->first + spec->linger;
}

static void finish(struct ref_batch *batch)
{
    batch->state = DONE;
    ref.counts[batch->batcher].ran += ref.now - batch->begin;
    ref.lock[batch->batcher]->holder = NULL;
    for (int i = 0; i < CALLERS; i++) {
        int run = ref.callers[i].run;
        if (run != NO_RUN && ref.runs[run].batch == batch)
            returns(i, status_of(run), true);
    }
}

static void begin(struct ref_batch *batch)
{
    leat_batcher_counts *counts = &ref.counts[batch->batcher];
    struct execution *e = &ref.executions[ref.executed++];
    *e = (struct execution){
        .batcher = batch->batcher, .leader = batch->leader, .key = batch->key, .begin = ref.now
    };
    for (int i = 0; i < batch->count; i++)
        for (int k = 0; k < ref.runs[batch->runs[i]].n; k++)
            e->items[e->n++] = batch->runs[i] * LONGEST + k;
    batch->state = RUNS;
    batch->begin = ref.now;
    batch->end = end_of(batch->runs[0], ref.now);
    ref.lock[batch->batcher]->holder = batch;
    counts->batches++;
    counts->items += batch->n;
    counts->waited += ref.now - batch->first;
    counts->sizes[batch->n < LEAT_BATCH_SIZES - 1 ? batch->n : LEAT_BATCH_SIZES - 1]++;
    if (batch->end == ref.now)
        finish(batch);
}

static bool is_free(const struct ref_lock *lock)
{
    return !lock->kept && !lock->holder && !lock->queued;
}

static void let_in(struct ref_lock *lock)
{
    while (!lock->kept && !lock->holder && lock->queued) {
        struct ref_batch *batch = lock->queue[0];
        leave_queue(batch);
        begin(batch);
    }
}

static void ask_for_lock(struct ref_batch *batch)
{
    struct ref_lock *lock = ref.lock[batch->batcher];
    batch->lingers = false;
    lock->queue[lock->queued++] = batch;
    let_in(lock);
}

static void find_leader(struct ref_batch *batch)
{
    if (batch->leader != NO_ONE || !batch->waiting || batch->state != FORMS)
        return;
    batch->leader = batch->waiters[0];
    batch->lingers = must_linger(batch);
    if (!batch->lingers)
        ask_for_lock(batch);
}

/* A leader stops to linger when there is no reason left. */
static void look_again(struct ref_batch *batch)
{
    if (batch->lingers && !must_linger(batch))
        ask_for_lock(batch);
}

/* ---- putting and leaving ---- */

static struct ref_batch *youngest(int batcher, uint64_t key)
{
    for (int i = ref.made - 1; i >= 0; i--)
        if (ref.batches[i].state == FORMS && ref.batches[i].batcher == batcher &&
            ref.batches[i].key == key)
            return &ref.batches[i];
    return NULL;
}

static bool fits(const struct ref_batch *batch, int run)
{
    const leat_batcher_spec *spec = &ref.spec[batch->batcher];
    return (!spec->most || batch->n + (size_t)ref.runs[run].n <= spec->most) &&
           (!spec->most_bytes || batch->bytes + bytes_of_run(run) <= spec->most_bytes);
}

static void ref_put(int run)
{
    int batcher = ref.runs[run].batcher;
    struct ref_batch *old = youngest(batcher, key_of_run(run)), *batch = old;
    if (!old || old->outgrown || !fits(old, run)) {
        batch = &ref.batches[ref.made++];
        *batch = (struct ref_batch){
            .batcher = batcher, .key = key_of_run(run), .first = ref.now, .leader = NO_ONE
        };
    }
    ref.runs[run].batch = batch;
    batch->runs[batch->count++] = run;
    batch->n += (size_t)ref.runs[run].n;
    batch->bytes += bytes_of_run(run);
    look_again(batch);
    if (old && old != batch) {
        old->outgrown = true;
        look_again(old);
    }
}

/* Takes a run out of its batch, unless that has begun. */
static void take_out(int run)
{
    struct ref_batch *batch = ref.runs[run].batch;
    if (batch->state != FORMS)
        return;
    batch->count = remove_number(batch->runs, batch->count, run);
    batch->n -= (size_t)ref.runs[run].n;
    batch->bytes -= bytes_of_run(run);
    ref.counts[batch->batcher].left += (uint64_t)ref.runs[run].n;
    if (batch->count)
        return;
    batch->state = GONE;
    batch->lingers = false;
    leave_queue(batch);
}

static void stop_waiting(struct ref_batch *batch, int waiter)
{
    batch->waiting = remove_number(batch->waiters, batch->waiting, waiter);
    if (batch->leader != waiter || batch->state == RUNS)
        return;
    batch->leader = NO_ONE;
    batch->lingers = false;
    leave_queue(batch);
    find_leader(batch);
}

/* A caller leaves, unless it leads a batch that has begun. Returns whether it has left. */
static bool ref_leave(int caller, int status)
{
    struct ref_caller *c = &ref.callers[caller];
    int run = c->run;
    struct ref_batch *batch = ref.runs[run].batch;
    if (batch->state == RUNS && batch->leader == caller) {
        c->deadline = c->scope_deadline = LEAT_NEVER;
        return false;
    }
    returns(caller, status, false);
    take_out(run);
    if (!c->stands_aside)
        stop_waiting(batch, caller);
    return true;
}

/* `keeps`: -EAGAIN leaves the run in its batch, since there is a ticket for it. */
static void ref_await(int caller, int run, bool stands_aside, bool keeps, int64_t deadline,
                      int64_t scope_deadline)
{
    struct ref_batch *batch = ref.runs[run].batch;
    if (batch->state == DONE) {
        returns(caller, status_of(run), true);
        return;
    }
    bool at_once = batch->state == FORMS && batch->leader == NO_ONE && !must_linger(batch) &&
                   is_free(ref.lock[batch->batcher]);
    if (deadline <= ref.now && !at_once) {
        if (deadline != LEAT_NOW || !keeps)
            take_out(run);
        returns(caller, deadline == LEAT_NOW ? -EAGAIN : -ETIMEDOUT, false);
        return;
    }
    struct ref_caller *c = &ref.callers[caller];
    c->run = run;
    c->stands_aside = stands_aside;
    c->deadline = deadline > ref.now ? deadline : LEAT_NEVER;
    c->scope_deadline = scope_deadline;
    if (!stands_aside)
        batch->waiters[batch->waiting++] = caller;
    else if (!batch->has_stand_in)
        batch->waiters[batch->waiting++] = STAND_IN;
    batch->has_stand_in |= stands_aside;
    find_leader(batch);
}

static void ref_call(int caller, int run, bool stands_aside, int64_t deadline,
                     int64_t scope_deadline)
{
    if (ref.closed[ref.runs[run].batcher]) {
        returns(caller, -EPIPE, false);
        return;
    }
    if (deadline == LEAT_NOW && !is_free(ref.lock[ref.runs[run].batcher])) {
        returns(caller, -EAGAIN, false); /* and no item has been put */
        return;
    }
    ref_put(run);
    ref_await(caller, run, stands_aside, false, deadline, scope_deadline);
}

static void ref_close(int batcher)
{
    ref.closed[batcher] = true;
    for (int i = 0; i < ref.made; i++)
        if (ref.batches[i].batcher == batcher)
            look_again(&ref.batches[i]);
}

/* ---- time ---- */

static int64_t next_event(void)
{
    int64_t next = LEAT_NEVER;
    for (int i = 0; i < ref.made; i++) {
        const struct ref_batch *batch = &ref.batches[i];
        int64_t at = batch->state == RUNS ? batch->end
                     : batch->lingers     ? batch->first + ref.spec[batch->batcher].linger
                                          : LEAT_NEVER;
        next = at < next ? at : next;
    }
    for (int i = 0; i < CALLERS; i++) {
        const struct ref_caller *c = &ref.callers[i];
        if (c->run != NO_RUN && c->deadline < next)
            next = c->deadline;
        if (c->run != NO_RUN && c->scope_deadline < next)
            next = c->scope_deadline;
    }
    return next;
}

/* Lets everything happen that happens until then. */
static void ref_until(int64_t time)
{
    while ((ref.now = next_event()) <= time) {
        for (int i = 0; i < ref.made; i++) {
            struct ref_batch *batch = &ref.batches[i];
            look_again(batch);
            if (batch->state == RUNS && batch->end == ref.now) {
                finish(batch);
                let_in(ref.lock[batch->batcher]);
            }
        }
        for (int i = 0; i < CALLERS; i++) {
            struct ref_caller *c = &ref.callers[i];
            if (c->run != NO_RUN && c->scope_deadline == ref.now)
                ref_leave(i, -ECANCELED);
            else if (c->run != NO_RUN && c->deadline == ref.now)
                ref_leave(i, -ETIMEDOUT);
        }
    }
    ref.now = time;
}

/* ---- where the order is open ---- */

/* True when a call would leave open which of two leaders asks first for the lock: its own, or one
 * that it stops from lingering; or whether a leader sees a run that is taken out at once. */
static bool leaves_order_open(int run, bool leaves_at_once)
{
    int batcher = ref.runs[run].batcher;
    const leat_batcher_spec *spec = &ref.spec[batcher];
    const struct ref_batch *batch = youngest(batcher, key_of_run(run));
    if (!batch || !batch->lingers)
        return false;
    size_t n = (size_t)ref.runs[run].n, bytes = bytes_of_run(run);
    if (fits(batch, run))
        return leaves_at_once && is_enough(spec, batch->n + n, batch->bytes + bytes);
    return leaves_at_once || is_enough(spec, n, bytes);
}

static int lingering(int batcher)
{
    int n = 0;
    for (int i = 0; i < ref.made; i++)
        n += ref.batches[i].batcher == batcher && ref.batches[i].lingers;
    return n;
}
