/* events.h: the events of a trace: how they are collected, and how they are read while others still
 * write.
 *
 * Each worker has a tracer: a list of events that only this worker writes, without a lock. Threads
 * that are no workers share one tracer, under a lock. A full list grows. Events for which there is
 * no memory are lost, and counted.
 *
 * Generations. Each trace has a number, its generation. The owner of a tracer finds at its next
 * event that the tracer's generation is old, and only then starts the list anew. So an owner may
 * still append an event when the trace has ended, and the end waits for no worker:
 *  - A reader reads a tracer only if the tracer has the present generation, and then as many events
 *    as the tracer's count. The owner only appends until the next generation begins, which is after
 *    the reading.
 *  - A tracer with an older generation has no event of the present one.
 * Tracers and their memory stay until the runtime ends, for the next trace. */
#pragma once

#include <leat/block.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lt_worker;
struct lt_tracer;

enum lt_event_kind {
    LT_EV_RUNS,    /* the worker runs `party` from now on; 0: nothing. `number`: 1 for a task */
    LT_EV_TASK,    /* `number` is a task called `text` */
    LT_EV_CHANNEL, /* `number` is a channel called `text` */
    LT_EV_SENT,    /* the running party sent `count` items to channel `number`; `party` got one */
    LT_EV_RECEIVED,
    LT_EV_OPENED, /* scope `number` */
    LT_EV_CLOSED
};

struct lt_event {
    int64_t at;
    uint64_t party; /* a task's number, another's address, or 0 */
    uint32_t kind, number;
    union {
        const char *text; /* or NULL */
        uint64_t count;
    };
};

/* The events of one tracer in this generation, for one reading. */
struct lt_track {
    struct lt_trace_chunk *chunk;
    size_t at, left;
    bool lost; /* later events were lost */
};

/* Makes the tracers, unless they exist, each with room for a trace of a whole run, or for a late
 * one. 0 or -ENOMEM. */
int lt_tracers_make(bool late);

/* Begins a generation. Until the next one, or lt_tracers_free, this one can be read. */
void lt_tracers_begin(void);

/* The number of events that this generation has lost. */
uint64_t lt_tracers_lost(void);

/* Called when all workers have ended. */
void lt_tracers_free(void);

/* ---- collecting, by the owner of a tracer ---- */

/* The tracer of the calling worker, in the present generation; NULL: there are no tracers. */
struct lt_tracer *lt_tracer_of(const struct lt_worker *worker);

/* True for the first call in this generation. */
bool lt_tracer_is_fresh(struct lt_tracer *t);

/* Appends the event. May allocate under a channel's lock: there is no bound on the events between
 * two places without a lock, and the allocator takes no lock of leat's. */
void lt_tracer_put(struct lt_tracer *t, struct lt_event event);

/* Appends the event with the present time. */
void lt_tracer_put_now(struct lt_tracer *t, struct lt_event event);

/* A copy that lasts for this generation; NULL if there is no memory, or no name. */
const char *lt_tracer_copy_name(struct lt_tracer *t, const char *name);

/* The copy of a type's name, which is made once. */
const char *lt_tracer_name_of_type(struct lt_tracer *t, const leat_block_type *type);

/* Appends the event with the present time: from any thread. */
void lt_trace_put(struct lt_event event);

/* ---- reading ---- */

/* lt_trace_track: the track of worker i, or with the number of workers that of threads.
 * lt_track_next: its next event, in order; NULL: there are no more. */
struct lt_track lt_trace_track(unsigned i);
const struct lt_event *lt_track_next(struct lt_track *track);
