/* leat/parallel.h: loops whose rounds run at once: over a range, over an array, all or none, the first that
 * succeeds.
 *
 *     static int scale(void *arg, size_t begin, size_t end) { … }
 *     leat_parallel_for(0, rows, scale, image, NULL);
 *
 * Each call is a scope of its own: it returns when everything it started has ended. The caller works too, so a
 * range that is done before another core has woken costs little more than a loop, and a lack of memory for
 * more tasks makes it slower and nothing else.
 *
 * The first function that returns something other than 0 ends the loop: no more rounds begin, waits inside those
 * that run end with -ECANCELED, and its value is returned.
 *
 * Tasks and threads may call these; blocks and callbacks get -EDEADLK. The runtime must be running. */
#ifndef LEAT_PARALLEL_H
#define LEAT_PARALLEL_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How; NULL, or zero in a field: the default. */
typedef struct leat_parallel {
    unsigned
        tasks; /* at the most so many at once, the caller among them; 0: as many as workers. More, where the
                       functions wait. */
    size_t grain; /* indices that a round takes at a time; 0: an eighth of a task's share */
} leat_parallel;

/* The rounds from `begin` up to, without, `end`. */
typedef int leat_range_fn(void *arg, size_t begin, size_t end);

/* Calls fn for parts of the range that together are all of it, each index once.
 * Returns 0 when all have returned 0; what the first that failed returned; -ECANCELED when the caller's scope
 * was cancelled. When nothing has been called: -EINVAL for a NULL fn or begin > end, or when no runtime runs;
 * -EDEADLK in a block or callback; -ENOMEM when there was no memory for the scope. */
LEAT_API int leat_parallel_for(size_t begin, size_t end, leat_range_fn *fn, void *arg,
                               const leat_parallel *how);

/* Maps an array: out[i] = fn(in[i]), for n items of in_size bytes that become n of out_size bytes, each in its place.
 * Returns what leat_parallel_for does, and -EINVAL for a NULL array of some bytes; after an error some of `out` is
 * filled, and nobody knows which. */
LEAT_API int leat_parallel_map(const void *in, size_t in_size, void *out, size_t out_size, size_t n,
                               leat_map_fn *fn, void *arg, const leat_parallel *how);

/* One round. */
typedef int leat_index_fn(void *arg, size_t index);

/* Calls fn for every index below n, up to UINT_MAX, all at once, each in a task: all, or the first error.
 * Returns what leat_parallel_for does, and -EINVAL for an n that is larger. */
LEAT_API int leat_all(size_t n, leat_index_fn *fn, void *arg);

/* One contender: writes its result to `out` and returns 0, or fails with a negative errno value. */
typedef int leat_contend_fn(void *arg, size_t index, void *out);

/* Runs n contenders at once, 1 to INT_MAX - 1; the first that returns 0 wins: its out_size bytes come to `out`, and
 * the others are cancelled and waited for. One that succeeds all the same goes to `drop`, if that is not NULL.
 * Returns the winner's index; if all failed, what the first to fail returned; -ECANCELED when the caller's scope was
 * cancelled and nobody has won. When nobody was called: -EINVAL for a NULL fn, or `out` of some bytes, an n out of
 * range, or when no runtime runs; -EDEADLK in a block or callback; -ENOMEM. */
LEAT_API int leat_first(size_t n, leat_contend_fn *fn, void *arg, void *out, size_t out_size,
                        leat_drop_fn *drop);

#ifdef __cplusplus
}
#endif

#endif
