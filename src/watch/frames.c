#define _GNU_SOURCE
#include "watch/frames.h"

#include "arch/switch.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/handler.h"
#include "sched/current.h"

#include <errno.h>
#include <execinfo.h>
#include <ucontext.h>

enum {
    OWN_FRAMES = 32, /* at least as many as leat has above the first frame that is kept */
    MOST = OWN_FRAMES + LT_FRAMES
};

static _Atomic bool wanted; /* relaxed: set while no task exists */

bool lt_frames_wanted(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

/* Keeps the frames from `from` on, or after it; all frames, if `from` is not among them. The frame
 * at `exact` is not a call, but was interrupted. */
static void keep(struct lt_frames *to, void *const *frames, size_t n, const void *from, bool after,
                 const void *exact)
{
    size_t first = 0;
    while (first < n && frames[first] != from)
        first++;
    first = first == n ? 0 : first + after;
    to->count = n - first < LT_FRAMES ? n - first : LT_FRAMES;
    for (size_t i = 0; i < to->count; i++) {
        const char *code = frames[first + i];
        to->code[i] = code == exact ? code : code - 1;
    }
}

static size_t walk(void **frames)
{
    int n = backtrace(frames, MOST);
    return n > 0 ? (size_t)n : 0;
}

/* ---- stacks that stand still ---- */

void lt_frames_here(struct lt_frames *to, const void *from)
{
    void *frames[MOST];
    keep(to, frames, walk(frames), from, false, NULL);
}

static void walk_pretended(void *arg)
{
    void *frames[MOST];
    keep(arg, frames, walk(frames), lt_switch_pretended, true, NULL);
}

void lt_frames_of_task(struct lt_frames *to, const struct lt_task *task)
{
    lt_switch_pretend(task->sp, walk_pretended, to);
}

/* ---- workers that do not answer ---- */

/* From ASKED on, the state says which worker is asked: so a delayed handler does not take a later
 * request, to another worker, for its own. */
enum { IDLE, WALKING, WALKED, ASKED };

/* The handler changes ASKED to WALKING, or the asker takes ASKED back. From WALKING to WALKED
 * everything belongs to the handler, else to the asker. */
static struct {
    _Atomic uint32_t state;
    const struct lt_task *running;
    uint32_t number;
    const void *interrupted_at;
    size_t count;
    void *frames[MOST];
} call;

static const void *interrupted_at(const void *context)
{
    const ucontext_t *at = context;
#ifdef __x86_64__
    return (const void *)at->uc_mcontext.gregs[REG_RIP];
#else
    return (const void *)at->uc_mcontext.pc;
#endif
}

static bool is_asked(void)
{
    struct lt_worker *worker = lt_current_worker();
    uint32_t asked = worker ? ASKED + worker->index : 0;
    return worker && atomic_compare_exchange_strong_explicit(
                         &call.state, &asked, WALKING, memory_order_acquire, memory_order_relaxed);
}

static void walk_as_asked(const void *context)
{
    int saved = errno;
    /* A task's descriptor stays readable when the task has ended. */
    call.running = lt_worker_running(lt_current_worker());
    call.number = call.running ? call.running->number : 0;
    call.interrupted_at = interrupted_at(context);
    call.count = walk(call.frames);
    /* Release: the asker sees the frames. */
    atomic_store_explicit(&call.state, WALKED, memory_order_release);
    lt_futex_wake(&call.state);
    errno = saved;
}

static struct lt_handler handler;

/* While the program's signal is pending, leat's own is lost in it: so one signal may be both. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    if (is_asked())
        walk_as_asked(context);
    if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &call) /* not leat's own */
        lt_handler_pass_on(&handler, signal, info, context);
}

/* Whether the thread has walked its stack. If not, the request is taken back. */
static bool wait_for_walk(void)
{
    int64_t deadline = lt_clock_now() + LT_FRAMES_MS * LEAT_MS;
    for (;;) {
        uint32_t state = atomic_load_explicit(&call.state, memory_order_acquire);
        if (state == WALKED)
            return true;
        if (state >= ASKED && lt_clock_now() >= deadline &&
            atomic_compare_exchange_strong_explicit(&call.state, &state, IDLE, memory_order_relaxed,
                                                    memory_order_relaxed))
            return false;
        /* A thread that has begun finishes soon. */
        lt_futex_wait(&call.state, state, state >= ASKED ? deadline : LEAT_NEVER);
    }
}

void lt_frames_of_worker(struct lt_frames *to, struct lt_worker *worker,
                         const struct lt_task **running, uint32_t *number)
{
    if (!lt_handler_is_on_top(&handler, SIGPROF))
        return;
    /* Release: the asker has read the last walk before this. */
    atomic_store_explicit(&call.state, ASKED + worker->index, memory_order_release);
    /* The value distinguishes this signal from one that the program sends to the thread. */
    pthread_sigqueue(worker->thread, SIGPROF, (union sigval){ .sival_ptr = &call });
    if (!wait_for_walk())
        return;
    *running = call.running;
    *number = call.number;
    keep(to, call.frames, call.count, call.interrupted_at, false, call.interrupted_at);
}

/* ---- at the runtime's start and end ---- */

void lt_frames_begin(void)
{
    void *frames[1];
    backtrace(frames, 1); /* the first call loads libgcc_s: not in a handler, nor under a lock */
    lt_handler_install(&handler, SIGPROF, on_signal);
    atomic_store_explicit(&wanted, true, memory_order_relaxed);
}

void lt_frames_end(void)
{
    if (!lt_frames_wanted())
        return;
    atomic_store_explicit(&wanted, false, memory_order_relaxed);
    lt_handler_remove(&handler, SIGPROF);
}
