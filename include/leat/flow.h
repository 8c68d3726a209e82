/* leat/flow.h: operators: what stands between channels.
 *
 *     leat_chan *all = leat_merge(s, (leat_chan *[]){ a, b, c }, 3, 0);
 *     leat_chan *odd, *even;
 *     leat_split(s, leat_through(s, all, leat_dedupe(sizeof(int)), 1, NULL), is_odd, NULL, &odd, &even, 4);
 *     leat_mult *m = leat_mult_open(s, odd, NULL);
 *
 * Rules that hold for all of them.
 *  - An operator is a block, or a few, in memory of its scope: it needs no task and no stack, and all it
 *    allocates is allocated by the call that makes it. It counts as a task of its scope: closing the scope waits
 *    until its inputs are closed, or the scope is cancelled.
 *  - When its inputs are closed and what came of them is delivered, it closes its output (or does what `ending`
 *    says). When its output has been closed by somebody else, it ends as soon as it has an item for it, and takes
 *    no more; who should end earlier is cancelled.
 *  - When its scope is cancelled it cuts its output short (leat_cut; LEAT_ENDS_DONE: whoever closes it then), and also
 *    when its input was cut short, or a function of its own has failed. So a receiver, in whatever scope, is told
 *    -EPIPE only of an output that is complete; else -ECANCELED, behind what there was.
 *  - An item that it has taken and cannot deliver, then or when its scope is cancelled, goes to the drop
 *    function of the channel it came from; so does one that it is told to leave out.
 *  - A channel that it makes belongs to its scope, and has the item size and the drop function of its input, where
 *    the items are the same.
 *  - The functions that it calls run on workers, one at a time for each operator, and must not wait.
 *  - NULL channels and other wrong arguments: NULL, or -EINVAL; no memory: NULL, or -ENOMEM. So operators chain, and
 *    failures pass through. What makes several things at once returns 0, -EINVAL or -ENOMEM.
 *  - The rules of leat_go say who may make one; that never waits.
 *
 * Any party may send to what they receive from, and receive from what they send to. */
#ifndef LEAT_FLOW_H
#define LEAT_FLOW_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operator does with its output when it is at its end. */
typedef enum leat_ending {
    LEAT_ENDS_CLOSED, /* leat_close, or leat_cut */
    LEAT_ENDS_DONE,   /* leat_chan_done: the caller has counted it by leat_chan_senders */
    LEAT_ENDS_OPEN    /* nothing: others send to it, too */
} leat_ending;

/* ---- one to one ---- */

/*     in ──▶ out
 * Moves every item. One that the output's transform refuses is dropped.
 * Returns `out`, or NULL. */
LEAT_API leat_chan *leat_pipe(leat_scope *scope, leat_chan *in, leat_chan *out, leat_ending ending);

/*     in ──▶ [transform] ──▶ new channel
 * Passes items through a transform: the first n items (leat_take), without repetitions (leat_dedupe, leat_distinct),
 * runs (leat_partition, leat_partition_by), and whatever else a transform does. `transform` becomes the channel's,
 * also when this fails. `capacity` is 1 or more; `drop` is for what comes out.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_through(leat_scope *scope, leat_chan *in, leat_transform *transform,
                                 size_t capacity, leat_drop_fn *drop);

/* ---- several to one ---- */

/*     a ──▶┐
 *     b ──▶┼──▶ new channel
 *     c ──▶┘
 * Merges: items of all n inputs, as they come; closed when all inputs are. The inputs have items of one size, and the
 * same drop function. With n = 0 it is closed from the beginning, and of no bytes.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_merge(leat_scope *scope, leat_chan *const *ins, size_t n, size_t capacity);

/* Makes one item out of one of each input: items[i] is that of input i. 0, or an error: then there is none. */
typedef int leat_combine_fn(void *arg, void *const *items, void *out);

