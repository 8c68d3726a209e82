/* picture.h: what a look has found, for its parts while they look, and for readers afterwards. */
#pragma once

#include "sched/runtime.h"
#include "watch/records.h"

#include <leat/watch.h>

/* How long a look waits for a worker's answer. Meanwhile no recorded scope can close, so a look
 * that is made each second does not wait long. */
enum { LT_ANSWER_MS = 100, LT_ANSWER_BOUNDED_MS = 20 };

/* The most that a look records. */
struct lt_look_bound {
    size_t parties, channels, scopes;
};

/* The default. */
#define LT_LOOK_USUAL \
    (&(const struct lt_look_bound){ .parties = 4000, .channels = 4000, .scopes = 2000 })

/* The least number of scopes and of channels that a scope gets, before others get any. */
enum { LT_LOOK_LEAST = 4 };

/* The most list nodes that are passed while one lock is held, or in a worker's answer. */
static inline size_t lt_look_steps(const struct lt_look_bound *bound)
{
    return 2 * (bound->parties + bound->channels + bound->scopes) + 256;
}

/* A scope. Scopes are in an array; those inside the same scope are neighbours. */
struct lt_scope_record {
    leat_scope *scope; /* pinned during the look; later only compared, as is the opener */
    const struct lt_party *opener;
    uint32_t number, opener_number;
    bool opener_is_thread, opener_joins, cancelled;
    size_t tasks;                   /* tasks, blocks and operations that have not ended */
    int64_t deadline, opener_since; /* since: when a thread began to join; 0: not known */
    size_t around;                  /* index of the scope around this one, or LT_NOWHERE */
    size_t inside, count;           /* the scopes inside: the first one's index, and their number */
    size_t room;                    /* for its parties */
};

#define LT_NOWHERE SIZE_MAX

struct lt_worker_record {
    bool answered;
    const struct lt_record *running; /* or NULL */
    const struct lt_frames *frames;  /* of the block or callback that it runs; or NULL */
    uint32_t ready, queued;          /* parties */
    uint64_t timers;
    leat_counts counts;
    int64_t cpu; /* processor time of its thread; -1: not known */
};

struct lt_look {
    int64_t now;
    const void *caller; /* or NULL: call stacks are not wanted */
    bool bounded;
    bool sampled; /* some things were left out */
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
    struct lt_asks *asks; /* until the workers have answered */
    _Atomic uint32_t answers;
};

/* The part of the room for parties that is not for scopes; and the share of that part for one of n
 * lists. */
static inline size_t lt_look_reserve(const struct lt_look *look)
{
    return look->bound.parties / 4;
}

static inline size_t lt_look_extra(const struct lt_look *look, size_t n)
{
    return lt_at_least(lt_look_reserve(look) / n, LT_LOOK_LEAST);
}

/* The share of a scope in the rest of the room for scopes or for channels, when `others` are still
 * to come: so a scope with many leaves room for those of others. */
static inline size_t lt_look_share(size_t rest, size_t others)
{
    return lt_at_most(rest, lt_at_least(rest / (others + 1), LT_LOOK_LEAST));
}

/* Adds the worker's counts (counts.c). */
void lt_count(leat_counts *counts, const struct lt_worker *worker);

/* Puts the recorded scopes in order, for lt_look_scope. False: there is no memory. */
bool lt_look_sort_scopes(struct lt_look *look);

/* Makes one record for each thing of all that the pads have. 0 or -ENOMEM. */
int lt_look_merge(struct lt_look *look);

/* lt_look_find: the record of a party or channel, or NULL; `number` as in the record.
 * lt_look_find_holder: the record of the party that holds a mutex, whose channel this is; or NULL.
 * lt_look_scope: the index of a scope, or LT_NOWHERE. */
const struct lt_record *lt_look_find(const struct lt_look *look, const void *self, uint32_t number);
const struct lt_record *lt_look_find_holder(const struct lt_look *look,
                                            const struct lt_record *channel);
size_t lt_look_scope(const struct lt_look *look, const void *scope);

/* lt_look_first_record: the index in look->records of a scope's first record. lt_look_next_scope:
 * the scope that follows `at` in the order of the tree, which begins at 0, or LT_NOWHERE; *depth
 * becomes its depth in the tree. */
size_t lt_look_first_record(const struct lt_look *look, size_t place);
size_t lt_look_next_scope(const struct lt_look *look, size_t at, unsigned *depth);
