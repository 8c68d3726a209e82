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
 *    LT_ANSWER_MS is left alone (watch/ask.c);
 *  - call stacks, if they are wanted: of the same tasks at the same time; of a task that a worker
 *    runs, in its own thread (watch/frames.h);
 *  - blocks that await a block: they do not resume while that block is on its scope's list;
 *  - blocks with an alarm: in the wheel of their worker, read by that worker;
 *  - tasks and blocks that have not started, and the party that a worker runs if it does not
 *    answer: read without protection, and believed if they were still in their place afterwards
 *    (watch/find.c).
 * So a look is no snapshot: each line was true at some moment during the look.
 *
 * A bounded look shows a program of any size without stopping it. The rules of its bound:
 *  - The number of scopes, parties and channels is bounded. Descriptors, batchers and stages count
 *    as channels. A channel's record stays where its waiters' do not: its counts of waiters are
 *    exact.
 *  - While it holds a scope's lock, that of the channels without a scope, or the global queue's,
 *    and in each worker's answer as a whole, it passes at most lt_look_steps(bound) nodes of
 *    lists, records or not. (A worker also passes the empty slots of its wheel, and takes the
 *    scopes' locks. While a channel's lock is held, it is some 100 nodes.)
 *  - Scopes nearest to the roots come first. The scopes inside one scope, and the channels of one,
 *    get a part of the room that is left: it is divided by the number of scopes still to come, but
 *    is LT_LOOK_LEAST at least. For parties the room is divided by what the scopes have use for. A
 *    quarter of that room is kept for parties in queues, on channels and in wheels, and a quarter
 *    of the room for channels is kept for those without a scope.
 *  - Asker and workers take a scope's first tasks, so that both record the same ones.
 *
 * One look at a time. A worker that looks answers itself; its tasks wait meanwhile. */
#ifndef LT_WATCH_LOOK_H
#define LT_WATCH_LOOK_H

#include "sched/runtime.h"
#include "scope/sight.h"
#include "scope/wait.h"
#include "watch/frames.h"

#include <leat/chan.h>
#include <leat/watch.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what a look finds: `self` and `scope` are compared, never followed ---- */

enum lt_thing {
    LT_A_TASK,
    LT_A_THREAD,
    LT_A_BLOCK,
    LT_A_CALLBACK,
    LT_A_TIMER,
    LT_A_CHANNEL, /* the first that is no party */
    LT_A_DESCRIPTOR,
    LT_A_BATCHER,
    LT_A_STAGE,
    LT_THINGS
};

static inline bool lt_is_party(enum lt_thing thing)
{
    return thing < LT_A_CHANNEL;
}

/* What a party does. Of two records of one party the greater state is believed. */
enum lt_state {
    LT_IS_THERE,  /* it exists: it runs, or is about to */
    LT_IS_QUEUED, /* it has not started */
    LT_IS_WAITING,
    LT_IS_READY,
    LT_IS_RUNNING
};

/* One thing that a party waits for; in the record of a channel or a descriptor, one party that
 * waits on it. */
struct lt_aim_record {
    struct lt_aim_record *next;
    enum lt_aim aim;
    uint32_t number; /* the object's, or 0 */
    const void *object;
};

struct lt_record {
    struct lt_record *next;
    enum lt_thing thing;
    enum lt_state state;
    const void *self, *scope;
    const char *name;
    const void *code;      /* the function of a callback or a timer */
    uint32_t number;       /* a descriptor's: the descriptor, or above INT_MAX: it is simulated */
    uint32_t scope_number; /* a party's, or 0: not known */
    uint32_t order;        /* in which it was recorded */
    size_t place;          /* the index of its scope, set at the end */
    bool chosen; /* in a bounded look: found as one of its scope's, so not the first to go */
    struct lt_aim_record *aims, *last_aim;
    bool complete; /* made by the party's own worker: all its aims are known */
    /* Of a party. */
    int worker; /* or -1 */
    unsigned line;
    int64_t until, since; /* LEAT_NEVER and 0: not known, or none */
    const char *stack;
    size_t stack_size;
    const struct lt_frames *frames; /* or NULL */
    /* Of a channel; `closed` of others as well. */
    bool closed;
    size_t length, capacity;
    uint32_t passed; /* items received since it was made, modulo 2^32 */
    /* Of a channel: how many wait to receive and to send; of a descriptor: to read and to write.
     * Also where not all of them are among its aims. */
    uint32_t receivers, senders;
    const struct lt_sight *sight; /* of a descriptor, a batcher, a stage; without its name */
};

