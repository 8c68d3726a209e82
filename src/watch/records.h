/* records.h: the records of parties, channels, and things that have channels, and the pads that
 * hold them. */
#pragma once

#include "scope/sight.h"
#include "scope/wait.h"
#include "watch/frames.h"

#include <leat/chan.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t lt_at_least(size_t n, size_t least)
{
    return n > least ? n : least;
}

static inline size_t lt_at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

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

/* The state of a party. If two records of one party differ, the greater state is believed. */
enum lt_state {
    LT_IS_THERE,  /* it exists: it runs, or is about to */
    LT_IS_QUEUED, /* it has not started */
    LT_IS_WAITING,
    LT_IS_READY,
    LT_IS_RUNNING
};

/* One thing that a party waits for; or in the record of a channel or a descriptor, one party that
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
    uint32_t number;       /* of a descriptor: its number; above INT_MAX, it is simulated */
    uint32_t scope_number; /* of a party; 0: not known */
    uint32_t order;        /* the order in which it was recorded, and */
    size_t place;          /* the index of its scope: both set at the end */
    bool chosen;           /* in a bounded look: found through its scope, so not left out first */
    struct lt_aim_record *aims, *last_aim;
    bool complete; /* made by the party's own worker: all its aims are known */
    /* For a party. */
    int worker; /* or -1 */
    unsigned line;
    int64_t until, since; /* LEAT_NEVER and 0: not known, or none */
    const char *stack;
    size_t stack_size;
    const struct lt_frames *frames; /* or NULL */
    /* For a channel; others have `closed`, too. */
    bool closed;
    size_t length, capacity;
    uint32_t passed;               /* items received since it was made, modulo 2^32 */
    const struct lt_party *holder; /* of a mutex's channel; or NULL */
    /* The number that wait to receive and to send, or for a descriptor to read and to write, even
     * if not all of them are among its aims. */
    uint32_t receivers, senders;
    const struct lt_sight *sight; /* of a descriptor, a batcher, a stage; without its name */
};

/* ---- pads, on which the parts of a look make their records ----
 *
 * Records are in chunks that never move. Names are copied, since their owners may be gone when they
 * are printed. A full pad allocates a chunk, even while its caller holds locks: the allocator takes
 * none of leat's. The pads of a bounded look get their room in advance.
 *
 * A pad of a bounded look has an allowance: a number of records, and of nodes of lists that may be
 * passed, whether they are recorded or not. When the allowance is used up, the walk ends. */

struct lt_allowance {
    size_t parties, channels; /* records; descriptors, batchers and stages count as channels */
    size_t steps;             /* nodes of lists */
};

struct lt_pad {
    struct lt_chunk *chunk;
    struct lt_record *first, **end;
    uint32_t count;
    bool failed;  /* there was not enough memory */
    bool bounded; /* it belongs to a bounded look */
    bool cut;     /* some things were left out */
    bool choosing;
    struct lt_allowance left;
    size_t steps; /* the steps of an allowance */
};

/* Makes an empty pad. lt_pad_free frees everything on it. */
void lt_pad_init(struct lt_pad *pad);
void lt_pad_free(struct lt_pad *pad);

/* Makes the pad a bounded look's, with room for n records at once, and `steps` in each allowance.
 * False: there is no memory. */
bool lt_pad_bound(struct lt_pad *pad, size_t n, size_t steps);

/* Begins a new allowance; does nothing without a bound. */
void lt_pad_allow(struct lt_pad *pad, size_t parties, size_t channels);

/* Called before each list node, in search of such a thing: whether to look at the node. False: the
 * allowance is used up, or there is no memory. */
bool lt_pad_step(struct lt_pad *pad, enum lt_thing thing);

/* Adds a thing that the party waits for. */
void lt_pad_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, const void *object,
                uint32_t number);

/* A copy of the frames; NULL if there are none. */
const struct lt_frames *lt_pad_frames(struct lt_pad *pad, const struct lt_frames *frames);

/* ---- records of what exists ---- */

/* Records a party, with its name, its number, and all that never changes while it exists. */
struct lt_record *lt_record_party(struct lt_pad *pad, const struct lt_party *party,
                                  enum lt_state state);

/* Sets the scope that the party belongs to. NULL: none, or not known. */
void lt_record_scope(struct lt_record *record, const leat_scope *scope);

/* Records a task, with what it waits for; called inside its home worker. */
void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state);

/* lt_record_owned records an object in a scope's list: a channel, a descriptor, a batcher or a
 * stage, and the parties that wait on it; takes the locks of channels. lt_record_orphan records a
 * channel without a scope, or the descriptor that it is a part of, if that has no scope either.
 * They are not freed meanwhile. */
void lt_record_owned(struct lt_pad *pad, const leat_scope *scope, struct lt_owned *owned);
void lt_record_orphan(struct lt_pad *pad, leat_chan *ch);
