/* leat/flow.h: operators: they move items between channels.
 *
 *     leat_chan *all = leat_merge(s, (leat_chan *[]){ a, b, c }, 3, 0);
 *     leat_chan *odd, *even;
 *     leat_chan *changes = leat_through(s, all, leat_dedupe(sizeof(int)), 1, NULL);
 *     leat_split(s, changes, is_odd, NULL, &odd, &even, 4);
 *     leat_mult *m = leat_mult_open(s, odd, NULL);
 *
 * Rules for all operators:
 *  - An operator is one block, or a few, in memory of its scope: it needs no task and no stack. The
 *    call that makes the operator allocates all its memory. It counts as a task of its scope:
 *    closing the scope waits until the operator's inputs are closed or the scope is cancelled.
 *  - When its inputs are closed and it has delivered its last outputs, it closes its output (or
 *    does what `ending` says). If another party closes the output, the operator ends when it next
 *    has an item to send. To end it earlier, cancel its scope.
 *  - It cuts its output short (leat_cut) when its scope is cancelled, when its input was cut short,
 *    or when a function that it calls has failed and ends it. So a receiver in any scope gets
 *    -EPIPE only after a complete output; otherwise it gets -ECANCELED after the items that were
 *    sent. With LEAT_ENDS_DONE the channel counts as cut short when the last sender is done.
 *  - An item that it has taken and cannot deliver goes to the drop function of the channel that it
 *    came from. So does an item that it leaves out. A promise counts as a channel without a drop
 *    function: it keeps its item, and drops it itself.
 *  - A channel that it makes belongs to its scope. `capacity` is in items. If the items stay the
 *    same, the channel has the item size and the drop function of the input.
 *  - The functions that it calls run on workers, one at a time for each operator. They must not
 *    wait.
 *  - A NULL channel or another wrong argument yields NULL or -EINVAL; a lack of memory yields NULL
 *    or -ENOMEM. So calls chain, and a failure passes through them. What a call had made before it
 *    failed, the scope frees when it closes.
 *  - A party that may call leat_go for the scope may make an operator. To make one never waits.
 *
 * Any party may send to an operator's inputs and receive from its outputs. */
#ifndef LEAT_FLOW_H
#define LEAT_FLOW_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/transform.h>

/* What an operator does with its output when it ends. */
typedef enum leat_ending {
    LEAT_ENDS_CLOSED, /* closes it: leat_close, or leat_cut */
    LEAT_ENDS_DONE,   /* calls leat_chan_done; the caller has called leat_chan_senders for it */
    LEAT_ENDS_OPEN    /* leaves it open for other senders */
} leat_ending;

/* ---- one to one ---- */

/*     in ──▶ out
 * Moves every item from `in` to `out`.
 * Returns `out`, or NULL. */
LEAT_API leat_chan *leat_pipe(leat_scope *scope, leat_chan *in, leat_chan *out, leat_ending ending);

/*     in ──▶ [transform] ──▶ new channel
 * Passes items through a transform (leat/transform.h): the first n items (leat_take), items without
 * repetitions (leat_dedupe, leat_distinct), runs (leat_partition, leat_partition_by), and so on.
 * The operator owns `transform`, which is freed also when this call fails. `drop` is the drop
 * function of the new channel. leat/transform.h says which inputs go to the drop function of `in`.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_through(leat_scope *scope, leat_chan *in, leat_transform *transform,
                                 size_t capacity, leat_drop_fn *drop);

/* ---- several to one ---- */

/*     a ──▶┐
 *     b ──▶┼──▶ new channel
 *     c ──▶┘
 * Merges: sends the items of all n inputs as they come, and closes the new channel when all inputs
 * are closed. The inputs must have the same item size and the same drop function. With n = 0 the
 * new channel is closed from the beginning, and its items have no bytes.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_merge(leat_scope *scope, leat_chan *const *ins, size_t n, size_t capacity);

/* Makes one item at `out` from one item of each input: items[i] is from input i, and belongs to
 * the function from then on. Returns 0; or an error, and then there is no item. */
typedef int leat_combine_fn(void *arg, void *const *items, void *out);

