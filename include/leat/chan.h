/* leat/chan.h: channels.
 *
 * A channel carries items of one fixed size, copied, from senders to receivers; tasks and threads
 * mix freely on both ends. With capacity 0 a send and a receive meet: the item goes straight from one
 * to the other. With a capacity, that many items wait inside. Order is first in, first out, for the
 * items and for those who wait. Waiting allocates nothing.
 *
 * Closing. After leat_close, senders get -EPIPE, those already waiting too, and keep their item;
 * receivers get what is buffered and then -EPIPE. Either side may close, any number of times.
 *
 * Cutting short. Who must end before all is sent closes the channel by leat_cut: its receivers get what is buffered
 * and then -ECANCELED, and so take nothing for whole that is not. The operators (leat/flow.h) do so when their scope is
 * cancelled.
 *
 * Owning. A channel made in a scope is freed when the scope closes. One made with a NULL scope is
 * counted: it starts with one reference, and the last leat_chan_unref frees it. Freeing a channel on
 * which somebody still waits ends the program with a message. Items still buffered then are handed to
 * the drop function.
 *
 * Cancelling. The waiting forms, with any deadline, return -ECANCELED in a cancelled scope without sending
 * or receiving anything (leat/scope.h): also where the partners end first, and close the channel. (-EPIPE says
 * that the scope was not cancelled.) The try forms never wait and work there too. Who waits on a channel
 * holds it: it must not be freed before the call has returned.
 *
 * Taking turns. A task whose sends and receives never have to wait yields by itself now and then. The try forms, and
 * all that is called with LEAT_NOW, never do: so a task that tries in a loop calls leat_yield in it, or better waits,
 * else it keeps its worker, and with one worker what it tries for may never come. */
#ifndef LEAT_CHAN_H
#define LEAT_CHAN_H

#include <leat/base.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_chan leat_chan;

/* Called once for every item that nobody will receive, with the address of its bytes, which are gone
 * when it returns. Runs in whichever party throws the item away, with no lock held. */
typedef void leat_drop_fn(void *item);

/* What a channel does with an item for which it has no room. (Sending never waits for room, that is: with a
 * transform it may wait until another's item is through, and the try form says -EAGAIN.) */
typedef enum leat_buffer {
    LEAT_FIXED,    /* the sender waits */
    LEAT_DROPPING, /* the new item falls; sending never waits */
    LEAT_SLIDING,  /* the oldest item falls; sending never waits */
    LEAT_PROMISE   /* the first item stays, and every receiver gets a copy, also after close; later
                      items fall; sending never waits; `capacity` is not looked at */
} leat_buffer;

typedef struct leat_transform leat_transform; /* leat/transform.h */

/* What a channel is. Zero means its default. */
typedef struct leat_chan_spec {
    size_t
        item_size;   /* bytes, 0 to 1 MiB; with drop and a buffer from which items fall, to 1 KiB */
    size_t capacity; /* items that wait inside, allocated at once; at least 1 where items fall or
                           are transformed */
    leat_drop_fn *drop; /* for items thrown away; NULL: nothing to do */
    const char *name;   /* for dumps; not copied; NULL is allowed */
    leat_buffer buffer;
    /* What each item sent goes through at the door; NULL: nothing. Becomes the channel's, which frees it,
     * also when the channel cannot be made. */
    leat_transform *transform;
} leat_chan_spec;

/* Makes a channel. `scope` owns it; with NULL it is counted, and the caller has the reference. `spec` is copied.
 * Returns NULL when memory has run out, or the spec is NULL or cannot be had (sizes out of range, a transform whose
 * outputs are not of item_size). */
LEAT_API leat_chan *leat_chan_open(leat_scope *scope, const leat_chan_spec *spec);

/*     leat_chan *leat_chan_of(leat_scope *scope, type, size_t capacity);
 *
 * The same for the common case: an item size in bytes (or a type), and a capacity in items.
 * Returns the channel; NULL when memory has run out, or for an item of more than 1 MiB. */
LEAT_API leat_chan *leat_chan_make(leat_scope *scope, size_t item_size, size_t capacity);
#define leat_chan_of(scope, type, capacity) leat_chan_make(scope, sizeof(type), capacity)

/* Add or give back a reference: one more, or one fewer, holder of a channel made with a NULL scope.
 * leat_chan_unref frees the channel when it was the last.
 * Returns 0, or -EINVAL for NULL or a channel that a scope owns. */
