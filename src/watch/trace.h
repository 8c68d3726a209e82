/* trace.h: what happened, for a trace viewer.
 *
 * While it goes on, each worker appends events to a list of its own, without a lock; threads that are no
 * workers share one, with a lock. A list grows where it is full, be it under a channel's lock. Events that find no
 * memory are lost, and counted.
 *
 * At the end, when no worker runs any more, the events become slices, flows and scopes
 * (trace_write.c). */
#ifndef LT_WATCH_TRACE_H
#define LT_WATCH_TRACE_H

#include "sched/party.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum lt_event_kind {
    LT_EV_RUNS,    /* the worker goes on with party; 0: with nobody */
    LT_EV_TASK,    /* `number` is a task called `text` */
    LT_EV_CHANNEL, /* `number` is a channel called `text` */
    LT_EV_SENT,    /* who runs has sent `count` items into channel `number`; `party` received one */
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

/* The chunks of worker i in order; of threads, with i the number of workers. */
const struct lt_event_chunk *lt_trace_chunks(unsigned i);

/* Begins to collect, for a file that is made now: 0, -ENOMEM, or why it cannot be made. Ends: writes the
 * file, if there is one, and frees all. */
int lt_trace_begin(const char *file);
void lt_trace_end(void);

/* Writes what was collected; `lost` says that there are gaps. 0, -ENOMEM or -EIO. */
int lt_trace_write(FILE *to, unsigned workers, bool lost);

#endif