/*     a ──▶┐
 *     b ──▶┤ fn ──▶ new channel
 *     c ──▶┘
 * Combines, like core.async's map: takes one item from each of the n inputs (at most 1,048,576),
 * calls fn for them, and sends the item that it makes. It waits for all inputs at once. With a NULL
 * fn it is a zip: sends the items of all inputs together, without gaps, and ignores out->item_size.
 * When one of the inputs is closed, it takes an item from each of the others, drops these items,
 * and closes the new channel. With n = 0 the new channel is closed from the beginning. `out`
 * describes the new channel; its drop function is for the new items.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n,
                                 leat_combine_fn *fn, void *arg, const leat_chan_spec *out);

/* ---- one to several ---- */

/*               ┌──▶ yes
 *     in ──▶ test
 *               └──▶ no
 * Splits: sends each item to one of two new channels: *yes if the test returns 1, *no if it returns
 * 0. An item is dropped if the test returns an error, or if its channel is closed. When both
 * channels are closed, the operator ends. leat_split_sized has a capacity for each channel.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_split(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                        leat_chan **yes, leat_chan **no, size_t capacity);
LEAT_API int leat_split_sized(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                              leat_chan **yes, leat_chan **no, size_t yes_capacity,
                              size_t no_capacity);

/*               ┌──▶ outs[0]
 *     in ──▶ least filled
 *               └──▶ outs[n-1]
 * Balances: sends each item to one of the n outputs (1 to INT_MAX), the one with the fewest items
 * in its buffer. When all are full, it sends to the first output that has room again. When another
 * party closes one output, the operator ends, and the other outputs are cut short. `ending` is for
 * all outputs.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_balance(leat_scope *scope, leat_chan *in, leat_chan *const *outs, size_t n,
                          leat_ending ending);

/* ---- mult: every item to every tap ----
 *
 *               ┌──▶ tap
 *     in ──▶ mult ──▶ tap
 *               └──▶ tap
 *
 * A mult takes the next item when every tap has received the previous item. So a slow tap holds up
 * the others, unless it is lossy or its channel drops or slides. A tap that is closed or removed no
 * longer holds up the others, even while the mult waits for it. Without taps, items are dropped. */

typedef struct leat_mult leat_mult;

/* Called once for each tap, before the tap gets the item: takes another reference to what the item
 * refers to. `item` is the same memory each time, and every tap gets its bytes: the function must
 * not change them, so it cannot give each tap a copy of a text. Items that own memory need a count
 * of references in that memory. If a tap does not get the item, its reference goes to the input's
 * drop function. Must not wait. (Without such a function, an item is dropped only if no tap
 * received it.) */
typedef void leat_share_fn(void *item);

/* Makes a mult of `in`. `share` may be NULL if items are plain values.
 * Returns NULL for a NULL scope or input, or when memory has run out. */
LEAT_API leat_mult *leat_mult_open(leat_scope *scope, leat_chan *in, leat_share_fn *share);

/* A flag of taps: a tap misses the items for which it has no room at once; see leat_tap_missed. */
enum { LEAT_TAP_LOSSY = 1 };

/* Adds a channel as a tap: it receives the items that are handed out from now on. When the input is
 * closed (or at once, if it is closed already), the mult ends the channel as `ending` says. The
 * channel's items must have the input's size. `flags` is 0 or LEAT_TAP_LOSSY. If the channel is a
 * tap already, nothing changes. If the mult finds the channel closed, it removes the tap. If the
 * channel has no scope, the mult holds a reference to it while it uses it, which may be a moment
 * longer than it is a tap. Any other channel must stay until the mult's scope has closed.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_tap(leat_mult *mult, leat_chan *ch, unsigned flags, leat_ending ending);

/* Remove one tap, or all. The channel stays open. It may still receive the item that is being
 * handed to it during the call, and nothing after that. Never wait.
 * Returns 0; -ENOENT when the channel is no tap; -EINVAL for NULL. */
LEAT_API int leat_untap(leat_mult *mult, leat_chan *ch);
LEAT_API int leat_untap_all(leat_mult *mult);

/* Returns how many items a lossy tap has missed; -ENOENT when the channel is no tap; -EINVAL for
 * NULL. */
LEAT_API int64_t leat_tap_missed(leat_mult *mult, leat_chan *ch);

/* ---- pub: every item to the subscribers of its topic ----
 *
 *                      ┌──▶ buffer ──▶ mult ──▶ subscribers to one topic
 *     in ──▶ topic of ─┤
 *                      └──▶ buffer ──▶ mult ──▶ subscribers to another
 *
 * Items of a topic without subscribers are dropped. A topic whose buffer is full holds up the
 * others. */

