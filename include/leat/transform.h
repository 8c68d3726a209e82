/* leat/transform.h: transforms: they change items on their way from one channel to another. They
 * are core.async's transducers.
 *
 * A transform makes zero, one or several items from each item that it gets. At the end it may add
 * items that it still holds. leat_through (leat/flow.h) puts a transform between two channels:
 *
 *     leat_chan *evens =
 *         leat_through(s, numbers, leat_filter(sizeof(int), is_even, NULL), 8, NULL);
 *
 * leat_through makes one step at a time, on some worker, with no lock held. So a transform needs no
 * lock of its own. It must not wait. The outputs of a step are sent before the next item is taken.
 * If a step returns LEAT_ENOUGH, the transform ends: the output is closed, and further items stay
 * in `in`.
 *
 * Owning. A transform belongs to the composition or operator that it was given to.
 * leat_transform_free frees one that was not given away.
 *
 * An input belongs to the step that gets it, unless the step fails or calls leat_leave_out: then
 * the item goes to the drop function of `in`. The ready-made transforms do that with items that
 * they leave out. In a composition this holds for the inputs of the first transform; the items
 * between two transforms belong to the second, and no drop function gets them. So if items own
 * memory, put a transform that leaves items out first, or into a leat_through of its own.
 *
 * The functions that make a transform return NULL when memory has run out or an argument is wrong.
 * Every function that takes a transform fails in the same way for NULL, so calls can be nested. */
#ifndef LEAT_TRANSFORM_H
#define LEAT_TRANSFORM_H

#include <leat/base.h>
#include <leat/chan.h>

/* Where a step puts its outputs. */
typedef struct leat_emit leat_emit;

/* Adds an output, which is copied. Only the step or function that was given `emit` may call it.
 * Returns 0; -ENOSPC when the step has emitted `most` outputs already: this one is lost, and the
 * step should return the error; -EINVAL for a NULL emit; in a pipeline also -ECANCELED
 * (leat/pipeline.h). */
LEAT_API int leat_emit_item(leat_emit *emit, const void *item);

/* Leaves an item out: if a step makes no output from its input, it hands the item to the drop
 * function of the channel that the item came from. Does nothing if the channel has no drop
 * function, for a NULL emit, and in a pipeline. The step must not use the item afterwards. */
LEAT_API void leat_leave_out(leat_emit *emit, const void *item);

/* A step returns it after the last item that it wants: the output ends. */
enum { LEAT_ENOUGH = 1 };

/* The base of a transform that a program defines. The program allocates it and sets the fields;
 * `free` frees the memory. */
typedef struct leat_transform leat_transform;
struct leat_transform {
    size_t in_size, out_size; /* bytes of an input and of an output */
    size_t most;              /* the most outputs of one step, and of `finish` */
    /* Takes one input. Returns 0, LEAT_ENOUGH, or a negative errno value: then leat calls `failed`;
     * if `failed` is NULL, leat drops the item and takes the next one. */
    int (*step)(leat_transform *t, const void *item, leat_emit *emit);
    /* Called at the end, also after a cancel; may be NULL. Its result is ignored. */
    int (*finish)(leat_transform *t, leat_emit *emit);
    /* Called after a step that returned an error, but in a pipeline's stage not again for the same
     * input after it has returned an error itself. It owns the item, as a step does, and may emit
     * other items in its place. Returns 0, LEAT_ENOUGH, or a negative errno value: then the output
     * is cut short, and the scope is cancelled with that value. May be NULL. */
    int (*failed)(leat_transform *t, int error, const void *item, leat_emit *emit);
    void (*free)(leat_transform *t); /* may be NULL */
};

/* Frees a transform that was not given to a composition or an operator. NULL is
 * allowed. */
LEAT_API void leat_transform_free(leat_transform *t);

/* Joins two transforms: the outputs of `first` are the inputs of `second`, so their sizes must be
 * equal. The result owns both; they are freed also when this call fails.
 * Returns NULL when memory has run out or an argument is wrong. */
LEAT_API leat_transform *leat_compose(leat_transform *first, leat_transform *second);

/* Called for an item on which a step failed with `error`. It owns the item, and may emit one item
 * in its place. (If a composition failed in its second transform, the first transform owns the
 * item: the function must not free it.) Returns 0 to go on, LEAT_ENOUGH to end the output, or a
 * negative errno value: then the output is cut short, and the scope is cancelled with that
 * value. */
typedef int leat_failed_fn(void *arg, int error, const void *item, leat_emit *emit);

/* Handles the failures of a transform: for each item on which its step fails, fn is called with
 * `arg`, in place of the `failed` that t may have. The result owns t, which is freed also when this
 * call fails.
 * Returns NULL when memory has run out, or for a NULL t or fn. */
LEAT_API leat_transform *leat_on_failure(leat_transform *t, leat_failed_fn *fn, void *arg);

/* The functions for the ready-made transforms; `arg` is the user's own. */
typedef int leat_map_fn(void *arg, const void *in, void *out); /* returns 0 or an error */
typedef int leat_test_fn(void *arg, const void *in); /* returns 1 yes, 0 no, or an error */
typedef int leat_mapcat_fn(void *arg, const void *in,
                           leat_emit *emit); /* returns what a step does */

/* Passes each item through a function. Sizes, here and below, are in bytes, up to 1 MiB.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_map(size_t in_size, size_t out_size, leat_map_fn *fn, void *arg);
/* Keep the items that pass the test (leat_filter), or those that do not (leat_remove).
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_filter(size_t size, leat_test_fn *fn, void *arg);
LEAT_API leat_transform *leat_remove(size_t size, leat_test_fn *fn, void *arg);
/* Makes up to `most` items from each item.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_mapcat(size_t in_size, size_t out_size, size_t most,
                                     leat_mapcat_fn *fn, void *arg);
/* Passes the first n items on, and then ends the output.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_take(size_t size, uint64_t n);
/* Passes items on until an item fails the test, and then ends the output. That item is left out.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_take_while(size_t size, leat_test_fn *fn, void *arg);

/* The head of a run of items: `count` items follow it, without gaps. An output is sizeof(leat_run)
 * + n * size bytes. A run may have fewer than n items. Runs stand in a channel without gaps, too:
 * if n * size is no multiple of 8, the drop function for runs may get one that is not aligned for a
 * size_t, and reads it by memcpy(3). So does anybody whose items need 16 bytes of alignment. */
typedef struct leat_run {
    size_t count; /* items in the run */
} leat_run;
/* Gathers runs of n items, 1 or more. `size` is 1 or more. A whole run has at most 1 MiB. The items
 * that are left at the end form the last run.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_partition(size_t size, size_t n);
/* Compares an item with the one before it. Returns 1 for the same run, 0 for another, or an
 * error. */
typedef int leat_same_fn(void *arg, const void *before, const void *item);
/* Gathers runs of items for which `same` returns 1. A run ends also after n items. Limits are those
 * of leat_partition.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_partition_by(size_t size, size_t n, leat_same_fn *same, void *arg);

/* Leave out items whose bytes equal those of the item before (leat_dedupe), or of any item before
 * (leat_distinct). leat_distinct keeps a copy of each different item, and its step fails with
 * -ENOMEM when there is no memory for one. `size` is 1 or more.
 * Returns a transform, or NULL. */
LEAT_API leat_transform *leat_dedupe(size_t size);
LEAT_API leat_transform *leat_distinct(size_t size);

#endif