/*     a ──▶┐
 *     b ──▶┤ fn ──▶ new channel
 *     c ──▶┘
 * Combines, as core.async's map: takes one item of each of the n inputs, and sends what fn makes of them,
 * whose items they are then. With a NULL fn, all of them, one behind the other without gaps: a zip; the spec's
 * item_size is not looked at. Closed when one of the inputs is closed; items that were taken from the others in that
 * round are dropped; with n = 0 closed from the beginning, as a merge. `out` is the new channel's, whose drop function is for what comes out.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n,
                                 leat_combine_fn *fn, void *arg, const leat_chan_spec *out);

/* ---- one to several ---- */

/*               ┌──▶ yes
 *     in ──▶ test
 *               └──▶ no
 * Splits into two new channels. Items for one that is closed are dropped, and so are those on which the test fails;
 * when both are closed, it ends. leat_split_sized has a capacity for each.
 * Returns 0, -EINVAL, -ENOMEM; the channels stand at `yes` and `no` with 0 only. */
LEAT_API int leat_split(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                        leat_chan **yes, leat_chan **no, size_t capacity);
LEAT_API int leat_split_sized(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                              leat_chan **yes, leat_chan **no, size_t yes_capacity,
                              size_t no_capacity);

/*               ┌──▶ outs[0]
 *     in ──▶ least filled
 *               └──▶ outs[n-1]
 * Balances: each item to one of the n outputs, that with the fewest items in its buffer; waits for any when all are
 * full. Ends when one is closed; `ending` is for all of them.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_balance(leat_scope *scope, leat_chan *in, leat_chan *const *outs, size_t n,
                          leat_ending ending);

/* ---- mult: every item to every tap ----
 *
 *               ┌──▶ tap
 *     in ──▶ mult ──▶ tap
 *               └──▶ tap
 *
 * The next item is taken when every tap has the one before: a slow tap holds up the others. One that is lossy
 * does not, nor one whose channel drops or slides, nor one that is closed or removed, from that moment on, not even
 * if it was being waited for. Without taps, items are dropped. */

typedef struct leat_mult leat_mult;

/* Called for each copy of an item that is handed to a tap: to take another reference, where items hold
 * one. A copy that does not arrive is dropped. Must not wait. (Without it, an item is dropped if no tap got
 * it.) */
typedef void leat_share_fn(void *item);

/* Makes a mult of `in`. `share` may be NULL: items are plain values.
 * Returns NULL for a NULL argument, or when memory has run out. */
LEAT_API leat_mult *leat_mult_open(leat_scope *scope, leat_chan *in, leat_share_fn *share);

/* A flag of taps: what it has no room for at once, it misses; see leat_tap_missed. */
enum { LEAT_TAP_LOSSY = 1 };

/* Adds a channel with items of the input's size: it gets the items that are handed out from now on, and its end
 * as `ending` says when the input is closed. A channel that is a tap already is left as it is. One that is found
 * closed is removed. While it is a tap, one without a scope has a reference more. After the input's end: the
 * channel is ended at once.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_tap(leat_mult *mult, leat_chan *ch, unsigned flags, leat_ending ending);

/* Removes one tap, or all; the channel is left open. It may still get the item that is being handed to it while this
 * is called, and nothing after that. Never waits.
 * Returns 0; -ENOENT when it is no tap; -EINVAL for NULL. */
LEAT_API int leat_untap(leat_mult *mult, leat_chan *ch);
LEAT_API int leat_untap_all(leat_mult *mult);

/* Returns how many items a lossy tap has missed: its lag, to be reported; -ENOENT when it is no tap; -EINVAL for
 * NULL. */
LEAT_API int64_t leat_tap_missed(leat_mult *mult, leat_chan *ch);

/* ---- pub: every item to those who subscribe to its topic ----
 *
 *                      ┌──▶ buffer ──▶ mult ──▶ subscribers to one topic
 *     in ──▶ topic of ─┤
 *                      └──▶ buffer ──▶ mult ──▶ subscribers to another
 *
 * Items of a topic that nobody subscribes to are dropped. A topic whose buffer is full holds up the others. */

