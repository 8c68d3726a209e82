/* trace.h: a trace: what happened in the runtime, for a trace viewer.
 *
 * While a trace is taken, each worker appends events to a list of its own, without a lock. Threads
 * that are no workers share one list, under a lock. A full list grows, even under a channel's lock.
 * Events for which there is no memory are lost, and counted.
 *
 * At the end, when no worker runs any more, the events become slices, flows and scopes
 * (trace_write.c). */
#ifndef LT_WATCH_TRACE_H
#define LT_WATCH_TRACE_H

#include "sched/party.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lt_worker;
struct lt_task;

enum lt_event_kind {
    LT_EV_RUNS,    /* the worker runs `party` from now on; 0: nothing */
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

struct lt_event_chunk {
    struct lt_event_chunk *next;
    size_t count;
    struct lt_event events[];
};

/* The chunks of worker i, in order; those of threads, if i is the number of workers. */
const struct lt_event_chunk *lt_trace_chunks(unsigned i);

/* lt_trace_begin makes the file and begins to collect: 0, -ENOMEM, or why the file cannot be made.
 * lt_trace_end writes the file, if there is one, and frees all. */
int lt_trace_begin(const char *file);
void lt_trace_end(void);

/* The observer's functions: see sched/probe.h. */
void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to);
void lt_trace_step(struct lt_worker *worker, const struct lt_party *party);
void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner);
void lt_trace_new_channel(uint32_t channel, const char *name);
void lt_trace_scope(uint32_t scope, bool opened);

#endif
