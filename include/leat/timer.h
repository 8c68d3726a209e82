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
 * To wait for something only so long, none of this is needed: waiting takes a deadline. A timer is for what
 * is to happen if something else does not.
 *
 * Where it is called: on a worker, as callbacks are (leat/callback.h), and so it must not wait: functions
 * that wait return -EDEADLK there. It may set the same timer again. Never early; late by as much as the
 * worker is busy: with one worker whose task computes for a second, by a second.
 *
 * Owning. The struct is the caller's and stays where it is while the timer is set: until the function is
 * called, which may free it, or until leat_timer_stop has returned 0. Nothing is allocated, and any number
 * may be set.
 *
 * A timer of a scope is called with -ECANCELED as soon as the scope is cancelled, and closing the scope waits
 * for it, as for a task. The runtime must be running. */
#ifndef LEAT_TIMER_H
#define LEAT_TIMER_H

#include <leat/base.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_timer leat_timer;

/* What is called. `status` is 0 when the time has passed, -ECANCELED when the timer's scope was cancelled before. */
typedef void leat_timer_fn(leat_timer *timer, int status);

/* Memory for a timer. leat_timer_init or LEAT_TIMER fills it in. */
struct leat_timer {
    void *leat_private[16];
    leat_timer_fn *leat_fn;
    /* NULL: none; then leat_stop is -EBUSY while the timer is set. */
    leat_scope *scope;
};

/* Initialises a leat_timer that belongs to the scope, or with NULL to none. */
/* clang-format off */
#define LEAT_TIMER(in_scope) { { NULL }, NULL, (in_scope) }
/* clang-format on */

/* The same for memory that is there, whatever it holds; the quicker way, since it writes only what must be known. The
 * timer is not set, and nobody else uses it meanwhile; `scope` may be NULL.
 * Returns 0; -EINVAL when `timer` is NULL. */
LEAT_API int leat_timer_init(leat_timer *timer, leat_scope *scope);

/* Sets a timer that is not set: fn(timer, status) is called once, when `ns` nanoseconds have passed; with 0
 * or less: soon; with LEAT_NEVER: not before the scope is cancelled. `timer` was initialised. With a scope, who may
 * call is as for leat_go. Never waits.
 * Returns 0; -EBUSY when it is set already; -EINVAL for NULL, or when no runtime runs. Unless 0, fn is not called for
 * this. It cannot run out of memory. */
LEAT_API int leat_after_func(leat_timer *timer, int64_t ns, leat_timer_fn *fn);

/* The same with an absolute deadline.
 * Returns what leat_after_func does; -EINVAL also for a negative deadline. */
LEAT_API int leat_at_func(leat_timer *timer, int64_t deadline, leat_timer_fn *fn);

/* Stops a timer; anybody may, and it never waits. The call that set it must have returned, unless
 * the timer's own function makes it.
 * Returns 0 when that was in time: fn has not been called, will not be, and the struct may be gone at
 * once. Else -EALREADY: it is not set, and if it was, fn has been, is being or will be called. (So the
 * struct must be known to exist still.) -EINVAL for NULL. */
LEAT_API int leat_timer_stop(leat_timer *timer);

#ifdef __cplusplus
}
#endif

#endif
