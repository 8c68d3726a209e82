/* leat/lines.h: descriptors as channels: input arrives as items, and items are written as output.
 *
 *     leat_chan *lines;
 *     leat_lines(s, in, NULL, &lines);
 *     leat_chan *done = leat_pipeline(s, lines, &(leat_pipeline_spec){
 *         .n = 8, .run = work, .out_size = sizeof(leat_line), .drop = leat_line_free });
 *     leat_write_lines(s, done, out);
 *     leat_scope_close(s);
 *
 * An item is a line (leat_line), or a frame: a fixed number of bytes. Each function here starts one
 * task in `scope` and never waits itself. The task reads from the leat_io, or writes to it, and
 * does not close it. The leat_io and the channel must stay valid until the task has ended, which
 * they do if they belong to that scope or to one around it.
 *
 * Reading. The task reads up to 64 KiB at a time, and reads more when a receiver or the channel has
 * taken the items from that. So a slow receiver holds up the sender at the other end. Bytes that
 * the task has read and not sent are lost to other readers of the descriptor. If another party
 * closes the channel, the task ends without an error when it next has an item to send. Until then
 * it may wait in a read: to end that, cancel its scope, or call leat_shutdown.
 *
 * Writing. The task writes all the items that are ready in one call. When it ends, for whatever
 * reason, it closes the channel: later sends return -EPIPE. Items that the channel then still holds
 * go to its drop function, as always.
 *
 * Errors. An error that ends a task is its verdict and cancels the scope, as with all tasks:
 * leat_scope_close returns it, if it is the first. Before that, a task that reads cuts its channel
 * short (leat_cut). So a receiver in any scope gets -EPIPE only after the whole stream. If the
 * input of a task that writes was cut short, the task fails with -ECANCELED. */
#ifndef LEAT_LINES_H
#define LEAT_LINES_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/io.h>
#include <leat/scope.h>

/* ---- lines ---- */

/* A line, or a piece of one. It belongs to the party that has received it, which frees it with
 * leat_line_free. `text` is from malloc(3): a program may also change it, replace it, or make lines
 * of its own. */
typedef struct leat_line {
    char *text;   /* `size` bytes, without the newline, then a 0; may hold more zeros */
    size_t size;  /* in bytes */
    unsigned cut; /* 1: the line goes on in the next item; 0: it ends here */
} leat_line;

/* Frees the text of a line; `line` points to a leat_line. Does nothing for NULL, or for a NULL
 * text. It is a drop function: channels of lines have it as their `drop`.
 * Returns nothing. */
LEAT_API void leat_line_free(void *line);

/* How lines are read. A field that is 0 has its default. */
typedef struct leat_lines_options {
    /* The longest item in bytes, 1 to 1 GiB; 0: 64 KiB. A longer line comes in pieces of this size.
     * All pieces but the last have `cut` set, and no piece is empty. */
    size_t most;
    size_t capacity; /* of the channel, in lines; 0: 64 */
    int crlf;        /* not 0: a CR right before a newline does not belong to the line */
    int zero;        /* not 0: lines end in a 0 byte, as find -print0 writes them, and may hold
                        newlines */
} leat_lines_options;

/* Reads lines: starts a task that sends each line of `io` to a new channel, which is written to
 * *lines. `scope` owns the channel, and leat_line_free is its drop function. `options` may be NULL
 * and is copied. The last line is sent even if no newline follows it; after a final newline there
 * is no further line. The channel closes at the end of the stream. An error of leat_read, or
 * -ENOMEM, ends the task; then a line that has not been read to its end is not sent.
 * Returns 0; -EINVAL for a NULL scope, io or `lines`, or a `most` that is too large; -ENOMEM.
 * Unless it returns 0, nothing is read and *lines is unchanged. */
LEAT_API int leat_lines(leat_scope *scope, leat_io *io, const leat_lines_options *options,
                        leat_chan **lines);

/* Writes lines: starts a task that receives each leat_line from `lines`, writes it to `io` with a
 * newline after it, and frees it. After a piece with `cut` set it writes no newline. So if several
 * parties send, a line of one may land between two pieces of another's. (To end lines with another
 * byte, put that byte into `text` and set `cut`.) The task ends when the channel is closed and
 * everything is written. An error of leat_writev ends the task; lines that it has received and
 * not written are freed.
 * Returns 0; -EINVAL for a NULL argument, or when the channel's items are not of the size of a
 * leat_line; -ENOMEM. Unless it returns 0, nothing is received. */
LEAT_API int leat_write_lines(leat_scope *scope, leat_chan *lines, leat_io *io);

/* ---- frames ---- */

/* Reads frames: starts a task that sends each `size` bytes of `io`, 1 to 1 MiB, as an item to a new
 * channel, which is written to *frames. `scope` owns the channel. `capacity` is in frames and may
 * be 0. The channel closes at the end of the stream. An error of leat_read ends the task. So does a
 * stream that ends within a frame: the error is -EBADMSG.
 * Returns 0; -EINVAL for a NULL scope, io or `frames`, or a size out of range; -ENOMEM. Unless it
 * returns 0, nothing is read and *frames is unchanged. */
LEAT_API int leat_frames(leat_scope *scope, leat_io *io, size_t size, size_t capacity,
                         leat_chan **frames);

/* Writes frames: starts a task that writes the bytes of each item of `frames` to `io`. The task
 * ends when the channel is closed and everything is written, or with an error of leat_write.
 * Returns 0; -EINVAL for a NULL argument, or when the channel's items have no bytes; -ENOMEM.
 * Unless it returns 0, nothing is received. */
LEAT_API int leat_write_frames(leat_scope *scope, leat_chan *frames, leat_io *io);

#endif
