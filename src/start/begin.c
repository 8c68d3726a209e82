/* begin.c: starts and ends the parts that the options and the environment ask for. */
#include "base/environment.h"
#include "dump/monitor.h"
#include "look/look.h"
#include "start/start.h"
#include "trace/trace.h"
#include "watch/frames.h"
#include "watch/since.h"

#include <leat/watch.h>

#include <errno.h>
#include <signal.h>

enum {
    KNOWN = LEAT_WATCH_WAITS | LEAT_WATCH_DEADLOCK | LEAT_WATCH_DEADLOCK_ABORT | LEAT_WATCH_STACKS
};

static int64_t read_ms(const char *variable)
{
    int64_t ms = lt_env_number(variable, 1000000000);
    return ms < 0 ? ms : ms * LEAT_MS;
}

static const struct lt_word details[] = { { "waits", LEAT_WATCH_WAITS },
                                          { "stacks", LEAT_WATCH_STACKS },
                                          { "waits,stacks", LEAT_WATCH_WAITS | LEAT_WATCH_STACKS },
                                          { NULL, 0 } };
static const struct lt_word deadlock[] = { { "report", LEAT_WATCH_DEADLOCK },
                                           { "abort", LEAT_WATCH_DEADLOCK_ABORT },
                                           { NULL, 0 } };
static const struct lt_word signals[] = { { "SIGQUIT", SIGQUIT },
                                          { "SIGUSR1", SIGUSR1 },
                                          { "SIGUSR2", SIGUSR2 },
                                          { "SIGHUP", SIGHUP },
                                          { NULL, 0 } };

static void end(void)
{
    lt_look_serve_end();
    lt_monitor_stop();
    atomic_store_explicit(&lt_probe_flags, 0, memory_order_relaxed);
    lt_frames_end();
    lt_since_end();
    lt_trace_end();
}

static int begin(const leat_options *options)
{
    int also = lt_env_word("LEAT_WATCH", details),
        on_deadlock = lt_env_word("LEAT_DEADLOCK", deadlock);
    int number = lt_env_word("LEAT_DUMP", signals);
    int64_t limit = options->watchdog ? options->watchdog : read_ms("LEAT_WATCHDOG");
    if (also < 0 || on_deadlock < 0 || number < 0 || (limit && limit < LEAT_MS) ||
        options->watch & ~(unsigned)KNOWN)
        return -EINVAL;
    unsigned watch = options->watch | (unsigned)also | (unsigned)on_deadlock;
    struct lt_plan plan = {
        .deadlock = watch & (LEAT_WATCH_DEADLOCK | LEAT_WATCH_DEADLOCK_ABORT),
        .abort = watch & LEAT_WATCH_DEADLOCK_ABORT,
        .watchdog = limit,
        .signal = number,
    };
    unsigned flags =
        (watch & LEAT_WATCH_WAITS ? LT_PROBE_WAITS : 0) | (plan.deadlock ? LT_PROBE_THREADS : 0);
    const char *trace = options->trace ? options->trace : lt_env("LEAT_TRACE");
    int error = trace && *trace ? lt_trace_begin(trace) : 0;
    if (error && !options->trace)
        lt_env_refuse("LEAT_TRACE", "a file that can be made");
    if (!error && trace && *trace)
        flags |= LT_PROBE_TRACE | LT_PROBE_ITEMS;
    atomic_store_explicit(&lt_probe_flags, flags, memory_order_relaxed);
    if (!error && watch & LEAT_WATCH_STACKS)
        lt_frames_begin();
    if (!error)
        error = lt_monitor_start(&plan);
    if (!error)
        error = lt_look_serve();
    if (error)
        end();
    return error;
}

const struct lt_observer lt_watch_observer = {
    .begin = begin,
    .end = end,
    .switches = lt_trace_switch,
    .wait = lt_since_wait,
    .wait_over = lt_since_wait_over,
    .step = lt_trace_step,
    .items = lt_trace_items,
    .new_channel = lt_trace_new_channel,
    .scope = lt_trace_scope,
};
