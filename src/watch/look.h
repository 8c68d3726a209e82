/* look.h: one look at everything that exists, while the program runs. A dump prints it (tell.h).
 *
 * Nothing is registered for a look, beyond the lists that scopes have anyway, a list of the scopes
 * without a parent and a list of the channels without a scope. So a look finds things in different
 * places, and reads each in its own way:
 *  - scopes: from the roots down. Each is pinned under the lock of the one around it, so that none
 *    is freed during the look;
 *  - parties in a channel's queue: under the channel's lock, where they do not resume;
 *  - tasks that have parked: on their home worker, between tasks, where they cannot run. Each
 *    worker gets a job that records its own tasks. A worker that has not come to its job after
 *    LT_ANSWER_MS is left alone;
 *  - call stacks, if they are wanted: of the same tasks at the same time; of a task that a worker
 *    runs, in its own thread (watch/frames.h);
 *  - blocks that await a block: they do not resume while that block is on its scope's list;
 *  - blocks with an alarm: in the wheel of their worker, read by that worker;
 *  - tasks and blocks that have not started, and the party that a worker runs if it does not
 *    answer: read without protection, and believed if they were still in their place afterwards
 *    (watch/peek.h).
 * So a look is no snapshot: each line was true at some moment during the look.
 *
 * One look at a time. A worker that looks answers itself; its tasks wait meanwhile. */
#ifndef LT_WATCH_LOOK_H
#define LT_WATCH_LOOK_H

#include "sched/runtime.h"
#include "watch/records.h"

enum { LT_ANSWER_MS = 100 };

/* A scope. The scopes stand in an array; those inside the same scope are neighbours. */
struct lt_scope_record {
    leat_scope *scope; /* pinned during the look; later only compared, as is the opener */
    const struct lt_party *opener;
    uint32_t number, opener_number;
    bool opener_is_thread, opener_joins, cancelled;
    size_t tasks;                   /* tasks, blocks and operations that have not ended */
    int64_t deadline, opener_since; /* since: when a thread began to join; 0: not known */
    size_t around;                  /* index of the scope around this one, or LT_NOWHERE */
    size_t inside, count;           /* the scopes inside: the first one's index, and how many */
};

#define LT_NOWHERE SIZE_MAX

/* What is known of a worker. */
struct lt_worker_record {
    bool answered;
    const struct lt_record *running; /* or NULL */
    const struct lt_frames *frames;  /* of the block or callback that it runs; or NULL */
    uint32_t ready, queued;          /* how many parties */
    uint64_t timers;
};

struct lt_look {
    int64_t now;
    const void *caller; /* or NULL: call stacks are not wanted */
    unsigned worker_count;
    struct lt_worker_record *workers;
    struct lt_scope_record *scopes;
    size_t scope_count, scope_room, root_count;
    struct lt_scope_record **by_scope;
    struct lt_pad pad;
    /* From all pads: one record for each party or channel, by scope, thing and number. */
    struct lt_record **records;
    size_t record_count;
    struct lt_record **by_self;
    struct lt_ask **asks;
    _Atomic uint32_t answers;
};

/* Looks, with call stacks if `caller` is given: the address to which the function returns that the
 * user has called. 0; -EINVAL when no runtime runs; -ENOMEM. After 0
 * the records can be read, until lt_look_end frees them. */
int lt_look_begin(struct lt_look *look, const void *caller);
void lt_look_end(struct lt_look *look);

/* Waits for the right to look at the workers from outside: lt_runtime_look without its -EBUSY. A
 * task yields meanwhile, so that its worker can answer the look that is being made. */
int lt_look_turn(void);

/* The record of a party or channel, or NULL; `number` as in the record. And the index of a scope,
 * or LT_NOWHERE. */
const struct lt_record *lt_look_find(const struct lt_look *look, const void *self, uint32_t number);
size_t lt_look_scope(const struct lt_look *look, const void *scope);

/* The index in look->records of a scope's first record. And the scope that follows `at` in the
 * order of the tree, which begins at 0, or LT_NOWHERE: *depth follows its depth in the tree. */
size_t lt_look_first_record(const struct lt_look *look, size_t place);
size_t lt_look_next_scope(const struct lt_look *look, size_t at, unsigned *depth);

#endif
