/* recording.h: what a trace has collected, for the writer of its file. */
#ifndef LT_WATCH_RECORDING_H
#define LT_WATCH_RECORDING_H

#include "watch/look.h"

#include <stdio.h>

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

/* Writes it: 0, -ENOMEM or -EIO. */
int lt_trace_write(FILE *to, const struct lt_recording *recording);

#endif
