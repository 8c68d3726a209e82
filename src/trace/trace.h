/* trace.h: a trace: what happened in the runtime, for a trace viewer.
 *
 * There are two kinds. A whole trace is taken from the start of the runtime to its end. A late one
 * begins and ends while the program runs, and any number of late ones may follow each other. A late
 * one does not see items: a channel that was made before it has a fast path without a probe.
 *
 * The probes append events. At the end these become slices, flows and scopes (trace/write.c). */
#ifndef LT_TRACE_TRACE_H
#define LT_TRACE_TRACE_H

#include "sched/party.h"
#include "watch/look.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lt_worker;
struct lt_task;

/* lt_trace_begin makes the file and begins a whole trace: 0, -ENOMEM, or why the file cannot be
 * made. lt_trace_end writes the file, if there is one, and frees all: after the workers have ended,
 * and the threads that call the functions below. */
int lt_trace_begin(const char *file);
void lt_trace_end(void);

/* Begins a late trace, of what happens from now on. It also looks at what exists, for the names of
 * tasks that have started before: so it waits for the workers as a dump does, 100 ms at most.
 * 0; -EBUSY: a trace is being taken already, be it a whole one or a late one; -ENOMEM.
 *
 * Any thread or task of the runtime may call it that has ended before lt_trace_end, also while
 * leat_stop is at work: leat joins a thread of its own first. If two call it at once, one of them
 * gets -EBUSY. */
int lt_trace_record(void);

/* Ends the late trace, and writes it to `to`, which is flushed and stays the caller's; with NULL it
 * is thrown away. Only for the caller whose lt_trace_record returned 0. 0, -ENOMEM or -EIO; after
 * an error the trace is over, too. It waits for no worker. */
int lt_trace_end_record(FILE *to);

/* The observer's functions: see sched/probe.h. Each may be called when no trace is taken any
 * more, or not yet. */
void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to);
void lt_trace_step(struct lt_worker *worker, const struct lt_party *party);
void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner);
void lt_trace_new_channel(uint32_t channel, const char *name);
void lt_trace_scope(uint32_t scope, bool opened);

/* ---- what a trace has collected, for the writer of its file ---- */

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
};

/* What is known of a trace beside its tracks. */
struct lt_recording {
    unsigned workers;
    uint64_t lost; /* events: there are gaps */
    /* The rest is of a late trace. */
    bool late;
    int64_t begin, end;  /* later events do not belong to it */
    struct lt_look look; /* at what existed soon after the beginning; nothing, if that failed */
    int64_t looked;      /* when the look was over */
};

/* The track of worker i; that of threads, if i is the number of workers. And its next event, in
 * order; NULL: there are no more. */
struct lt_track lt_trace_track(unsigned i);
const struct lt_event *lt_track_next(struct lt_track *track);

/* Writes the file: 0, -ENOMEM or -EIO. */
int lt_trace_write(FILE *to, const struct lt_recording *recording);

#endif
