/* capture.c: runs a program and collects its output, in the calling party alone. A calling thread
 * attends to the process itself, since it blocks anyway. */
#include "base/alloc.h"
#include "io/io.h"
#include "process/process.h"

#include <leat/time.h>

#include <string.h>

enum { FIRST_BYTES = 4096, LAST_READS = 32, BOTH = LEAT_PIPE_OUT | LEAT_PIPE_ERR };

struct stream {
    leat_io *io; /* NULL: it has ended, or there is none */
    char *bytes;
    size_t size, room;
};

struct capture {
    leat_process *process;
    struct stream out, err;
    size_t most;
    bool partial;
};

/* Makes room for one more byte, and the 0 after it. */
static int make_room(struct stream *stream, size_t most)
{
    if (stream->bytes && stream->size < stream->room)
        return 0;
    size_t room = stream->room ? 2 * stream->room : FIRST_BYTES;
    room = room < most ? room : most;
    char *bytes = lt_alloc_unset(room + 1);
    if (!bytes)
        return -ENOMEM;
    if (stream->size)
        memcpy(bytes, stream->bytes, stream->size);
    lt_free(stream->bytes);
    stream->bytes = bytes;
    stream->room = room;
    return 0;
}

static int64_t read_some(struct capture *capture, struct stream *stream)
{
    char surplus[512];
    if (stream->size < capture->most) {
        int64_t n = leat_read_until(stream->io, stream->bytes + stream->size,
                                    stream->room - stream->size, LEAT_NOW);
        stream->size += n > 0 ? (size_t)n : 0;
        return n;
    }
    int64_t n = leat_read_until(stream->io, surplus, sizeof surplus, LEAT_NOW);
    capture->partial |= n > 0;
    return n;
}

/* Reads what is there, `times` at most: the writer may go on. After a shortage there was nothing to
 * read, and the system cannot watch the pipe. */
static int read_stream(struct capture *capture, struct stream *stream, int times)
{
    int64_t n = 1;
    for (int i = 0; i < times && n > 0 && stream->io; i++) {
        int error = stream->size < capture->most ? make_room(stream, capture->most) : 0;
        if (error)
            return error;
        n = read_some(capture, stream);
    }
    if (n == 0)
        stream->io = NULL;
    return n < 0 && n != -EAGAIN && !lt_io_is_shortage(n) ? (int)n : 0;
}

/* Waits for the streams that have not ended; unless the process has `ended`, for its end, too. As
 * leat_attend. */
static int await_one(const struct capture *capture, bool ended, int64_t until)
{
    unsigned pipes = (capture->out.io ? LEAT_PIPE_OUT : 0) | (capture->err.io ? LEAT_PIPE_ERR : 0);
    return ended ? lt_process_select(capture->process, false, pipes, until)
                 : leat_attend(capture->process, pipes, until);
}

/* Reads up to `times` times from each stream of `pipes`. */
static int read_streams(struct capture *capture, int pipes, int times)
{
    int error = pipes & LEAT_PIPE_OUT ? read_stream(capture, &capture->out, times) : 0;
    return !error && pipes & LEAT_PIPE_ERR ? read_stream(capture, &capture->err, times) : error;
}

/* Collects until both streams have ended; after the end of the process, for its grace at most, and
 * then what is left in the pipes. */
static int collect(struct capture *capture)
{
    int64_t until = LEAT_NEVER;
    bool ended = false;
    while ((capture->out.io || capture->err.io) && (until == LEAT_NEVER || leat_now() < until)) {
        int found = await_one(capture, ended, until), times = 1;
        if (found == -ETIMEDOUT)
            continue;
        if (found < 0)
            return found;
        if (!found) {
            ended = true;
            until = leat_after(capture->process->grace);
            found = BOTH;
            times = LAST_READS;
        }
        int error = read_streams(capture, found, times);
        if (error)
            return error;
    }
    int error = read_streams(capture, BOTH, LAST_READS);
    capture->partial |= capture->out.io || capture->err.io;
    return error;
}

/* The caller gets what was collected. */
static int give(struct capture *capture, const leat_exit *how, leat_captured *captured)
{
    int error = make_room(&capture->out, capture->most);
    if (!error)
        error = make_room(&capture->err, capture->most);
    if (error)
        return error;
    capture->out.bytes[capture->out.size] = 0;
    capture->err.bytes[capture->err.size] = 0;
    *captured = (leat_captured){ .out = capture->out.bytes,
                                 .err = capture->err.bytes,
                                 .out_size = capture->out.size,
                                 .err_size = capture->err.size,
                                 .partial = capture->partial,
                                 .exit = *how };
    return 0;
}

static int finish(struct capture *capture, leat_captured *captured)
{
    leat_exit how;
    /* In a cancelled scope an attendant's waits end with the process, without an error. */
    int error = lt_wait_allowed(lt_current_party());
    if (!error)
        error = leat_wait(capture->process, &how, LEAT_NEVER);
    return error ? error : give(capture, &how, captured);
}

/* The scope is cancelled. The shield lets this party wait and read once more. Under it an attendant
 * would not see the cancel, so it orders the end before. */
static int finish_cancelled(struct capture *capture, leat_captured *captured)
{
    leat_exit how;
    if (lt_process_is_mine(capture->process))
        lt_process_cancel(capture->process);
    leat_shield();
    int error = leat_wait(capture->process, &how, LEAT_NEVER);
    if (!error)
        error = read_streams(capture, BOTH, LAST_READS);
    leat_unshield();
    capture->partial = true;
    return error ? error : give(capture, &how, captured);
}

static int run(struct capture *capture, leat_scope *scope, const char *const *argv,
               const leat_spawn_options *options, leat_captured *captured)
{
    int error = leat_spawn(scope, argv, options, &capture->process);
    if (error)
        return error;
    capture->out.io = leat_process_out(capture->process);
    capture->err.io = leat_process_err(capture->process);
    error = collect(capture);
    return error ? error : finish(capture, captured);
}

int leat_capture(const char *const *argv, const leat_spawn_options *options,
                 leat_captured *captured, size_t most, int64_t deadline)
{
    leat_spawn_options with_pipes = options ? *options : (leat_spawn_options){ 0 };
    if (!captured)
        return -EINVAL;
    *captured = (leat_captured){ 0 };
    if (deadline < 0 || with_pipes.flags & LEAT_PIPE_IN)
        return -EINVAL;
    int error = lt_wait_prepare(lt_current_party());
    if (error || deadline == LEAT_NOW)
        return error ? error : -EAGAIN;
    with_pipes.flags |= LEAT_PIPE_OUT | LEAT_ATTENDED;
    if (!(with_pipes.flags & LEAT_ERR_TO_OUT))
        with_pipes.flags |= LEAT_PIPE_ERR;
    leat_scope *scope = leat_scope_open(deadline);
    if (!scope)
        return -ENOMEM;
    struct capture capture = { .most = most };
    error = run(&capture, scope, argv, &with_pipes, captured);
    int given = error;
    if (error)
        leat_scope_cancel(scope);
    if (error == -ECANCELED && capture.process)
        given = finish_cancelled(&capture, captured);
    int why = leat_scope_close(scope);
    if (given) {
        lt_free(capture.out.bytes);
        lt_free(capture.err.bytes);
    }
    return error == -ECANCELED && why ? why : error;
}

int leat_captured_free(leat_captured *captured)
{
    if (!captured)
        return -EINVAL;
    lt_free(captured->out);
    lt_free(captured->err);
    *captured = (leat_captured){ 0 };
    return 0;
}