typedef struct leat_pub leat_pub;

/* What an item is about. */
typedef uint64_t leat_topic_fn(void *arg, const void *item);

/* What a pub is. Zero means its default, but for the function. */
typedef struct leat_pub_spec {
    leat_topic_fn *topic;
    void *arg;
    size_t capacity;      /* of each topic's buffer; 1 or more where it drops or slides */
    leat_buffer buffer;   /* its kind; a promise it cannot be */
    leat_share_fn *share; /* as for leat_mult_open */
} leat_pub_spec;

/* Makes a pub of `in`. `spec` is copied.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_pub *leat_pub_open(leat_scope *scope, leat_chan *in, const leat_pub_spec *spec);

/* Subscribe a channel to a topic, and end that: as leat_tap and leat_untap. The first to subscribe to a topic makes
 * its buffer and mult, or gets those of one that nobody subscribes to any more: it is a party that belongs to the
 * scope, or keeps it open otherwise.
 * leat_sub returns 0, -EINVAL, -ENOMEM; leat_unsub returns 0, -ENOENT when it does not subscribe to that, -EINVAL. */
LEAT_API int leat_sub(leat_pub *pub, uint64_t topic, leat_chan *ch, unsigned flags,
                      leat_ending ending);
LEAT_API int leat_unsub(leat_pub *pub, uint64_t topic, leat_chan *ch);

/* End the subscriptions of all who subscribe to one topic, or to any; the channels are left open, as by leat_untap_all.
 * Who begins to subscribe meanwhile may be among them. Never wait.
 * Returns 0, also when there are none; -EINVAL for NULL. */
LEAT_API int leat_unsub_topic(leat_pub *pub, uint64_t topic);
LEAT_API int leat_unsub_all(leat_pub *pub);

/* ---- mix: inputs that come, go, and are switched ----
 *
 *     a ──▶┐
 *     b ──▶┼──▶ out
 *     c ─x ┘
 */

typedef struct leat_mix leat_mix;

/* What an input does. Solo, and not paused: while there is such an input, all others do what the mix's
 * `others` says. */
enum {
    LEAT_MIX_MUTE = 1,  /* its items are taken, and dropped */
    LEAT_MIX_PAUSE = 2, /* its items are not taken */
    LEAT_MIX_SOLO = 4
};

/* Makes a mix into `out`, which it never closes; `others`: LEAT_MIX_MUTE or LEAT_MIX_PAUSE. A closed `out` ends the
 * inputs as they come to send.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_mix *leat_mix_open(leat_scope *scope, leat_chan *out, unsigned others);

/* Changes what the others do while an input is solo: core.async's `solo-mode`. Holds from the next item on.
 * Returns 0, or -EINVAL for NULL, or what is neither LEAT_MIX_MUTE nor LEAT_MIX_PAUSE. */
LEAT_API int leat_mix_others(leat_mix *mix, unsigned others);

/* Adds an input, or changes what one does, from the next item on. An input that is closed is removed.
 * The rules of leat_go say who may add.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_admix(leat_mix *mix, leat_chan *in, unsigned state);

/* Removes one input, or all: nothing more is taken from it, but what is being taken while this is called is still
 * delivered. Never waits.
 * Returns 0; -ENOENT when it is none; -EINVAL for NULL. */
LEAT_API int leat_unmix(leat_mix *mix, leat_chan *in);
LEAT_API int leat_unmix_all(leat_mix *mix);

/* ---- beginnings and ends ---- */

/* Sends n items that lie one behind the other at `items`, which stay there until it has ended, and then ends `ch`.
 * What was not sent is still the caller's.
 * Returns `ch`, or NULL. */
