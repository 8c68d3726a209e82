/* records.h: what is seen while looking, to be put in order and told later.
 *
 * Notes are taken under locks, where nothing may be allocated: so room on the pad is made before, and
 * when it was too little, what was taken is thrown away and taken again with more. Everything lies in
 * chunks that never move; names are copied, since their owners may be gone by the time they are told.
 *
 * `self` and `scope` are identities: compared, never followed. */
#ifndef LT_WATCH_RECORDS_H
#define LT_WATCH_RECORDS_H

#include "scope/wait.h"

#include <leat/chan.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lt_thing { LT_A_TASK, LT_A_THREAD, LT_A_BLOCK, LT_A_CALLBACK, LT_A_TIMER, LT_A_CHANNEL };

/* What a party does. Of two records on one party the greater is believed. */
enum lt_state {
    LT_IS_THERE,  /* it is there: runs, or is on its way */
    LT_IS_QUEUED, /* has not started */
    LT_IS_WAITING,
    LT_IS_READY,
    LT_IS_RUNNING
};

/* One thing a party waits for; of a channel: one who waits on it. */
struct lt_aim_record {
    struct lt_aim_record *next;
    enum lt_aim aim;
    uint32_t number; /* of the other side, or 0 */
    const void *object;
};

struct lt_record {
    struct lt_record *next;
    enum lt_thing thing;
    enum lt_state state;
    const void *self, *scope;
    const char *name;
    const void *code; /* a callback's function */
    uint32_t number;
    uint32_t order; /* in which it was recorded */
    size_t place;   /* its scope's index, in the end */
    struct lt_aim_record *aims, *last_aim;
    bool complete; /* by the party's own worker: its aims are complete */
    /* A party's. */
    int worker; /* or -1 */
    unsigned line;
    int64_t until, since; /* LEAT_NEVER, 0: not known, or not at all */
    const char *stack;
    size_t stack_size;
    /* A channel's. */
    size_t length, capacity;
    bool closed;
};

struct lt_pad {
    struct lt_chunk *chunk;
    struct lt_record *first, **end;
    uint32_t count;
    bool full; /* something did not fit */
};

/* To begin with; and to free all. */
void lt_pad_init(struct lt_pad *pad);
void lt_pad_free(struct lt_pad *pad);

/* Calls take(pad, arg) again and again, with more room each time, until everything fits. take is to stop
 * early when the pad is full, and may take locks, which it gives back. 0 or -ENOMEM. */
int lt_pad_take(struct lt_pad *pad, void (*take)(struct lt_pad *pad, void *arg), void *arg);

/* A new record, the last; NULL when it does not fit, as below. */
struct lt_record *lt_pad_record(struct lt_pad *pad, enum lt_thing thing, const void *self);

/* Adds what it waits for. */
void lt_pad_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, const void *object,
                uint32_t number);

/* A copy; of NULL, NULL. */
const char *lt_pad_text(struct lt_pad *pad, const char *text);

/* ---- records on what there is ---- */

/* A party, with its name, its number, and what else never changes while it is there. */
struct lt_record *lt_record_party(struct lt_pad *pad, const struct lt_party *party,
                                  enum lt_state state);

/* A task on its home worker, with what it waits for. */
void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state);

/* A channel that is not freed meanwhile, and all who wait on it; takes its lock. */
void lt_record_channel(struct lt_pad *pad, leat_chan *ch);

#endif
