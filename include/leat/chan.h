/* leat/chan.h: channels.
 *
 * A channel carries items of one fixed size from senders to receivers, by copying. Every party may
 * use either end. With capacity 0 a send and a receive meet, and the item is copied from one to the
 * other. With a larger capacity the channel holds that many items. Items leave in the order in
 * which they came, and parties that wait are served in the order in which they began to wait.
 * Waiting allocates nothing.
 *
 * Closing. After leat_close, sends return -EPIPE, including those that wait already; their items
 * stay with the senders. Receives return the items that the channel still holds, and then -EPIPE.
 * Any party may close a channel, any number of times.
 *
 * Cutting short. A sender that must end before it has sent everything closes the channel by
 * leat_cut. Receives then return the items that the channel still holds, and then -ECANCELED: so no
 * receiver mistakes a part of the stream for all of it. Operators (leat/flow.h) do this when their
 * scope is cancelled.
 *
 * Owning. A channel made in a scope is freed when the scope closes. A channel made with a NULL
 * scope counts references: it starts with one, and leat_chan_unref of the last one frees it. Items
 * that the channel then still holds go to its drop function. If a channel is freed while a party
 * waits on it, the program ends with a message.
 *
 * Cancelling. In a cancelled scope a send or receive that may wait returns -ECANCELED, whatever its
 * deadline, and moves nothing (leat/scope.h). It does so even when a cancelled partner has closed
 * the channel first: -EPIPE means that the caller's scope was not cancelled. The try forms still
 * work.
 *
 * Taking turns. A task whose sends and receives never have to wait yields by itself now and then.
 * The try forms, and calls with LEAT_NOW, never yield. So a loop that polls must call leat_yield.
 * Otherwise it keeps its worker, and its partner may never run. Waiting is better than polling.
 */
#ifndef LEAT_CHAN_H
#define LEAT_CHAN_H

#include <leat/base.h>
#include <leat/scope.h>

typedef struct leat_chan leat_chan;

/* A drop function. leat calls it once for each item that no party will receive, in the party that
 * drops the item, with no lock held. `item` points to the item's bytes, which are valid only until
 * the function returns. They are aligned for the item's type, but to 16 bytes at most. If a send
 * drops an item, the channel must not be freed before that send has returned. */
typedef void leat_drop_fn(void *item);

/* What a channel does when it is full. Except for LEAT_FIXED, a send never waits. */
typedef enum leat_buffer {
    LEAT_FIXED,    /* the sender waits */
    LEAT_DROPPING, /* the new item is dropped */
    LEAT_SLIDING,  /* the oldest item is dropped */
    LEAT_PROMISE   /* the first item is kept, later ones are dropped; every receive gets a copy of
                      the first, also after close; `capacity` is ignored */
} leat_buffer;

/* What a channel is like. A field that is 0 has its default. */
typedef struct leat_chan_spec {
    /* The size of an item in bytes, 0 to 1 MiB. At most 1 KiB for a channel that drops items when
     * it is full and has a drop function. */
    size_t item_size;
    /* How many items the channel holds at most; memory for all is allocated at once. At least 1 for
     * LEAT_DROPPING and LEAT_SLIDING. */
    size_t capacity;
    leat_drop_fn *drop; /* called for dropped items; NULL: nothing is called */
    const char *name;   /* for dumps; not copied: must outlive the channel; NULL is allowed */
    leat_buffer buffer; /* what happens when the channel is full */
} leat_chan_spec;

/* Makes a channel. `scope` owns it; if `scope` is NULL, the caller holds the only reference to it.
 * `spec` is copied.
 * Returns the channel; NULL when memory has run out, `spec` is NULL, or a size is out of range. */
LEAT_API leat_chan *leat_chan_open(leat_scope *scope, const leat_chan_spec *spec);

/*     leat_chan *leat_chan_of(leat_scope *scope, type, size_t capacity);
 *
 * The same for a plain channel: items of `type`, or of `item_size` bytes; room for `capacity`
 * items.
 * Returns the channel; NULL when memory has run out, or for an item of more than 1 MiB. */
LEAT_API leat_chan *leat_chan_make(leat_scope *scope, size_t item_size, size_t capacity);
#define leat_chan_of(scope, type, capacity) leat_chan_make(scope, sizeof(type), capacity)

/* Add or give back a reference to a channel that was made with a NULL scope. leat_chan_unref frees
 * the channel with its last reference.
 * Returns 0; -EINVAL for NULL, or for a channel that a scope owns. */
LEAT_API int leat_chan_ref(leat_chan *ch);
LEAT_API int leat_chan_unref(leat_chan *ch);

