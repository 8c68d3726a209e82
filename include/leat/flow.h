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
 *  - An item that it has taken and cannot deliver, then or when its scope is cancelled, goes to the drop
 *    function of the channel it came from; so does one that it is told to leave out.
 *  - A channel that it makes belongs to its scope, and has the item size and the drop function of its input, where
 *    the items are the same.
 *  - The functions that it calls run on workers, one at a time for each operator, and must not wait.
 *  - NULL channels and other wrong arguments: NULL, or -EINVAL. So operators chain, and failures pass
 *    through. What makes several things at once returns 0, -EINVAL or -ENOMEM.
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
    LEAT_ENDS_CLOSED, /* leat_close */
    LEAT_ENDS_DONE,   /* leat_chan_done: the caller has counted it by leat_chan_senders */
    LEAT_ENDS_OPEN    /* nothing: others send to it, too */
} leat_ending;

/* ---- one to one ---- */

/*     in ──▶ out
 * Moves every item. One that the output's transform refuses is dropped. Returns `out`. */
LEAT_API leat_chan *leat_pipe(leat_scope *scope, leat_chan *in, leat_chan *out, leat_ending ending);

/*     in ──▶ [transform] ──▶ new channel
 * The first n items (leat_take), without repetitions (leat_dedupe, leat_distinct), runs (leat_partition,
 * leat_partition_by), and whatever else a transform does. `transform` becomes the channel's, also when this
 * fails. `capacity` is 1 or more; `drop` is for what comes out. */
LEAT_API leat_chan *leat_through(leat_scope *scope, leat_chan *in, leat_transform *transform,
                                 size_t capacity, leat_drop_fn *drop);

/* ---- several to one ---- */

/*     a ──▶┐
 *     b ──▶┼──▶ new channel
 *     c ──▶┘
 * Items of all n inputs, as they come; closed when all inputs are. The inputs have items of one size, and the
 * same drop function. With n = 0 it is closed from the beginning, and of no bytes. */
LEAT_API leat_chan *leat_merge(leat_scope *scope, leat_chan *const *ins, size_t n, size_t capacity);

/* Makes one item out of one of each input: items[i] is that of input i. 0, or an error: then there is none. */
typedef int leat_combine_fn(void *arg, void *const *items, void *out);

/*     a ──▶┐
 *     b ──▶┤ fn ──▶ new channel
 *     c ──▶┘
 * core.async's map: takes one item of each of the n inputs, 1 or more, and sends what fn makes of them, whose
 * items they are then. With a NULL fn, all of them, one behind the other without gaps: a zip; the spec's item_size
 * is not looked at. Closed when one of the inputs is closed; items that were taken from the others in that round
 * are dropped. `out` is the new channel's, whose drop function is for what comes out. */
LEAT_API leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n,
                                 leat_combine_fn *fn, void *arg, const leat_chan_spec *out);

/* ---- one to several ---- */

/*               ┌──▶ yes
 *     in ──▶ test
 *               └──▶ no
 * Two new channels. Items for one that is closed are dropped, and so are those on which the test fails; when
 * both are closed, it ends. */
LEAT_API int leat_split(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                        leat_chan **yes, leat_chan **no, size_t capacity);

/*               ┌──▶ outs[0]
 *     in ──▶ least filled
 *               └──▶ outs[n-1]
 * Each item to one of the n outputs, that with the fewest items in its buffer; waits for any when all are full.
 * Ends when one is closed; `ending` is for all of them. Returns 0, -EINVAL, -ENOMEM. */
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

/* `share` may be NULL: items are plain values. A NULL `in`: NULL. */
LEAT_API leat_mult *leat_mult_open(leat_scope *scope, leat_chan *in, leat_share_fn *share);

enum { LEAT_TAP_LOSSY = 1 }; /* what it has no room for at once, it misses; see leat_tap_missed */

/* Adds a channel with items of the input's size: it gets the items that are handed out from now on, and its end
 * as `ending` says when the input is closed. A channel that is a tap already is left as it is. One that is found
 * closed is removed. While it is a tap, one without a scope has a reference more. After the input's end: the
 * channel is ended at once.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_tap(leat_mult *mult, leat_chan *ch, unsigned flags, leat_ending ending);

/* Removes one, or all; the channel is left open. It may still get the item that is being handed to it while this is
 * called, and nothing after that. 0; -ENOENT when it is no tap; -EINVAL. */
