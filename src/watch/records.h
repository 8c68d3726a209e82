/* records.h: what a look finds, recorded on pads, to be sorted and printed later.
 *
 * Records are made under locks, where nothing may be allocated. So a pad gets its room before. If
 * the room was too small, the new records are thrown away and made again with more room. Everything
 * lies in chunks that never move. Names are copied, since their owners may be gone at the printing.
 *
 * `self` and `scope` are compared, never followed. */
#ifndef LT_WATCH_RECORDS_H
#define LT_WATCH_RECORDS_H

#include "scope/wait.h"
#include "watch/frames.h"

#include <leat/chan.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lt_thing { LT_A_TASK, LT_A_THREAD, LT_A_BLOCK, LT_A_CALLBACK, LT_A_TIMER, LT_A_CHANNEL };

/* What a party does. Of two records of one party the greater state is believed. */
enum lt_state {
    LT_IS_THERE,  /* it exists: it runs, or is about to */
    LT_IS_QUEUED, /* it has not started */
    LT_IS_WAITING,
    LT_IS_READY,
    LT_IS_RUNNING
};

/* One thing that a party waits for; in a channel's record, one party that waits on the channel. */
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
    const void *code; /* the function of a callback or a timer */
    uint32_t number;
    uint32_t order; /* in which it was recorded */
    size_t place;   /* the index of its scope, set at the end */
    struct lt_aim_record *aims, *last_aim;
    bool complete; /* made by the party's own worker: all its aims are known */
    /* Of a party. */
    int worker; /* or -1 */
    unsigned line;
    int64_t until, since; /* LEAT_NEVER and 0: not known, or none */
    const char *stack;
    size_t stack_size;
    const struct lt_frames *frames; /* or NULL */
    /* Of a channel. */
    size_t length, capacity;
    bool closed;
};

struct lt_pad {
    struct lt_chunk *chunk;
    struct lt_record *first, **end;
    uint32_t count;
    bool full; /* something did not fit */
};

/* Makes an empty pad; frees everything on it. */
void lt_pad_init(struct lt_pad *pad);
void lt_pad_free(struct lt_pad *pad);

/* Calls take(pad, arg) again and again, with more room each time, until everything fits. `take`
 * stops early when the pad is full. It may take locks, and releases them. 0 or -ENOMEM. */
int lt_pad_take(struct lt_pad *pad, void (*take)(struct lt_pad *pad, void *arg), void *arg);

/* A new record, the pad's last; NULL when it does not fit, as below. */
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

/* A task, with what it waits for; called inside its home worker. */
void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state);

/* A channel, which nobody frees meanwhile, and all parties that wait on it; takes its lock. */
void lt_record_channel(struct lt_pad *pad, leat_chan *ch);

#endif
