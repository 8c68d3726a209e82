/* look.h: one look at everything there is, while it runs.
 *
 * Nothing is registered on the way for it, beyond the lists that scopes have anyway, a list of the scopes
 * and one of the channels that belong to nobody. So what is to be seen lies in different places, and each
 * has its own way to be read:
 *  - scopes: found from the roots down, each pinned under the lock of the one around it, so that none is
 *    freed during the look;
 *  - parties in a channel's queue: under its lock they do not go on;
 *  - tasks that have parked: on their home worker, between tasks, where they cannot run. Each worker gets
 *    a job that records its own; one that has not come to it after LT_ANSWER_MS is left alone;
 *  - blocks that await a block: they do not go on while that is on its scope's list;
 *  - blocks with an alarm: in the wheel, on the worker whose it is;
 *  - tasks and blocks that have not started, and what a worker that does not answer runs: read without
 *    any protection, and believed if they were still there afterwards (watch/peek.h).
 * So the look is no snapshot: each line was true at some moment during it.
 *
 * One look at a time. A worker that looks answers itself; its tasks wait meanwhile. */
#ifndef LT_WATCH_LOOK_H
#define LT_WATCH_LOOK_H

#include "sched/runtime.h"
#include "watch/records.h"

enum { LT_ANSWER_MS = 100 };

/* A scope; they stand in an array, those inside one scope together. */
struct lt_scope_record {
    leat_scope *scope; /* pinned during the look; after it an identity, as the opener */
    const struct lt_party *opener;
    uint32_t number, opener_number;
    bool opener_is_thread, opener_joins, cancelled;
    size_t tasks;                   /* that have not ended, with blocks and operations */
    int64_t deadline, opener_since; /* since: of a thread that joins; 0: not known */
    size_t around;                  /* index of the one around, or LT_NOWHERE */
    size_t inside, count;           /* those inside: the first, and how many */
};

#define LT_NOWHERE SIZE_MAX

/* What is known of a worker. */
struct lt_worker_record {
    bool answered;
    const struct lt_record *running; /* or NULL */
    uint32_t ready, queued;          /* parties */
    uint64_t timers;
};

struct lt_look {
    int64_t now;
    unsigned worker_count;
    struct lt_worker_record *workers;
    struct lt_scope_record *scopes;
    size_t scope_count, scope_room, root_count;
    struct lt_scope_record **by_scope;
    struct lt_pad pad;
    /* Of all pads: one record a party or channel, by scope, thing and number. */
    struct lt_record **records;
    size_t record_count;
    struct lt_record **by_self;
    struct lt_ask **asks;
    _Atomic uint32_t answers;
};

/* Looks. 0; -EINVAL when no runtime runs, -ENOMEM. After that the records can be read, and lt_look_end frees
 * them. */
int lt_look_begin(struct lt_look *look);
void lt_look_end(struct lt_look *look);

/* Waits until the workers may be looked at from outside: lt_runtime_look, without its -EBUSY. A task lets
 * others run meanwhile, so that its worker can answer who looks now. */
int lt_look_turn(void);

/* The record on a party or channel, or NULL; `number` as in the records. And the index of a scope, or
 * LT_NOWHERE. */
const struct lt_record *lt_look_find(const struct lt_look *look, const void *self, uint32_t number);
size_t lt_look_scope(const struct lt_look *look, const void *scope);

/* The index of the first record of a scope, in look->records; and the scope that comes after this one in the
 * order of the tree, whose first is 0, or LT_NOWHERE: *depth changes with it. */
size_t lt_look_first_record(const struct lt_look *look, size_t place);
size_t lt_look_next_scope(const struct lt_look *look, size_t at, unsigned *depth);

/* ---- asking the workers: ask.c ---- */

/* Asks all workers, answering for the calling one; then waits for the answers. After that, asks[i] has what
 * worker i recorded, or is NULL when it has not answered. Both return 0 or -ENOMEM. */
int lt_ask_all(struct lt_look *look);
int lt_ask_wait(struct lt_look *look);
struct lt_pad *lt_ask_pad(struct lt_ask *ask);
void lt_ask_free(struct lt_ask *ask);

/* ---- what has not started, or does not answer: fleeting.c ---- */

int lt_look_at_queues(struct lt_look *look);
int lt_look_at_busy(struct lt_look *look, unsigned worker);

/* The number and the name of the task that a worker runs; false when it does not run that task any more,
 * or cannot be read. */
bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size);

#endif
