/* leat/timer.h: timers: functions that are called when a time has passed, unless they are stopped.
 *
 *     struct request { leat_timer timer; … };
 *     static void too_late(leat_timer *timer, int status) { … }
 *
 *     leat_timer_init(&request->timer, scope);
 *     leat_after_func(&request->timer, 500 * LEAT_MS, too_late);
 *     …
 *     if (leat_timer_stop(&request->timer) == 0)
 *         free(request);                        // too_late has not been called, and will not be
 *
 * To limit a wait, use the deadline that every wait takes. Use a timer for an action that is needed
 * if something else does not happen in time.
 *
 * The function. leat calls it on a worker, like a callback (leat/callback.h). It must not wait: a
 * call that would have to wait returns -EDEADLK there. It may set the same timer again. leat never
 * calls it early, but calls it late when the worker is busy: if there is one worker, and a task
 * computes for a second, leat may call the function a second late.
 *
 * Owning. The leat_timer belongs to the caller. It must stay in its place while the timer is set:
 * until leat calls the function, which may free it, or until leat_timer_stop has returned 0.
 * Nothing is allocated, and any number of timers may be set.
 *
 * Cancelling. When the scope of a timer is cancelled, leat calls the function soon, with
 * -ECANCELED. Closing the scope waits for the timer, as for a task. The runtime must be running.
 */
#ifndef LEAT_TIMER_H
#define LEAT_TIMER_H

#include <leat/base.h>
#include <leat/scope.h>

typedef struct leat_timer leat_timer;

/* The function of a timer. `status` is 0 when the time has passed, and -ECANCELED when the timer's
 * scope was cancelled before that. */
typedef void leat_timer_fn(leat_timer *timer, int status);

/* A timer. leat_timer_init or LEAT_TIMER initialises it. */
struct leat_timer {
    void *leat_private[16];
    leat_timer_fn *leat_fn;
    /* The timer's scope. NULL: none; then leat_stop returns -EBUSY while the timer is set. */
    leat_scope *scope;
};

/* Initialises a leat_timer. `in_scope` is its scope, or NULL for none. */
/* clang-format off */
#define LEAT_TIMER(in_scope) { { NULL }, NULL, (in_scope) }
/* clang-format on */

/* Initialises a timer. `scope` is its scope, or NULL for none. Before the call, the memory at
 * `timer` may hold anything. This is quicker than LEAT_TIMER, since it writes only some fields. The
 * timer must not be set, and no other party may use it during the call.
 * Returns 0; -EINVAL when `timer` is NULL. */
LEAT_API int leat_timer_init(leat_timer *timer, leat_scope *scope);

/* Sets a timer: leat calls fn(timer, status) once, when `ns` nanoseconds have passed. If `ns` is 0
 * or less, leat calls fn soon; with LEAT_NEVER, only when the scope is cancelled. `timer` must be
 * initialised and not set, and no other party may set it during the call. If it has a scope, only a
 * party that may call leat_go for that scope may call this. Never waits, and cannot run out of
 * memory.
 * Returns 0; -EBUSY when the timer is set already, or its function is about to be called; -EINVAL
 * for a NULL timer or fn, or when no runtime is running. Unless it returns 0, fn will not be called
 * for this call. */
LEAT_API int leat_after_func(leat_timer *timer, int64_t ns, leat_timer_fn *fn);

/* The same with a deadline instead of a duration.
 * Returns what leat_after_func does; -EINVAL also for a negative deadline. */
LEAT_API int leat_at_func(leat_timer *timer, int64_t deadline, leat_timer_fn *fn);

/* Stops a timer. Any party may call it, after the call that set the timer has returned; the timer's
 * own function may call it at any time. The leat_timer must still exist. Never waits.
 * Returns 0 when the call was in time: fn has not been called and will not be, and the leat_timer
 * may be freed. -EALREADY when the timer is not set: if it was set before, fn was called, runs now
 * or will be called. -EINVAL for NULL. */
LEAT_API int leat_timer_stop(leat_timer *timer);

#endif
