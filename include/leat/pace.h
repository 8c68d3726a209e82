/* leat/pace.h: operators that look at the clock: they slow items down, thin them out, or gather them.
 *
 * The rules of leat/flow.h hold. Each returns a new channel with the given capacity, in items, or NULL when memory
 * has run out or an argument is wrong. Times are nanoseconds, 1 or more, and never less than told; they are the
 * operator's own timers, which nobody shares. */
#ifndef LEAT_PACE_H
#define LEAT_PACE_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

/*     in   a b c · · · · d · · ·
 *     out  · · · · · c · · · · d
 * Debounce: an item once `quiet` has passed without another; those before it are dropped. What there is when the
 * input closes is sent at once.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_debounce(leat_scope *scope, leat_chan *in, int64_t quiet, size_t capacity);

/*     in   a b c · d e · ·
 *     out  a · · · d · · ·
 * Throttle: an item, and then none for `interval`: those that come meanwhile are dropped.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_throttle(leat_scope *scope, leat_chan *in, int64_t interval,
                                  size_t capacity);

/*     in   a b · c · · · · d ·
 *     out  · · b · · c · · · · d
 * Sample: every `interval` the last item that has come since; none if none has. The others are dropped. What
 * there is when the input closes is sent at once.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_sample(leat_scope *scope, leat_chan *in, int64_t interval,
                                size_t capacity);

/* Gathers runs, as leat_partition makes them: of n items, or of those that have come within `time` after the first of
 * the run. The last is what there is when the input closes. `drop` is for runs. n is 1 or more; a run has no more
 * than 1 MiB.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_window(leat_scope *scope, leat_chan *in, size_t n, int64_t time,
                                size_t capacity, leat_drop_fn *drop);

/* A token bucket (ITU-T I.371's generic cell rate algorithm): all items, later. There is a token every `interval`, up
 * to `burst` of them, 1 or more, are kept, and each item needs one.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_rate(leat_scope *scope, leat_chan *in, int64_t interval, unsigned burst,
                              size_t capacity);

/* Passes all items on, until there is none for `time`: then the output is closed.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_lapse(leat_scope *scope, leat_chan *in, int64_t time, size_t capacity);

/* How often, and with what pauses. Zero is the default. */
typedef struct leat_retrying {
    unsigned tries; /* all told; 0: without end */
    int64_t pause;  /* before the second; 0: 10 ms. Each further one is twice as long, */
    int64_t most;   /* up to this; 0: 10 s */
    int exact;      /* else each is shortened by chance, to as little as half: so that many who have
                       failed together do not come back together */
} leat_retrying;

/* Calls fn(arg) until it returns 0, and pauses in between; for tasks and threads. `how` may be NULL.
 * Returns 0; what it returned at last; -ECANCELED at once when it returned that in a cancelled scope, or the scope
 * is cancelled in a pause; -EINVAL for a NULL fn or a negative time; -EDEADLK when it would pause in a block or
 * callback. */
LEAT_API int leat_retry(leat_fn *fn, void *arg, const leat_retrying *how);

#ifdef __cplusplus
}
#endif

#endif
