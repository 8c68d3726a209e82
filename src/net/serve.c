/* serve.c: the loop of a server.
 *
 * Two scopes. `around` lies in the caller's scope and is cancelled with it. `crowd` lies in
 * `around`, but is opened under a shield, so that only the server itself cancels it: the
 * connections are its tasks. The server waits in `crowd`. So it needs `stop`: a channel that closes
 * when `around` is cancelled (an operation of that scope sees it) or when the listener is closed
 * (a close hook sees it).
 *
 * A connection begins on the server's worker, so that no other one has to wake for a short request;
 * or on a worker that has clearly fewer tasks, or clearly fewer of this server's blocks. (Workers
 * count tasks, but no blocks.) There its descriptor is registered when the connection first waits.
 *
 * A job ends a block: it frees the block's memory, which the block itself cannot free. */
#include "net/net.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "block/block.h"
#include "io/io.h"
#include "sched/runtime.h"
#include "scope/wait.h"

#include <leat/callback.h>
#include <leat/select.h>
#include <leat/task.h>

#include <stddef.h>

#define FIRST_PAUSE (5 * LEAT_MS)
#define LONGEST_PAUSE LEAT_S
#define DEFAULT_GRACE (10 * LEAT_S)

/* How many fewer, besides a quarter, are clearly fewer. So of 400 connections or more, each of two
 * workers begins at most 60 %. */
enum { CLEARLY_FEWER = 32 };

struct server {
    leat_io *listener;
    leat_serve_fn *fn;
    const leat_block_type *type; /* for a server with blocks; NULL: it has tasks or threads */
    size_t size;                 /* of a block's struct */
    void *arg;
    leat_serve_options options;
    leat_scope *around, *crowd;
    leat_chan *stop, *ended;
    leat_op watch; /* receives from `stop`, to see a cancel of `around` */
    struct lt_close_hook hook;
    leat_io *held; /* accepted, but not served yet */
    int64_t pause;
    _Atomic unsigned active;
    _Atomic unsigned *blocks; /* one count for each worker: blocks put there that have not ended */
};

struct guest {
    struct server *server;
    leat_io *connection;
};

struct guest_block {
    struct lt_job ended;
    struct server *server;
    _Atomic unsigned *count;
    leat_served served; /* followed by the rest of the block's struct */
};

/* ---- ways to stop it ---- */

static void watched(leat_op *op, int status)
{
    if (status == -ECANCELED)
        leat_close(LT_CONTAINER(op, struct server, watch)->stop);
}

static void listener_closed(struct lt_job *job)
{
    struct server *server = LT_CONTAINER(job, struct server, hook.job);
    leat_scope *around = server->around;
    leat_close(server->stop);
    lt_scope_leave(around, 0);
}

/* The hook is a party of `around` until it has run or has been removed. */
static void watch_listener(struct server *server)
{
    lt_scope_enter(server->around);
    if (!lt_chan_add_close_hook(lt_io_chan(server->listener, LT_IN), &server->hook,
                                listener_closed))
        lt_scope_leave(server->around, 0);
}

static void unwatch_listener(struct server *server)
{
    if (lt_chan_remove_close_hook(lt_io_chan(server->listener, LT_IN), &server->hook))
        lt_scope_leave(server->around, 0);
}

/* ---- connections ---- */

/* A connection has ended. Returns its verdict for the scope. The server exists until the caller has
 * left `crowd`. */
static int guest_ends(struct server *server, leat_io *connection, int verdict)
{
    leat_io_close(connection);
    leat_io_unref(connection);
    atomic_fetch_sub_explicit(&server->active, 1, memory_order_release);
    leat_try_send(server->ended, NULL);
    return server->options.strict ? verdict : 0;
}

_Static_assert(offsetof(struct guest_block, served) % _Alignof(max_align_t) == 0,
               "a block's struct may hold anything");

static int serve_guest(void *arg)
{
    struct guest guest = *(struct guest *)arg;
    lt_free(arg);
    int verdict = guest.server->fn(guest.connection, guest.server->arg);
    return guest_ends(guest.server, guest.connection, verdict);
}

