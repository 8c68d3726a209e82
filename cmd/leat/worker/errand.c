/* errand.c: a job from a queue: runs its program with its input, and makes its result. */
#define _GNU_SOURCE
#include "shared/program.h"
#include "shared/shortage.h"
#include "worker/order.h"
#include "worker/queue.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAMS = 2, ROOM_FOR_END = 1024 };

/* After the end of the program: so many reads empty the largest pipe, of 1 MiB. */
enum { LAST_READS = 32 };

struct errand {
    struct taker *taker;
    struct order order;
    leat_process *process;
    leat_io *from[STREAMS]; /* NULL: it has ended */
    leat_io *to;            /* NULL: there is no input, or it has ended */
    size_t written;
    int error; /* why its output cannot be read, or 0 */
    int64_t begun, took;
    unsigned flags;
    struct text result; /* frames */
    char *buffer;       /* of FRAME_BODY_MOST bytes */
};

/* ---- the result ---- */

static void begin_result(struct errand *e)
{
    struct text body = { 0 };
    text_clear(&e->result);
    text_word(&body, leat_version());
    frame_put(&e->result, FRAME_HELLO, 0, body.bytes, body.len);
    text_free(&body);
}

/* `kind` is REFUSED or UNREAD, with one number, or ENDED, with two. */
static void end_result(struct errand *e, enum frame_kind kind, int first, int second)
{
    struct text body = { 0 };
    frame_add(&body, (uint64_t)e->took, 8);
    frame_add(&body, e->written, 8);
    frame_add(&body, e->flags, 1);
    text_word(&body, e->taker->host);
    frame_put(&e->result, FRAME_RAN, 0, body.bytes, body.len);
    text_clear(&body);
    frame_add(&body, (uint32_t)first, 4);
    if (kind == FRAME_ENDED)
        frame_add(&body, (uint32_t)second, 4);
    frame_put(&e->result, kind, 0, body.bytes, body.len);
    if (body.broken)
        e->result.broken = true;
    text_free(&body);
}

/* ---- starting ---- */

/* False: there is nothing left to wait for, or the worker ends. */
static bool wait_for_others(struct taker *taker, struct patience *patience)
{
    bool alone = !atomic_load_explicit(&taker->running, memory_order_relaxed);
    return shortage_wait(taker->turn, patience, alone, taker->hurry);
}

static int start(struct errand *e, leat_scope *scope)
{
    const struct order *order = &e->order;
    leat_spawn_options options = {
        .folder = *order->folder ? order->folder : NULL,
        .grace = order->grace,
        .flags = (order->has_input ? LEAT_PIPE_IN : LEAT_NULL_IN) | LEAT_PIPE_OUT | LEAT_PIPE_ERR,
    };
    struct patience patience = { 0 };
    int error;
    do
        error = program_spawn(scope, order->strings.bytes, order->count, options, &e->process);
    while (shortage_is(error) && wait_for_others(e->taker, &patience));
    shortage_over(e->taker->turn, &patience);
    return error;
}

/* ---- the running program ---- */

static void end_program(struct errand *e, unsigned flag)
{
    e->flags |= flag;
    leat_process_end(e->process, SIGTERM);
}

/* Whether the call on a pipe is to be made again later. */
static bool waits(int64_t n)
{
    return n == -EAGAIN || shortage_of_watches((int)n);
}

/* Another error means that the program wants no more input. */
static void write_some(struct errand *e)
{
    const struct text *input = &e->order.input;
    int64_t n = 0;
    if (e->written < input->len)
        n = leat_write_until(e->to, input->bytes + e->written, input->len - e->written, LEAT_NOW);
    if (n > 0)
        e->written += (size_t)n;
    if (e->written == input->len || (n < 0 && !waits(n))) {
        leat_io_close(e->to);
        e->to = NULL;
    }
}

/* Returns as leat_read does. */
static int64_t read_some(struct errand *e, int stream)
{
    int64_t n = leat_read_until(e->from[stream], e->buffer, FRAME_BODY_MOST, LEAT_NOW);
    if (n == 0)
        e->from[stream] = NULL;
    else if (n == -ENOMEM)
        leat_sleep(SHORTAGE_PAUSE); /* other jobs may give memory back */
    else if (n < 0 && !waits(n))
        e->error = (int)n;
    if (n <= 0)
        return n;
    size_t size = e->result.len + FRAME_HEAD + (size_t)n + ROOM_FOR_END;
    if (size > FRAME_PARCEL_MOST && !(e->flags & FRAME_RAN_LARGE))
        end_program(e, FRAME_RAN_LARGE);
    if (!(e->flags & FRAME_RAN_LARGE))
        frame_put(&e->result, FRAME_OUTPUT + (unsigned)stream, 0, e->buffer, (size_t)n);
    return n;
}

