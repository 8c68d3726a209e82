/* trace.h: records what happens in the runtime, for a trace viewer.
 *
 * There are two kinds. A whole trace lasts from the start of the runtime to its end. A late trace
 * begins and ends while the program runs, and any number of late ones may follow each other. A late
 * trace does not see items: a channel that was made before it has a fast path without a probe.
 *
 * The probes append events (trace/events.h). At the end these become a file (trace/write.h). */
#pragma once

#include "sched/party.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lt_worker;
struct lt_task;

/* lt_trace_begin makes the file and begins a whole trace: 0, -ENOMEM, or the error of creating the
 * file. lt_trace_end writes the file, if there is one, and frees everything, after an error, too.
 * It is called when the workers have ended, and the threads that call the functions below. */
int lt_trace_begin(const char *file);
void lt_trace_end(void);

/* Begins a late trace. It also makes a look, for the names of tasks that have started before: so it
 * waits for the workers as a dump does, but 20 ms at most. 0; -EBUSY: a trace, whole or late, is
 * being taken already; -ENOMEM.
 *
 * Any thread or task may call it that ends before lt_trace_end, even during leat_stop: leat joins
 * its own threads first. If two call it at once, one of them gets -EBUSY. */
int lt_trace_record(void);

/* Ends the late trace, and writes it to `to`, which is flushed and stays the caller's; with NULL it
 * is discarded. Only for the caller whose lt_trace_record returned 0. 0, -ENOMEM or -EIO; the trace
 * is over after an error, too. It waits for no worker. */
int lt_trace_end_record(FILE *to);

/* The observer's functions: see sched/probe.h. Each may be called when there is no trace any more,
 * or not yet. */
void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to);
void lt_trace_step(struct lt_worker *worker, const struct lt_party *party);
void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner);
void lt_trace_new_channel(uint32_t channel, const char *name);
void lt_trace_scope(uint32_t scope, bool opened);