static void block_ended(struct lt_job *job)
{
    struct guest_block *guest = LT_CONTAINER(job, struct guest_block, ended);
    struct server *server = guest->server;
    leat_scope *crowd = server->crowd;
    /* Relaxed: only a count. */
    atomic_fetch_sub_explicit(guest->count, 1, memory_order_relaxed);
    int verdict = guest_ends(server, guest->served.connection, guest->served.block.status);
    lt_free(guest);
    lt_scope_leave(crowd, verdict);
}

static uint64_t load(const struct server *server, struct lt_worker *worker)
{
    if (!server->type)
        return lt_worker_load(worker);
    return atomic_load_explicit(&server->blocks[worker->index], memory_order_relaxed);
}

/* Where a connection begins. */
static struct lt_worker *choose_worker(const struct server *server)
{
    struct lt_worker *here = lt_current_worker(), *best = here ? here : lt_any_worker();
    uint64_t own = load(server, best), least = own;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        uint64_t n = load(server, lt_runtime.workers[i]);
        if (n < least) {
            least = n;
            best = lt_runtime.workers[i];
        }
    }
    return here && own <= least + least / 4 + CLEARLY_FEWER ? here : best;
}

static int start_block(struct server *server)
{
    struct guest_block *guest = lt_alloc(offsetof(struct guest_block, served) + server->size);
    if (!guest)
        return -ENOMEM;
    struct lt_worker *worker = choose_worker(server);
    guest->ended.party.kind = LT_JOB;
    guest->ended.run = block_ended;
    guest->server = server;
    guest->count = &server->blocks[worker->index];
    guest->served.connection = server->held;
    guest->served.arg = server->arg;
    server->held = NULL;
    atomic_fetch_add_explicit(guest->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&server->active, 1, memory_order_relaxed);
    lt_go_block_at(worker, server->crowd, &guest->served.block, server->type, &guest->ended);
    return 0;
}

static int start_guest(struct server *server)
{
    if (server->type)
        return start_block(server);
    struct guest *guest = lt_alloc(sizeof *guest);
    if (!guest)
        return -ENOMEM;
    *guest = (struct guest){ server, server->held };
    atomic_fetch_add_explicit(&server->active, 1, memory_order_relaxed);
    int error = server->options.threads
                    ? leat_go_blocking_named(server->crowd, serve_guest, guest, "connection")
                    : lt_go_at(choose_worker(server), server->crowd, serve_guest, guest,
                               "connection", server->options.stack_size);
    if (error) {
        atomic_fetch_sub_explicit(&server->active, 1, memory_order_relaxed);
        lt_free(guest);
    } else {
        server->held = NULL;
    }
    return error;
}

/* ---- the loop ---- */

/* Waits for `ch` and for the stop. 0, -ESHUTDOWN for the stop, or an error. */
static int wait_for(const struct server *server, leat_chan *ch)
{
    leat_case cases[] = { LEAT_RECV(server->stop, NULL), LEAT_RECV(ch, NULL) };
    int i = leat_select_ordered(cases, 2, LEAT_NEVER);
    return i == 0 ? -ESHUTDOWN : i < 0 ? i : 0;
}

static unsigned active(const struct server *server)
{
    return atomic_load_explicit(&server->active, memory_order_acquire);
}

static int wait_for_room(const struct server *server)
{
    int error = leat_chan_closed(server->stop) ? -ESHUTDOWN : 0;
    while (!error && server->options.most && active(server) >= server->options.most)
        error = wait_for(server, server->ended);
    return error;
}

/* Called after -EAGAIN: the listener's channel is up to date. */
static int wait_for_guest(struct server *server)
{
    if (!lt_io_enter(server->listener))
        return -EBADF;
    lt_io_follow(server->listener);
    lt_io_leave(server->listener);
    return wait_for(server, lt_io_chan(server->listener, LT_IN));
}

