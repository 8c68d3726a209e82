/* leat/transform.h: what items go through on their way into a channel: core.async's transducers.
 *
 * A transform makes none, one or several items out of each that is sent. It runs as the item enters the
 * channel, in whichever party brings it in, one item at a time and with no lock held, so it needs no
 * locking of its own; it must not wait. When the channel is closed, it may add what it still holds.
 *
 *     leat_chan *evens = leat_chan_open(s, &(leat_chan_spec){
 *         .item_size = sizeof(int), .capacity = 8,
 *         .transform = leat_filter(sizeof(int), is_even, NULL) });
 *
 * The channel's item_size is that of what comes out; senders send what goes in. An input is admitted when
 * there is room for one item, so outputs may pass the capacity by up to `most` - 1: that room is part of
 * the channel from the beginning.
 *
 * A transform belongs to the channel it was given to, and is freed with it; one that is not given to a
 * channel or a composition is freed with leat_transform_free. The ready-made ones return NULL when memory
 * has run out or an argument is wrong, and everything that takes a transform passes such a NULL on. */
#ifndef LEAT_TRANSFORM_H
#define LEAT_TRANSFORM_H

#include <leat/base.h>
#include <leat/chan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where outputs go, during a step. */
typedef struct leat_emit leat_emit;

/* Adds an output, copied; from within the step, or the function, that was given `emit`.
 * Returns 0; -ENOSPC when the step has emitted `most` already: the output is
 * lost, and the step should fail with it; -EINVAL for a NULL emit; in a pipeline also -ECANCELED
 * (leat/pipeline.h). */
LEAT_API int leat_emit_item(leat_emit *emit, const void *item);

/* What a step may return besides 0 and a negative errno value: it is the last; the channel closes. */
enum { LEAT_ENOUGH = 1 };

/* To make one's own: fill one in, allocated by whoever `free` belongs to. */
struct leat_transform {
    size_t in_size, out_size; /* bytes of an item */
    size_t most;              /* outputs that one step, or the finish, emits at the most */
    /* One input. 0, LEAT_ENOUGH, or a negative errno value: then the item is handled as `failed` says. */
    int (*step)(leat_transform *t, const void *item, leat_emit *emit);
    /* When the channel closes; may be NULL. Its result is not used. */
    int (*finish)(leat_transform *t, leat_emit *emit);
    /* After a step that returned an error; may emit in the item's stead, and returns what its sender is to
     * be told. NULL: the sender is told the error. */
    int (*failed)(leat_transform *t, int error, const void *item, leat_emit *emit);
    void (*free)(leat_transform *t); /* may be NULL */
};

/* Frees a transform that was not given to a channel, a composition or an operator. NULL is allowed. */
LEAT_API void leat_transform_free(leat_transform *t);

/* Joins two transforms, first one, then the other: what `first` puts out goes into `second`, so its out_size is the
 * other's in_size. Owns both, also when it fails.
 * Returns NULL when memory has run out, or for arguments that cannot be. */
LEAT_API leat_transform *leat_compose(leat_transform *first, leat_transform *second);

/* Is told of an item on which a step fails, with the step's error: may emit one item in its stead, and returns what
 * its sender is told. */
typedef int leat_failed_fn(void *arg, int error, const void *item, leat_emit *emit);

/* Makes a transform forgiving: for an item on which its step fails, the function is called with `arg`. Owns t, also
 * when it fails.
 * Returns NULL when memory has run out, or for a NULL t or fn. */
LEAT_API leat_transform *leat_on_failure(leat_transform *t, leat_failed_fn *fn, void *arg);

/* What the functions below are given: `arg` is the caller's own. */
typedef int leat_map_fn(void *arg, const void *in, void *out); /* 0 or an error */
typedef int leat_test_fn(void *arg, const void *in);           /* 1 yes, 0 no, or an error */
typedef int leat_mapcat_fn(void *arg, const void *in, leat_emit *emit); /* as a step */

/* Each item goes through a function. Sizes, here and below, are bytes, to 1 MiB.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_map(size_t in_size, size_t out_size, leat_map_fn *fn, void *arg);
/* Keep the items that pass the test; and those that do not.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_filter(size_t size, leat_test_fn *fn, void *arg);
LEAT_API leat_transform *leat_remove(size_t size, leat_test_fn *fn, void *arg);
/* Makes up to `most` items of each.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_mapcat(size_t in_size, size_t out_size, size_t most,
                                     leat_mapcat_fn *fn, void *arg);
/* Lets the first n items pass; then the channel closes.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_take(size_t size, uint64_t n);
/* Lets items pass, up to, without, the first that fails the test; then the channel closes.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_take_while(size_t size, leat_test_fn *fn, void *arg);

/* Runs of items. An output is a leat_run and room for n items behind it: sizeof(leat_run) + n * size
 * bytes. The last run may be shorter. */
typedef struct leat_run {
    size_t count; /* items in it */
} leat_run;
/* Gathers runs of n items, 1 or more, which may have no more than 1 MiB together; of one byte or more each.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_partition(size_t size, size_t n);
/* Compares an item with the one before it. 1 the same run, 0 another, or an error. */
typedef int leat_same_fn(void *arg, const void *before, const void *item);
/* Gathers runs of items for which `same` says 1 of each and the one before it; cut at n, too. The rest as
 * leat_partition.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_partition_by(size_t size, size_t n, leat_same_fn *same, void *arg);

/* Leave out items whose bytes are those of the one before; and any whose bytes have been there already,
 * which takes memory for each that has not (and fails with -ENOMEM when there is none). `size` is 1 or more.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_dedupe(size_t size);
LEAT_API leat_transform *leat_distinct(size_t size);

#ifdef __cplusplus
}
#endif

#endif