LEAT_API leat_chan *leat_onto(leat_scope *scope, leat_chan *ch, const void *items, size_t n,
                              leat_ending ending);

/* Makes a channel with a copy of n items of item_size bytes inside, and closes it behind them.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_to_chan(leat_scope *scope, const void *items, size_t item_size, size_t n,
                                 leat_drop_fn *drop);

/* Puts the next item at `item` and returns 0; anything else: there are no more, and a negative errno value is the
 * generator's verdict, which cancels the scope. */
typedef int leat_next_fn(void *arg, void *item);

/*     next ──▶ new channel
 * Generates: calls `next` whenever there is room for an item.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_generate(leat_scope *scope, leat_next_fn *next, void *arg,
                                  const leat_chan_spec *spec);

/* Finds a task's value: fills it in at `value` (item_size bytes, 0 before), which is sent when it returns 0. Another
 * value is the task's verdict. */
typedef int leat_value_fn(void *arg, void *value);

/*     leat_chan *leat_go_value(leat_scope *scope, leat_value_fn *fn, void *arg, const leat_chan_spec *spec);
 *     leat_chan *leat_go_blocking_value(leat_scope *scope, leat_value_fn *fn, void *arg, const leat_chan_spec *spec);
 *
 * Starts a task, or, the second, a task on an OS thread of its own (leat_go_blocking), whose value comes on a new
 * channel: core.async's `thread`. The channel is a handle to wait for that one task, by any party and in selects: one
 * receiver gets the value, and whoever receives after that -EPIPE. The task does not wait for them. With items of 0
 * bytes it is waited for without a value.
 * When fn returns something other than 0, the channel is cut short (leat_cut) and the scope cancelled, as after any task.
 * Who wants to be told of an error instead puts it into the value.
 * `spec` says what the channel is (item_size, drop, name); a capacity is not looked at. The rules of leat_go.
 * Returns the channel, which belongs to the scope; NULL when memory has run out, or an argument is wrong (a lossy
 * buffer and a transform are). Then fn will not be called. */
#define leat_go_value(scope, fn, arg, ...) \
    leat_go_value_named(scope, fn, arg, __VA_ARGS__, LEAT_HERE(fn))
#define leat_go_blocking_value(scope, fn, arg, ...) \
    leat_go_blocking_value_named(scope, fn, arg, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API leat_chan *leat_go_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                                        const leat_chan_spec *spec, const char *name);
LEAT_API leat_chan *leat_go_blocking_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                                                 const leat_chan_spec *spec, const char *name);

/* Adds an item to what there is so far. 0, LEAT_ENOUGH: it is the last, or an error. The item is the function's. */
typedef int leat_reduce_fn(void *state, const void *item);

/* Receives until the channel is closed, or enough; for tasks and threads. (Before it, leat_through: a
 * transduce.)
 * Returns 0; the function's error; -ECANCELED, also when the channel was cut short; -EINVAL for a NULL `in` or fn; -ENOMEM; -EDEADLK where the caller
 * cannot wait. */
LEAT_API int leat_reduce(leat_chan *in, leat_reduce_fn *fn, void *state);

/* The same by an operator: when it has ended, `state` (state_size bytes, which stay there until then) is sent
 * to the new channel it returns, which has room for it, and is closed. After an error, or when `in` was cut short, it
 * is cut short without; an error of the function's cancels the scope.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_reduce_into(leat_scope *scope, leat_chan *in, leat_reduce_fn *fn,
                                     void *state, size_t state_size);

/* Receives up to n items, until the channel is closed, one behind the other into `items`; for tasks and
 * threads. With fewer than n there are no more, or an error came in between, which the next call tells.
 * Returns how many; or, when there was an error before the first, -ECANCELED, -EINVAL for a NULL, or -EDEADLK where
 * the caller cannot wait. */
LEAT_API int64_t leat_into(leat_chan *in, void *items, size_t n);

#ifdef __cplusplus
}
#endif

#endif