static int accept_guest(struct server *server)
{
    for (;;) {
        int error = leat_accept(server->listener, NULL, &server->held, LEAT_NOW);
        if (error == -EAGAIN)
            error = wait_for_guest(server);
        if (error || server->held)
            return error;
    }
}

static int rest(struct server *server, int error)
{
    int64_t pause = server->pause ? 2 * server->pause : FIRST_PAUSE;
    server->pause = pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
    if (server->options.error)
        server->options.error(server->arg, error);
    error = leat_recv_until(server->stop, NULL, lt_clock_after(lt_clock_now(), server->pause));
    return error == -ETIMEDOUT ? 0 : error == -EPIPE ? -ESHUTDOWN : error;
}

static int loop(struct server *server)
{
    int error = 0;
    while (!error) {
        error = wait_for_room(server);
        if (!error && !server->held)
            error = accept_guest(server);
        if (!error)
            error = start_guest(server);
        if (lt_io_is_shortage(error))
            error = rest(server, error);
        else
            server->pause = 0;
    }
    return error;
}

/* Waits until the connections have ended, or the grace has passed. */
static void drain(struct server *server)
{
    int64_t grace = server->options.grace ? server->options.grace : DEFAULT_GRACE;
    int64_t until = lt_clock_after(lt_clock_now(), grace);
    while (active(server))
        if (leat_recv_until(server->ended, NULL, until) != 0) {
            leat_scope_cancel(server->crowd);
            return;
        }
}

/* ---- beginning and ending ---- */

/* Called with `around` open. */
static int prepare(struct server *server)
{
    server->stop = leat_chan_make(server->around, 0, 0);
    server->ended = leat_chan_open(
        server->around,
        &(leat_chan_spec){ .capacity = 1, .buffer = LEAT_DROPPING, .name = "ended" });
    if (server->type)
        server->blocks = lt_alloc(lt_runtime.worker_count * sizeof *server->blocks);
    if (!server->stop || !server->ended || (server->type && !server->blocks))
        return -ENOMEM;
    leat_shield();
    server->crowd = leat_scope_open(LEAT_NEVER);
    leat_unshield();
    return server->crowd ? 0 : -ENOMEM;
}

static int serve(struct server *server)
{
    server->watch = (leat_op)LEAT_OP(server->around, 0);
    leat_recv_then(&server->watch, server->stop, NULL, watched);
    watch_listener(server);
    int error = loop(server);
    drain(server);
    if (server->held)
        leat_io_unref(server->held);
    int verdict = leat_scope_close(server->crowd);
    unwatch_listener(server);
    leat_close(server->stop);
    return verdict ? verdict : error == -EBADF || error == -ESHUTDOWN ? 0 : error;
}

static int check(const struct server *server)
{
    size_t stack = server->options.stack_size;
    if (!server->listener || server->options.grace < 0 || !lt_running())
        return -EINVAL;
    if (server->type && (!server->type->step || server->size < sizeof(leat_served) || stack ||
                         server->options.threads))
        return -EINVAL;
    if (stack && (stack < LT_STACK_MIN || stack > LT_STACK_MAX))
        return -EINVAL;
    return lt_wait_prepare(lt_current_party());
}

static int run(struct server *server, const leat_serve_options *options)
{
    if (options)
        server->options = *options;
    int error = check(server);
    if (error)
        return error;
    server->around = leat_scope_open(LEAT_NEVER);
    if (!server->around)
        return -ENOMEM;
    error = prepare(server);
    if (!error)
        error = serve(server);
    int why = leat_scope_close(server->around);
    lt_free(server->blocks);
    return error ? error : why;
}

int leat_serve(leat_io *listener, leat_serve_fn *fn, void *arg, const leat_serve_options *options)
{
    struct server server = { .listener = listener, .fn = fn, .arg = arg };
    return fn ? run(&server, options) : -EINVAL;
}

int leat_serve_blocks_typed(leat_io *listener, const leat_block_type *type, size_t size, void *arg,
                            const leat_serve_options *options)
{
    struct server server = { .listener = listener, .type = type, .size = size, .arg = arg };
    return type ? run(&server, options) : -EINVAL;
}