typedef struct leat_pub leat_pub;

/* Returns an item's topic. */
typedef uint64_t leat_topic_fn(void *arg, const void *item);

/* Describes a pub. A field that is 0 has its default; `topic` must be set. */
typedef struct leat_pub_spec {
    leat_topic_fn *topic;
    void *arg;
    size_t capacity; /* items in each topic's buffer; 1 or more with a dropping or sliding buffer */
    leat_buffer buffer;   /* any kind but LEAT_PROMISE; with the limits of a leat_chan_spec */
    leat_share_fn *share; /* as for leat_mult_open */
} leat_pub_spec;

/* Makes a pub of `in`. `spec` is copied.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_pub *leat_pub_open(leat_scope *scope, leat_chan *in, const leat_pub_spec *spec);

/* Subscribe a channel to a topic, and end a subscription: like leat_tap and leat_untap. The first
 * subscriber of a topic makes its buffer and mult, or takes over those of a topic that has no
 * subscribers any more, or only closed ones. So a party that subscribes must belong to the scope,
 * or keep it open in another way.
 * leat_sub returns 0, -EINVAL, -ENOMEM.
 * leat_unsub returns 0; -ENOENT when the channel does not subscribe to the topic; -EINVAL. */
LEAT_API int leat_sub(leat_pub *pub, uint64_t topic, leat_chan *ch, unsigned flags,
                      leat_ending ending);
LEAT_API int leat_unsub(leat_pub *pub, uint64_t topic, leat_chan *ch);

/* End all subscriptions to one topic, or to all topics. The channels stay open. A subscription that
 * begins during the call may be ended, too. Never wait.
 * Returns 0, also when there are none; -EINVAL for NULL. */
LEAT_API int leat_unsub_topic(leat_pub *pub, uint64_t topic);
LEAT_API int leat_unsub_all(leat_pub *pub);

/* ---- mix: inputs that are added, removed and switched ----
 *
 *     a ──▶┐
 *     b ──▶┼──▶ out
 *     c ─x ┘ */

typedef struct leat_mix leat_mix;

/* What an input does; 0: its items go to the output. While any input is solo and not paused, all
 * inputs that are not solo do what the mix's `others` says. One that is paused stays so. */
enum {
    LEAT_MIX_MUTE = 1,  /* its items are taken and dropped */
    LEAT_MIX_PAUSE = 2, /* its items are not taken */
    LEAT_MIX_SOLO = 4
};

/* Makes a mix that sends to `out`, and never closes it. `others` is LEAT_MIX_MUTE or
 * LEAT_MIX_PAUSE. If `out` is closed, each input is removed when it next has an item to send.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_mix *leat_mix_open(leat_scope *scope, leat_chan *out, unsigned others);

/* Changes what the other inputs do while one is solo: core.async's `solo-mode`. `others` is
 * LEAT_MIX_MUTE or LEAT_MIX_PAUSE. Applies from the next item on.
 * Returns 0; -EINVAL for NULL or another value of `others`. */
LEAT_API int leat_mix_others(leat_mix *mix, unsigned others);

/* Adds an input, or changes the state of one. `state` is 0 or flags (LEAT_MIX_MUTE, LEAT_MIX_PAUSE,
 * LEAT_MIX_SOLO), and applies from the next item on. An input that is closed is removed; one that
 * is paused and holds items then stays while it is paused. If the channel has no scope, the mix
 * holds a reference to the channel as long as it needs it: perhaps for a moment after the channel
 * has been removed. Any other channel must stay until the mix's scope has closed. A party that may
 * call leat_go for the mix's scope may call this.
 * Returns 0, -EINVAL, -ENOMEM. */
LEAT_API int leat_admix(leat_mix *mix, leat_chan *in, unsigned state);

/* Remove one input, or all. Nothing more is taken from it; an item that is being taken during the
 * call is still delivered. If the input is added again, its items keep their order. Never wait.
 * Returns 0; -ENOENT when the channel is no input; -EINVAL for NULL. */
LEAT_API int leat_unmix(leat_mix *mix, leat_chan *in);
LEAT_API int leat_unmix_all(leat_mix *mix);

/* ---- sources and sinks ---- */

/* Sends n items to `ch` and then ends it as `ending` says. `items` is an array without gaps, and
 * must stay valid until the operator has ended. Items that were not sent still belong to the
 * caller. The operator does not tell how many it has sent. So if items own memory, use
 * leat_generate.
 * Returns `ch`, or NULL. */
