/* stream.h: the tasks that move items between a descriptor and a channel: how they start, send,
 * write and end. */
#pragma once

#include <leat/chan.h>
#include <leat/io.h>
#include <leat/scope.h>
#include <leat/task.h>

/* Bytes read in one call, or frames' bytes written. */
enum { LT_STREAM_BYTES = 64 * 1024 };

/* The beginning of such a task's memory. */
struct lt_stream {
    leat_scope *scope;
    leat_io *io;
    leat_chan *ch;
};

/* Starts the task, whose argument is the stream. 0; or an error, -ENOMEM also without a channel:
 * then the stream is freed. */
int lt_stream_start(struct lt_stream *stream, leat_fn *fn, const char *name);

/* Sends n items. *sent: how many the channel has taken. 0 or the error. */
int lt_stream_send(const struct lt_stream *stream, const void *items, size_t n, size_t *sent);

/* Writes all parts (1 to 1,024, with at least one byte), and changes the array. 0 or the error. */
int lt_stream_write(const struct lt_stream *stream, struct iovec *parts, int n);

/* The end of a task that sends to the channel, or receives from it: frees the stream. `error` is
 * the reason: 0 at the end of the stream, or a negative errno value. Returns the task's verdict. */
int lt_stream_end_out(struct lt_stream *stream, int error);
int lt_stream_end_in(struct lt_stream *stream, int error);
