#include "trace/trace.h"

#include "base/clock.h"
#include "sched/current.h"
#include "sched/probe.h"
#include "sched/runtime.h"
#include "trace/events.h"
#include "trace/write.h"
#include "watch/look.h"

#include <leat/block.h>

#include <errno.h>
#include <unistd.h>

/* ---- the probes ---- */

static struct {
    _Atomic bool taken; /* a trace is being taken: that caller uses `file` and `now` */
    FILE *file;         /* for a whole trace */
    struct lt_recording now;
    _Atomic int64_t begin; /* of this generation's late trace; 0: not known yet, or a whole trace */
} trace;

static uint64_t identity(const struct lt_party *party)
{
    if (!party)
        return 0;
    return party->kind == LT_TASK ? LT_CONTAINER(party, struct lt_task, party)->number
                                  : (uint64_t)(uintptr_t)party;
}

static void name_task(struct lt_tracer *t, const struct lt_task *task)
{
    lt_tracer_put_now(t, (struct lt_event){ .kind = LT_EV_TASK,
                                            .number = task->number,
                                            .text = lt_tracer_copy_name(t, task->name) });
}

/* The worker leaves `task`, and has reported no other one since the late trace began: so it has run
 * this task since then. */
static void ran_before(struct lt_tracer *t, const struct lt_task *task)
{
    /* Relaxed: 0, or the beginning of this generation. If it is the beginning of a later one, this
     * tracer is not read before its owner restarts it. */
    int64_t begin = atomic_load_explicit(&trace.begin, memory_order_relaxed);
    if (!begin)
        return;
    name_task(t, task);
    lt_tracer_put(t, (struct lt_event){
                         .at = begin, .kind = LT_EV_RUNS, .party = task->number, .number = 1 });
}

void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to)
{
    unsigned probing = lt_probing();
    if (probing & LT_PROBE_WAITS && from)
        from->left = lt_clock_now();
    struct lt_tracer *t = probing & LT_PROBE_TRACE ? lt_tracer_of(worker) : NULL;
    if (!t)
        return;
    if (lt_tracer_is_fresh(t) && from)
        ran_before(t, from);
    if (to && !to->sp) /* its first time */
        name_task(t, to);
    lt_tracer_put_now(t, (struct lt_event){ .kind = LT_EV_RUNS,
                                            .party = to ? to->number : 0,
                                            .number = to != NULL });
}

void lt_trace_step(struct lt_worker *worker, const struct lt_party *party)
{
    struct lt_tracer *t = lt_tracer_of(worker);
    const char *name = NULL;
    if (!t)
        return;
    lt_tracer_is_fresh(t);              /* from now on it is not */
    if (party && party->kind == LT_JOB) /* leat's own work */
        party = NULL;
    if (party && party->kind == LT_BLOCK)
        name = lt_tracer_name_of_type(t, ((const leat_block *)(const void *)party)->type);
    lt_tracer_put_now(
        t, (struct lt_event){ .kind = LT_EV_RUNS, .party = identity(party), .text = name });
}

void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner)
{
    lt_trace_put((struct lt_event){ .kind = sent ? LT_EV_SENT : LT_EV_RECEIVED,
                                    .number = channel,
                                    .count = n,
                                    .party = identity(partner) });
}

void lt_trace_new_channel(uint32_t channel, const char *name)
{
    struct lt_worker *worker = lt_current_worker();
    /* The name of a thread's channel is not kept: copying it would take the threads' lock. */
    struct lt_tracer *t = worker ? lt_tracer_of(worker) : NULL;
    lt_trace_put((struct lt_event){ .kind = LT_EV_CHANNEL,
                                    .number = channel,
                                    .text = t ? lt_tracer_copy_name(t, name) : NULL });
}

void lt_trace_scope(uint32_t scope, bool opened)
{
    lt_trace_put(
        (struct lt_event){ .kind = opened ? LT_EV_OPENED : LT_EV_CLOSED, .number = scope });
}

/* ---- beginning and end ---- */

static bool take(void)
{
    /* Acquire: the former trace is over. */
    return !atomic_exchange_explicit(&trace.taken, true, memory_order_acquire);
}

static void give_up(void)
{
    lt_look_end(&trace.now.look);
    trace.now = (struct lt_recording){ 0 };
    atomic_store_explicit(&trace.taken, false, memory_order_release); /* see take */
}

static int begin(bool late)
{
    int error = lt_tracers_make(late);
    if (error)
        return error;
    /* 0 until the beginning is known: by then all workers see the flag. */
    atomic_store_explicit(&trace.begin, 0, memory_order_relaxed);
    trace.now.late = late;
    trace.now.workers = lt_runtime.worker_count;
    lt_tracers_begin();
    return 0;
}

int lt_trace_begin(const char *file)
{
    int saved = errno;
    take(); /* always succeeds: the runtime has not begun */
    int error = begin(false);
    if (!error && !(trace.file = fopen(file, "we")))
        error = -errno;
    errno = saved;
    return error;
}

static void end_file(void)
{
    trace.now.lost = lt_tracers_lost();
    int saved = errno, error = lt_trace_write(trace.file, &trace.now);
    if (fclose(trace.file) != 0 && !error)
        error = -EIO;
    trace.file = NULL;
    if (error)
        dprintf(STDERR_FILENO, "leat: the trace could not be written\n");
    errno = saved;
}

void lt_trace_end(void)
{
    if (trace.file)
        end_file();
    lt_tracers_free();
    give_up();
}

static void show_switches(bool on)
{
    /* Acquire: what the caller does next, such as reading the clock, comes after it. Release: what
     * the caller has done came before. Other bits are kept. */
    if (on)
        atomic_fetch_or_explicit(&lt_probe_flags, LT_PROBE_TRACE, memory_order_acq_rel);
    else
        atomic_fetch_and_explicit(&lt_probe_flags, ~(unsigned)LT_PROBE_TRACE, memory_order_acq_rel);
}

/* Sets the flag before the look: each task has started earlier and the look finds it, or the switch
 * to it reports its name. */
static int look_on(struct lt_recording *now)
{
    show_switches(true);
    now->begin = lt_clock_now();
    atomic_store_explicit(&trace.begin, now->begin, memory_order_relaxed);
    int error = lt_look_begin(&now->look, NULL, LT_LOOK_USUAL);
    now->looked = lt_clock_now();
    if (error)
        now->look = (struct lt_look){ 0 };
    return error == -EINVAL ? 0 : error; /* -EINVAL: the runtime is stopping, and nothing is left */
}

int lt_trace_record(void)
{
    if (!take())
        return -EBUSY;
    int error = begin(true);
    if (!error)
        error = look_on(&trace.now);
    if (error) {
        show_switches(false);
        give_up();
    }
    return error;
}

int lt_trace_end_record(FILE *to)
{
    int saved = errno;
    show_switches(false);
    trace.now.end = lt_clock_now();
    trace.now.lost = lt_tracers_lost();
    int error = to ? lt_trace_write(to, &trace.now) : 0;
    if (to && fflush(to) != 0 && !error)
        error = -EIO;
    give_up();
    errno = saved;
    return error;
}