/* Sends the item at `item`, which leat copies; `item` may be NULL if item_size is 0. Waits until a
 * receiver takes the item or the channel has room for it, or until the deadline; leat_try_send
 * never waits.
 * Returns 0; -EPIPE when the channel is closed; -ECANCELED; -ETIMEDOUT; -EAGAIN with LEAT_NOW or
 * from the try form; -EINVAL for a NULL channel or item, or a negative deadline; -EPERM when only
 * leat sends to the channel (leat/timeout.h); -EDEADLK where the caller must not wait. Unless the
 * result is 0, the item is not sent and stays with the caller. */
LEAT_API int leat_send(leat_chan *ch, const void *item);
LEAT_API int leat_send_until(leat_chan *ch, const void *item, int64_t deadline);
LEAT_API int leat_try_send(leat_chan *ch, const void *item);

/* Receives an item into `item`, which has room for item_size bytes. Waits until a sender or the
 * channel has an item, or until the deadline; leat_try_recv never waits. With a NULL `item` the
 * item is discarded; NULL is not allowed if the channel has a drop function and item_size is not 0.
 * Returns 0; -EPIPE when the channel is closed and empty; -ECANCELED, also when the channel was cut
 * short and is empty (leat_cancelled tells whether the caller's scope was cancelled); -ETIMEDOUT;
 * -EAGAIN with LEAT_NOW or from the try form; -EINVAL for a NULL channel, an `item` that must not
 * be NULL, or a negative deadline; -EDEADLK where the caller must not wait. Unless the result is 0,
 * nothing is written to `item`. */
LEAT_API int leat_recv(leat_chan *ch, void *item);
LEAT_API int leat_recv_until(leat_chan *ch, void *item, int64_t deadline);
LEAT_API int leat_try_recv(leat_chan *ch, void *item);

/* Send or receive up to `n` items, 1 or more, in one call. `items` is an array of n items, or NULL
 * where leat_send and leat_recv allow NULL. The call moves as many items as it can without waiting.
 * If it can move none, it waits until it can, or until the deadline. A promise gives one item in
 * each call.
 * Returns how many items were moved, from the start of the array; or an error of leat_send_until or
 * leat_recv_until, and then none was moved. -EINVAL also for an n of 0. */
LEAT_API int64_t leat_send_many(leat_chan *ch, const void *items, size_t n, int64_t deadline);
LEAT_API int64_t leat_recv_many(leat_chan *ch, void *items, size_t n, int64_t deadline);

/* Closes the channel. Never waits.
 * Returns 0, also when the channel was closed before; -EINVAL for NULL; -EPERM for a timeout. */
LEAT_API int leat_close(leat_chan *ch);

/* Closes the channel and marks it as cut short. Like leat_close, but receives return -ECANCELED
 * instead of -EPIPE, including those that wait already. Does nothing if the channel is closed
 * already.
 * Returns 0; -EINVAL for NULL; -EPERM for a timeout. */
LEAT_API int leat_cut(leat_chan *ch);

/* Close a channel after its last sender. leat_chan_senders adds `n`, 1 or more, to the channel's
 * count of senders. Each sender calls leat_chan_done once, when it will send no more; that
 * subtracts 1, and the call that brings the count to 0 closes the channel.
 * leat_chan_senders returns 0; -EINVAL for NULL, an n of 0, or a count above UINT32_MAX; -EPIPE
 * when the channel is closed already; -EPERM when only leat sends to the channel.
 * leat_chan_done returns 0; -EINVAL for NULL, or when the count is 0 already; -EPERM when only leat
 * sends to the channel. */
LEAT_API int leat_chan_senders(leat_chan *ch, unsigned n);
LEAT_API int leat_chan_done(leat_chan *ch);

/* Tell how a channel was made: the size of an item in bytes, and the drop function. For code that
 * makes similar channels, or allocates memory for items.
 * Returns the size; the function, or NULL if there is none. For a NULL channel: 0, NULL. */
LEAT_API size_t leat_chan_item_size(const leat_chan *ch);
LEAT_API leat_drop_fn *leat_chan_drop_fn(const leat_chan *ch);

/* Tell about a channel: how many items it holds, its capacity, whether it is closed, and its name.
 * For dumps and tests: the answer may be out of date when the call returns, and the number of items
 * may be slightly wrong while items pass very fast.
 * Returns the number or the capacity in items; 1 when closed, else 0; the name as it was given, or
 * NULL. For a NULL channel: 0 items, capacity 0, closed, no name. */
LEAT_API size_t leat_chan_len(const leat_chan *ch);
LEAT_API size_t leat_chan_cap(const leat_chan *ch);
LEAT_API int leat_chan_closed(const leat_chan *ch);
LEAT_API const char *leat_chan_name(const leat_chan *ch);

#endif