/* ---- a look ---- */

/* How long a look waits for a worker's answer. Meanwhile no recorded scope can close: so a look
 * that comes each second does not wait long. */
enum { LT_ANSWER_MS = 100, LT_ANSWER_BOUNDED_MS = 20 };

/* How much a look records at most. */
struct lt_look_bound {
    size_t parties, channels, scopes;
};

/* For callers without a wish of their own. */
enum { LT_LOOK_PARTIES = 4000, LT_LOOK_CHANNELS = 4000, LT_LOOK_SCOPES = 2000 };
#define LT_LOOK_USUAL \
    (&(const struct lt_look_bound){ LT_LOOK_PARTIES, LT_LOOK_CHANNELS, LT_LOOK_SCOPES })

/* What a scope gets before others get any, of scopes and channels. */
enum { LT_LOOK_LEAST = 4 };

/* How many call stacks a worker walks in a bounded look. */
enum { LT_LOOK_STACKS = 32 };

/* The nodes of lists that are passed at most while one lock is held, or in a worker's answer. */
static inline size_t lt_look_steps(const struct lt_look_bound *bound)
{
    return 2 * (bound->parties + bound->channels + bound->scopes) + 256;
}

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
    size_t room;                    /* for its parties */
};

#define LT_NOWHERE SIZE_MAX

/* What is known of a worker. */
struct lt_worker_record {
    bool answered;
    const struct lt_record *running; /* or NULL */
    const struct lt_frames *frames;  /* of the block or callback that it runs; or NULL */
    uint32_t ready, queued;          /* how many parties */
    uint64_t timers;
    leat_counts counts;
    int64_t cpu; /* processor time of its thread; -1: not known */
};

struct lt_look {
    int64_t now;
    const void *caller; /* or NULL: call stacks are not wanted */
    bool bounded;
    bool sampled; /* something was left out */
    struct lt_look_bound bound;
    int answer_ms;
    size_t members; /* the sum of the scopes' `tasks` */
    unsigned worker_count;
    struct lt_worker_record *workers;
    struct lt_pad *pads; /* the asker's, and then each worker's */
    struct lt_scope_record *scopes;
    size_t scope_count, scope_room, root_count;
    struct lt_scope_record **by_scope;
    /* From all pads: one record for each party or channel, by scope, thing and number. */
    struct lt_record **records;
    size_t record_count;
    struct lt_record **by_self;
    struct lt_asks *asks; /* until the workers have been heard */
    _Atomic uint32_t answers;
};

/* Looks, with call stacks if `caller` is given: the address to which the function returns that the
 * user has called. Without a bound it records all. 0; -EINVAL when no runtime runs; -ENOMEM. After
 * 0 the records can be read, until lt_look_end frees them. */
int lt_look_begin(struct lt_look *look, const void *caller, const struct lt_look_bound *bound);
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

/* ---- pads, on which the parts of a look record what they find ----
 *
 * Everything lies in chunks that never move. Names are copied, since their owners may be gone at
 * the printing. A pad that is full allocates a chunk, also while its caller holds locks: the
 * allocator takes none of leat's. A bounded look gives its pads their room before.
 *
 * A pad of a bounded look has an allowance: a number of records, and of nodes of lists that may be
 * passed, whether a record is made of them or not. Where the allowance ends, the walk does. */

struct lt_allowance {
    size_t parties, channels; /* records; descriptors, batchers and stages count as channels */
    size_t steps;             /* nodes of lists */
};