/* Reads what the pipe holds. Processes that the program has left behind may write later: this does
 * not wait for them. */
static void drain(struct errand *e, int stream)
{
    int reads = LAST_READS, tries = SHORTAGE_TRIES;
    while (e->from[stream] && reads > 0 && !e->error) {
        int64_t n = read_some(e, stream);
        if (n >= 0)
            reads--;
        else if (n != -ENOMEM)
            return;
        else if (tries-- == 0)
            e->error = -ENOMEM;
    }
}

/* Does what it can without a wait, for pipes that the system cannot watch. */
static void look(struct errand *e)
{
    for (int i = 0; i < STREAMS; i++)
        if (e->from[i])
            read_some(e, i);
    if (e->to)
        write_some(e);
}

/* Attends to the program until it has ended. 0; or -ECANCELED, or why its output cannot be read,
 * and then the scope ends it. */
static int attend(struct errand *e)
{
    int64_t limit = e->order.limit && e->order.limit < INT64_MAX - e->begun
                        ? e->begun + e->order.limit
                        : LEAT_NEVER;
    while (!e->error) {
        leat_case cases[] = { LEAT_READABLE(e->from[0]), LEAT_READABLE(e->from[1]),
                              LEAT_WRITABLE(e->to), LEAT_RECV(leat_process_ended(e->process), NULL),
                              LEAT_RECV(e->taker->hurry, NULL) };
        int64_t end = e->flags & FRAME_RAN_LATE ? LEAT_NEVER : limit, next = end;
        if ((e->from[0] && !cases[0].ch) || (e->from[1] && !cases[1].ch) || (e->to && !cases[2].ch))
            next = leat_after(SHORTAGE_PAUSE);
        int got = leat_select(cases, 5, next < end ? next : end);
        switch (got) {
        case 0:
        case 1: read_some(e, got); break;
        case 2: write_some(e); break;
        case 3: return 0;
        case -ETIMEDOUT:
            if (leat_now() >= end)
                end_program(e, FRAME_RAN_LATE);
            else
                look(e);
            break;
        default: return -ECANCELED;
        }
    }
    return e->error;
}

static int run_program(struct errand *e)
{
    leat_exit how;
    e->from[0] = leat_process_out(e->process);
    e->from[1] = leat_process_err(e->process);
    e->to = leat_process_in(e->process);
    atomic_fetch_add_explicit(&e->taker->running, 1, memory_order_relaxed);
    int error = attend(e);
    e->took = leat_now() - e->begun;
    for (int i = 0; i < STREAMS && !error; i++)
        drain(e, i);
    atomic_fetch_sub_explicit(&e->taker->running, 1, memory_order_relaxed);
    error = error ? error : e->error;
    if (!error)
        error = leat_wait(e->process, &how, LEAT_NEVER);
    if (error)
        return error;
    if (e->flags & FRAME_RAN_LARGE)
        begin_result(e);
    end_result(e, FRAME_ENDED, how.code, how.signal);
    return 0;
}

/* ---- the job ---- */

/* 0: there is a result. */
static int run(struct errand *e)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope)
        return -ENOMEM;
    e->begun = leat_now();
    int error = start(e, scope);
    bool starts = !error;
    if (starts)
        error = run_program(e);
    if (error)
        leat_scope_cancel(scope);
    if (error && error != -ECANCELED && error != -ENOMEM && !leat_chan_closed(e->taker->hurry)) {
        begin_result(e);
        e->flags = 0;
        end_result(e, starts ? FRAME_UNREAD : FRAME_REFUSED, -error, 0);
        error = 0;
    }
    leat_scope_close(scope);
    return error;
}

/* To another version, the result reports this worker's version. */
static int do_order(struct errand *e, const leat_far_item *item)
{
    int error = order_read(&e->order, item->data, item->size);
    begin_result(e);
    if (!error)
        error = run(e);
    else if (error == -EPROTONOSUPPORT)
        error = 0;
    else if (item->again == 0)
        fprintf(stderr, "leat worker: refused %s: no leat map sends this\n", item->key);
    return error;
}

int errand_do(void *taker, const leat_far_item *item, leat_bytes *result)
{
    struct errand e = { .taker = taker, .buffer = malloc(FRAME_BODY_MOST) };
    int error = e.buffer ? do_order(&e, item) : -ENOMEM;
    if (!error)
        error = e.result.broken ? -ENOMEM : leat_bytes_add(result, e.result.bytes, e.result.len);
    order_free(&e.order);
    text_free(&e.result);
    free(e.buffer);
    return error;
}
