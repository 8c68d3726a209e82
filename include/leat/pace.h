/* leat/pace.h: operators that use the clock: they slow items down, thin them out, or gather them.
 *
 * The rules of leat/flow.h hold. Each operator makes a new channel with a capacity of `capacity`
 * items, and has timers of its own. Times are in nanoseconds, 1 or more, and an operator waits at
 * least that long. If an operator runs late, since its worker was busy, it first takes the items
 * that have come meanwhile, as if they had come in time. So leat_debounce and leat_sample then drop
 * an item that was due when another has come. */
#ifndef LEAT_PACE_H
#define LEAT_PACE_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/transform.h>

/*     in   a b c · · · · d · · ·
 *     out  · · · · · c · · · · d
 * Debounce: when `quiet` has passed since the last item, sends that item. The items before it are
 * dropped. When the input closes, the item that is left is sent at once.
 * Returns the new channel, or NULL when memory has run out or an argument is wrong. */
LEAT_API leat_chan *leat_debounce(leat_scope *scope, leat_chan *in, int64_t quiet, size_t capacity);

/*     in   a b c · d e · ·
 *     out  a · · · d · · ·
 * Throttle: sends an item, and then no other item for `interval`; items that come in that time are
 * dropped.
 * Returns the new channel, or NULL when memory has run out or an argument is wrong. */
LEAT_API leat_chan *leat_throttle(leat_scope *scope, leat_chan *in, int64_t interval,
                                  size_t capacity);

/*     in   a b · c · · · · d ·
 *     out  · · b · · c · · · · d
 * Sample: every `interval`, sends the last item that came in that interval, if any came. The other
 * items are dropped. When the input closes, the item that is left is sent at once.
 * Returns the new channel, or NULL when memory has run out or an argument is wrong. */
LEAT_API leat_chan *leat_sample(leat_scope *scope, leat_chan *in, int64_t interval,
                                size_t capacity);

/* Gathers runs like those of leat_partition (leat/transform.h). A run ends after n items, 1 or
 * more, or when `time` has passed since its first item. When the input closes, the items that are
 * left form the last run. A run has at most 1 MiB. `drop` is the new channel's drop function, which
 * gets runs.
 * Returns the new channel, or NULL when memory has run out or an argument is wrong. */
LEAT_API leat_chan *leat_window(leat_scope *scope, leat_chan *in, size_t n, int64_t time,
                                size_t capacity, leat_drop_fn *drop);

/* Limits the rate with a token bucket (the generic cell rate algorithm of ITU-T I.371): sends all
 * items, some later. Each item needs a token. A token comes every `interval`, and up to `burst`
 * tokens, 1 or more, are kept.
 * Returns the new channel, or NULL when memory has run out, an argument is wrong, or interval
 * times burst exceeds INT64_MAX. */
LEAT_API leat_chan *leat_rate(leat_scope *scope, leat_chan *in, int64_t interval, unsigned burst,
                              size_t capacity);

/* Passes all items on, and closes the output when no item has come for `time`.
 * Returns the new channel, or NULL when memory has run out or an argument is wrong. */
LEAT_API leat_chan *leat_lapse(leat_scope *scope, leat_chan *in, int64_t time, size_t capacity);

/* How often leat_retry tries, and how long it pauses. A field that is 0 has its default. */
typedef struct leat_retrying {
    unsigned tries; /* in all; 0: no limit */
    int64_t pause;  /* nanoseconds before the second try; 0: 10 ms; doubled for each further try */
    int64_t most;   /* the longest pause, in nanoseconds; 0: 10 s */
    /* 0: each pause is shortened at random, by up to a half, so that callers that failed together
     * do not try again together. Not 0: pauses are exact. */
    int exact;
} leat_retrying;

/* Calls fn(arg) until it returns 0 or a final error (leat_final), and pauses between the calls.
 * `how` may be NULL. For tasks and threads.
 * Returns 0; the value that the last call returned, without the mark of leat_final; -ECANCELED when
 * the caller's scope is cancelled in a pause, or when fn returns -ECANCELED in a cancelled scope;
 * -EINVAL for a NULL fn or a negative time; -EDEADLK when it would pause in a block or callback. */
LEAT_API int leat_retry(leat_fn *fn, void *arg, const leat_retrying *how);

/* Marks an error that no further try can mend: `return leat_final(-ENOENT);` in a function that
 * leat_retry calls ends the tries. Only leat_retry understands the mark. `error` is an errno value,
 * negative or not: from -4095 to 4095. Any other is not marked.
 * Returns the marked error. */
LEAT_API int leat_final(int error);

#endif