LEAT_API int leat_chan_ref(leat_chan *ch);
LEAT_API int leat_chan_unref(leat_chan *ch);

/* Sends the item at `item` (item_size bytes, or with a transform its in_size; copied; may be NULL when the size is
 * 0). Waits until a receiver or the buffer has it, or until the deadline.
 * Returns 0; -EPIPE when closed; -ECANCELED; -ETIMEDOUT; -EAGAIN with LEAT_NOW or from the try form; -EINVAL for a
 * NULL channel or item, or a negative deadline; -EPERM when only leat sends to it (leat/timeout.h); -EDEADLK where
 * the caller cannot wait; or what the channel's transform said. In every case but 0 the item is still the
 * caller's. */
LEAT_API int leat_send(leat_chan *ch, const void *item);
LEAT_API int leat_send_until(leat_chan *ch, const void *item, int64_t deadline);
LEAT_API int leat_try_send(leat_chan *ch, const void *item);

/* Receives an item into `item` (item_size bytes), or, with NULL, throws it away. (A channel with a drop
 * function wants somebody to have each item: there NULL is -EINVAL, unless items have no bytes.)
 * Returns 0; -EPIPE when closed and empty; -ECANCELED, also from the try form when the channel was cut short and is
 * empty (leat_cancelled tells whether the caller's scope was cancelled); -ETIMEDOUT; -EAGAIN with LEAT_NOW or from the
 * try form; -EINVAL for a NULL channel, or item where that is wrong, or a negative deadline; -EDEADLK where the
 * caller cannot wait. In every case but 0 `item` is untouched. */
LEAT_API int leat_recv(leat_chan *ch, void *item);
LEAT_API int leat_recv_until(leat_chan *ch, void *item, int64_t deadline);
LEAT_API int leat_try_recv(leat_chan *ch, void *item);

/* Moves as many of the n items (n times item_size bytes, one after the other) as can go at once, and at
 * least one: if none can, waits for the first. n is 1 or more. Into a transform, and from a promise, one
 * goes at a time.
 * Returns how many went, from the front; or an error as leat_send_until and leat_recv_until: then none did. -EINVAL
 * also for an n of 0. */
LEAT_API int64_t leat_send_many(leat_chan *ch, const void *items, size_t n, int64_t deadline);
LEAT_API int64_t leat_recv_many(leat_chan *ch, void *items, size_t n, int64_t deadline);

/* Closes the channel. Never waits; a transform's finish is run by the caller, or by whoever is in its step.
 * Returns 0, also when it was closed before; -EINVAL for NULL; -EPERM for a timeout. */
LEAT_API int leat_close(leat_chan *ch);

/* Closes the channel as one that was cut short: more was to come. Like leat_close, but receivers, those that wait too,
 * are told -ECANCELED in place of -EPIPE. Of a channel that is closed already it changes nothing.
 * Returns 0; -EINVAL for NULL; -EPERM for a timeout. */
LEAT_API int leat_cut(leat_chan *ch);

/* Count senders: leat_chan_senders adds `n` (1 or more) to the number of senders there will be,
 * and each calls leat_chan_done once when it will send no more; the last one closes the channel. So
 * many may send, and nobody has to know who is last.
 * leat_chan_senders returns 0; -EINVAL for NULL, or an n that is 0 or makes more than UINT32_MAX; -EPIPE when already
 * closed; -EPERM when only leat sends to it.
 * leat_chan_done returns 0; -EINVAL for NULL, or when nobody is counted any more; -EPERM. */
LEAT_API int leat_chan_senders(leat_chan *ch, unsigned n);
LEAT_API int leat_chan_done(leat_chan *ch);

/* Tell of a channel, for people who look; each is true at some moment during the call (the number of items nearly so,
 * while they pass faster than it can be looked at).
 * Returns the number of items inside; how many it has room for; whether it is closed, 1 or 0; its name, as it was
 * given, or NULL. Of a NULL channel: 0; closed; no name. */
LEAT_API size_t leat_chan_len(const leat_chan *ch);
LEAT_API size_t leat_chan_cap(const leat_chan *ch);
LEAT_API int leat_chan_closed(const leat_chan *ch);
LEAT_API const char *leat_chan_name(const leat_chan *ch);

#ifdef __cplusplus
}
#endif

#endif