struct lt_pad {
    struct lt_chunk *chunk;
    struct lt_record *first, **end;
    uint32_t count;
    bool failed;  /* there was no memory for something */
    bool bounded; /* it is a bounded look's */
    bool cut;     /* something was left out */
    bool choosing;
    struct lt_allowance left;
    size_t steps; /* what an allowance has */
};

/* Makes an empty pad. lt_pad_free frees everything on it. */
void lt_pad_init(struct lt_pad *pad);
void lt_pad_free(struct lt_pad *pad);

/* Makes it a bounded look's, with room for n records at once, and `steps` in each allowance. False:
 * there is no memory. */
bool lt_pad_bound(struct lt_pad *pad, size_t n, size_t steps);

/* Begins a new allowance; without a bound, nothing. */
void lt_pad_allow(struct lt_pad *pad, size_t parties, size_t channels);

/* Before each node of a list, in search of such a thing: whether to look at the node. False: the
 * allowance has come to its end, or there is no memory. */
bool lt_pad_step(struct lt_pad *pad, enum lt_thing thing);

/* A new record, the pad's last; NULL when it is not allowed, or there is no memory. */
struct lt_record *lt_pad_record(struct lt_pad *pad, enum lt_thing thing, const void *self);

/* Adds a thing that the party waits for. */
void lt_pad_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, const void *object,
                uint32_t number);

/* A copy; of NULL, NULL. */
const char *lt_pad_text(struct lt_pad *pad, const char *text);

/* A copy of the frames that are there; of no frames, NULL. */
const struct lt_frames *lt_pad_frames(struct lt_pad *pad, const struct lt_frames *frames);

/* ---- records of what exists ---- */

/* A party, with its name, its number, and what else never changes while it exists. */
struct lt_record *lt_record_party(struct lt_pad *pad, const struct lt_party *party,
                                  enum lt_state state);

/* Sets the scope that the party belongs to. NULL: none, or not known. */
void lt_record_scope(struct lt_record *record, const leat_scope *scope);

/* A task, with what it waits for; called inside its home worker. */
void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state);

/* What a scope's walk finds: a channel, a descriptor, a batcher or a stage, and the parties that
 * wait on it; takes the locks of channels. And a channel without a scope, or the descriptor that it
 * is a part of, if that has no scope either. Nobody frees them meanwhile. */
void lt_record_owned(struct lt_pad *pad, struct lt_owned *owned);
void lt_record_orphan(struct lt_pad *pad, leat_chan *ch);

/* ---- the parts of a look, for each other ---- */

/* Of the room for parties: what is not for the scopes; and the part of that for one of n lists. */
static inline size_t lt_look_reserve(const struct lt_look *look)
{
    return look->bound.parties / 4;
}

static inline size_t lt_look_extra(const struct lt_look *look, size_t n)
{
    size_t part = lt_look_reserve(look) / n;
    return part > LT_LOOK_LEAST ? part : LT_LOOK_LEAST;
}

/* Asks all workers, and answers for the calling one: 0 or -ENOMEM. lt_look_hear waits for the
 * answers. Then `answered` in a worker's record says whether its pad has an answer. */
int lt_look_ask(struct lt_look *look);
void lt_look_hear(struct lt_look *look);

/* Records the parties and channels of each scope, and of none; then what runs on a worker that did
 * not answer. */
void lt_look_around(struct lt_look *look);
void lt_look_at_busy(struct lt_look *look, unsigned worker);

/* Adds the worker's counts. */
void lt_count(leat_counts *counts, const struct lt_worker *worker);

/* Reads the number and the name of the task that a worker runs. False: the worker does not run that
 * task any more, or the task cannot be read. */
bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size);

/* Copies `size` bytes of memory that another thread may be writing to or freeing at this moment.
 * False: some are not mapped, or the kernel does not allow it. The copy means nothing until the
 * caller has made sure that the object was still in its place after the copy. */
bool lt_peek(void *to, const void *from, size_t size);

#endif
