/* leat/parallel.h: loops whose iterations run in parallel: over a range, over an array, all at
 * once, or until the first succeeds.
 *
 *     static int scale(void *arg, size_t begin, size_t end) { … }
 *     leat_parallel_for(0, rows, scale, image, NULL);
 *
 * Each call has a scope of its own: it returns when everything that it started has ended. The
 * caller runs iterations, too. So if a range is finished before another core wakes, it costs little
 * more than a plain loop. If memory for tasks runs out, the loop has fewer tasks and only takes
 * longer.
 *
 * The first function that returns a value other than 0 ends the loop: no more iterations begin,
 * waits in the iterations that run end with -ECANCELED, and the loop returns this value.
 *
 * Tasks and threads may call these functions, while the runtime runs. */
#ifndef LEAT_PARALLEL_H
#define LEAT_PARALLEL_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/transform.h>

/* How a loop is divided. A NULL pointer, or 0 in a field, means the default. */
typedef struct leat_parallel {
    /* The most tasks that run at once, including the caller; 0: as many as there are workers. The
     * loop starts them all at first. If the functions wait, use more. */
    unsigned tasks;
    size_t grain; /* indices in one call of the function; 0: an eighth of a task's share */
} leat_parallel;

/* Runs the iterations from `begin` to `end` - 1. Returns 0, or a value that ends the loop. */
typedef int leat_range_fn(void *arg, size_t begin, size_t end);

/* Calls fn for parts of the range from `begin` to `end` - 1; together they cover each index once.
 * Returns 0 when all calls have returned 0; the value of the first that failed; -ECANCELED when
 * the caller's scope was cancelled. When fn was not called at all: -EINVAL for a NULL fn, for
 * begin > end, or when no runtime runs; -EDEADLK in a block or callback; -ENOMEM when there was
 * no memory for the scope. */
LEAT_API int leat_parallel_for(size_t begin, size_t end, leat_range_fn *fn, void *arg,
                               const leat_parallel *how);

/* Maps an array: out[i] = fn(in[i]). `in` has n items of in_size bytes, and `out` has room for n
 * items of out_size bytes, both without gaps.
 * Returns what leat_parallel_for does; -EINVAL also for a NULL array that is not empty. After an
 * error an unknown part of `out` is filled. */
LEAT_API int leat_parallel_map(const void *in, size_t in_size, void *out, size_t out_size, size_t n,
                               leat_map_fn *fn, void *arg, const leat_parallel *how);

/* Runs the iteration with this index. Returns 0, or a value that ends the loop. */
typedef int leat_index_fn(void *arg, size_t index);

/* Calls fn for each index from 0 to `n` - 1, all at once, on n tasks including the caller (or on
 * fewer, if memory for tasks runs out). `n` is at most UINT_MAX.
 * Returns what leat_parallel_for does; -EINVAL also for a larger n. */
LEAT_API int leat_all(size_t n, leat_index_fn *fn, void *arg);

/* Runs one contender: writes its result to `out` and returns 0, or fails with a negative errno
 * value. */
typedef int leat_contend_fn(void *arg, size_t index, void *out);

/* Runs `n` contenders at once, 1 to INT_MAX - 1. The first that returns 0 wins: leat copies its
 * result, out_size bytes, to `out`, cancels the others, and waits for them. If another contender
 * succeeds all the same, its result goes to `drop`, unless `drop` is NULL.
 * Returns the winner's index; when all failed, the value of the first that failed; -ECANCELED
 * when the caller's scope was cancelled and none has won. When fn was not called at all: -EINVAL
 * for a NULL fn, for a NULL `out` of some bytes, for an n out of range, or when no runtime runs;
 * -EDEADLK in a block or callback; -ENOMEM. */
LEAT_API int leat_first(size_t n, leat_contend_fn *fn, void *arg, void *out, size_t out_size,
                        leat_drop_fn *drop);

#endif