LEAT_API int leat_untap(leat_mult *mult, leat_chan *ch);
LEAT_API int leat_untap_all(leat_mult *mult);

/* How many items a lossy tap has missed: its lag, to be reported. -ENOENT when it is no tap; -EINVAL. */
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

typedef struct leat_pub_spec {
    leat_topic_fn *topic;
    void *arg;
    size_t capacity;      /* of each topic's buffer; 1 or more where it drops or slides */
    leat_buffer buffer;   /* its kind; a promise it cannot be */
    leat_share_fn *share; /* as for leat_mult_open */
} leat_pub_spec;

LEAT_API leat_pub *leat_pub_open(leat_scope *scope, leat_chan *in, const leat_pub_spec *spec);

/* As leat_tap and leat_untap, for a topic. The first to subscribe to a topic makes its buffer and mult, or gets those
 * of one that nobody subscribes to any more: it is a party that belongs to the scope, or keeps it open otherwise. */
LEAT_API int leat_sub(leat_pub *pub, uint64_t topic, leat_chan *ch, unsigned flags,
                      leat_ending ending);
LEAT_API int leat_unsub(leat_pub *pub, uint64_t topic, leat_chan *ch);

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

/* A mix into `out`, which it never closes; `others`: LEAT_MIX_MUTE or LEAT_MIX_PAUSE. A closed `out` ends the
 * inputs as they come to send. NULL: no memory, or wrong arguments. */
LEAT_API leat_mix *leat_mix_open(leat_scope *scope, leat_chan *out, unsigned others);

/* Adds an input, or changes what one does, from the next item on. An input that is closed is removed.
 * The rules of leat_go say who may add. Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_admix(leat_mix *mix, leat_chan *in, unsigned state);

/* Removes one, or all: nothing more is taken from it, but what is being taken while this is called is still
 * delivered. 0; -ENOENT when it is none; -EINVAL. */
LEAT_API int leat_unmix(leat_mix *mix, leat_chan *in);
LEAT_API int leat_unmix_all(leat_mix *mix);

/* ---- beginnings and ends ---- */

/* Sends n items that lie one behind the other at `items`, which stay there until it has ended, and then ends `ch`.
 * What was not sent is still the caller's. Returns `ch`. */
LEAT_API leat_chan *leat_onto(leat_scope *scope, leat_chan *ch, const void *items, size_t n,
                              leat_ending ending);

/* A new channel with a copy of n items inside, and closed behind them. */
LEAT_API leat_chan *leat_to_chan(leat_scope *scope, const void *items, size_t item_size, size_t n,
                                 leat_drop_fn *drop);

/* Puts the next item at `item` and returns 0; anything else: there are no more, and a negative errno value is the
 * generator's verdict, which cancels the scope. */
typedef int leat_next_fn(void *arg, void *item);

/*     next ──▶ new channel
 * Calls `next` whenever there is room for an item. */
LEAT_API leat_chan *leat_generate(leat_scope *scope, leat_next_fn *next, void *arg,
                                  const leat_chan_spec *spec);

/* Adds an item to what there is so far. 0, LEAT_ENOUGH: it is the last, or an error. The item is the function's. */
typedef int leat_reduce_fn(void *state, const void *item);

/* Receives until the channel is closed, or enough; for tasks and threads. (Before it, leat_through: a
 * transduce.) Returns 0, the function's error, -ECANCELED, -EINVAL, -ENOMEM, -EDEADLK. */
LEAT_API int leat_reduce(leat_chan *in, leat_reduce_fn *fn, void *state);

/* The same by an operator: when it has ended, `state` (state_size bytes, the caller's until then) is sent
 * to the new channel it returns, which has room for it, and closed. After an error it is closed without. */
LEAT_API leat_chan *leat_reduce_into(leat_scope *scope, leat_chan *in, leat_reduce_fn *fn,
                                     void *state, size_t state_size);

/* Receives up to n items, until the channel is closed, one behind the other into `items`; for tasks and
 * threads. Returns how many; or -ECANCELED, -EINVAL or -EDEADLK when there was an error before the first. */
LEAT_API int64_t leat_into(leat_chan *in, void *items, size_t n);

#ifdef __cplusplus
}
#endif

#endif