LEAT_API leat_chan *leat_onto(leat_scope *scope, leat_chan *ch, const void *items, size_t n,
                              leat_ending ending);

/* Makes a channel that holds copies of n items of item_size bytes, and is closed.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_to_chan(leat_scope *scope, const void *items, size_t item_size, size_t n,
                                 leat_drop_fn *drop);

/* Writes the next item to `item` and returns 0. Any other value means that there are no more items;
 * a negative errno value is the generator's verdict, which cancels the scope. */
typedef int leat_next_fn(void *arg, void *item);

/*     next ──▶ new channel
 * Generates: sends the items that `next` makes, until it makes no more. `next` is called again when
 * the previous item has been sent. `spec` describes the new channel.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_generate(leat_scope *scope, leat_next_fn *next, void *arg,
                                  const leat_chan_spec *spec);

/* Writes a task's value to `value` (item_size bytes, all 0 before) and returns 0; then the value
 * is sent. Any other result is the task's verdict, and nothing is sent. */
typedef int leat_value_fn(void *arg, void *value);

/*     leat_chan *leat_go_value(leat_scope *scope, leat_value_fn *fn, void *arg,
 *                              const leat_chan_spec *spec);
 *     leat_chan *leat_go_blocking_value(leat_scope *scope, leat_value_fn *fn, void *arg,
 *                                       const leat_chan_spec *spec);
 *
 * Starts a task whose value is sent on a new channel: core.async's `thread`. leat_go_blocking_value
 * runs it on an OS thread of its own, like leat_go_blocking. One receiver gets the value; all
 * others, and later receives, get -EPIPE. So any party can wait for the end of one task, also in a
 * select. For a task without a value, let items have 0 bytes. The task does not wait for a
 * receiver. If fn returns another value than 0, the channel is cut short (leat_cut) and the scope
 * is cancelled, as after any task. To report an error and cancel nothing, put the error into the
 * value. `spec` describes the channel: item_size, drop and name; its capacity is ignored, and its
 * buffer must be LEAT_FIXED. A party that may call leat_go for the scope may call this.
 * Returns the channel, which belongs to the scope; NULL when memory has run out, or an argument
 * is wrong, and then fn will not be called. */
#define leat_go_value(scope, fn, arg, ...) \
    leat_go_value_named(scope, fn, arg, __VA_ARGS__, LEAT_HERE(fn))
#define leat_go_blocking_value(scope, fn, arg, ...) \
    leat_go_blocking_value_named(scope, fn, arg, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API leat_chan *leat_go_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                                        const leat_chan_spec *spec, const char *name);
LEAT_API leat_chan *leat_go_blocking_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                                                 const leat_chan_spec *spec, const char *name);

/* Adds an item to `state`. The item belongs to the function. Returns 0; LEAT_ENOUGH after the
 * last item that it wants; or an error. */
typedef int leat_reduce_fn(void *state, const void *item);

/* Receives items and calls fn for each, until the channel is closed or fn returns LEAT_ENOUGH or an
 * error. For tasks and threads. (With leat_through before it, this is a transduce.)
 * Returns 0; the function's error; -ECANCELED, also when the channel was cut short; -EINVAL for
 * a NULL `in` or fn; -ENOMEM; -EDEADLK where the caller cannot wait. */
LEAT_API int leat_reduce(leat_chan *in, leat_reduce_fn *fn, void *state);

/* The same, by an operator. When the operator ends, it sends `state` (state_size bytes) to a new
 * channel, which has room for it, and closes that channel. `state` must stay valid until then.
 * After an error, or when `in` was cut short, it sends nothing and cuts the new channel short. An
 * error of fn cancels the scope.
 * Returns the new channel, or NULL. */
LEAT_API leat_chan *leat_reduce_into(leat_scope *scope, leat_chan *in, leat_reduce_fn *fn,
                                     void *state, size_t state_size);

/* Receives up to n items into the array `items`, without gaps, until the channel is closed. For
 * tasks and threads.
 * Returns how many items it received. Fewer than n: the channel has ended, or an error came, and
 * the next call returns that error. If an error comes before the first item: -ECANCELED; -EINVAL
 * for a NULL; -EDEADLK where the caller cannot wait. */
LEAT_API int64_t leat_into(leat_chan *in, void *items, size_t n);

#endif
