/* stream.h: how the tasks that read or write items on a descriptor write and end. */
#ifndef LT_IO_STREAM_H
#define LT_IO_STREAM_H

#include <leat/chan.h>
#include <leat/io.h>
#include <leat/scope.h>

/* Bytes read in one call, or frames' bytes written. */
enum { LT_STREAM_BYTES = 64 * 1024 };

/* Writes all parts (1 to 1,024, with at least one byte), and changes the array. 0 or the error. */
int lt_stream_write(leat_io *io, struct iovec *parts, int n);

/* The end of a task that sends to `out`, or receives from `in`. `error` is the reason: 0 at the end
 * of the stream, or a negative errno value. Returns the task's verdict. */
int lt_stream_end_out(leat_scope *scope, leat_chan *out, int error);
int lt_stream_end_in(leat_scope *scope, leat_chan *in, int error);

#endif
