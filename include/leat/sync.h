/* leat/sync.h: what is left to wait for besides channels: a number of permits, a count that reaches zero,
 * something that is done once, a call that is shared.
 *
 * Tasks and threads wait in these; in blocks and callbacks, what would have to wait is -EDEADLK. (A latch is a
 * channel, and so is a semaphore without weights, with its permits as items: these are for all parties.) */
#ifndef LEAT_SYNC_H
#define LEAT_SYNC_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- semaphores: permits, several at a time ---- */

typedef struct leat_semaphore leat_semaphore;

/* Makes a semaphore with so many permits, 1 to INT64_MAX. It belongs to `scope`, and is freed with it.
 * Returns NULL when memory has run out or an argument is wrong. */
LEAT_API leat_semaphore *leat_semaphore_open(leat_scope *scope, int64_t permits);

/* Takes n permits, 1 to all there are, together. First come, first served: who wants many is not passed by those
 * who want few, and the try form takes none while others wait.
 * Returns 0; -EAGAIN from the try form, and with LEAT_NOW; -ETIMEDOUT; -ECANCELED; -EINVAL for NULL, an n out of
 * range, or a negative deadline; -EDEADLK where the caller cannot wait. In every case but 0 it has taken none. */
LEAT_API int leat_acquire(leat_semaphore *semaphore, int64_t n);
LEAT_API int leat_acquire_until(leat_semaphore *semaphore, int64_t n, int64_t deadline);
LEAT_API int leat_try_acquire(leat_semaphore *semaphore, int64_t n);

/* Gives n permits back, 1 or more; never waits, and anybody may do it.
 * Returns 0, or -EINVAL for NULL, or an n that is not positive or more than are out. */
LEAT_API int leat_release(leat_semaphore *semaphore, int64_t n);

/* Returns how many permits could be had; a snapshot. 0 for NULL. */
LEAT_API int64_t leat_permits(const leat_semaphore *semaphore);

/*     int leat_go_within(leat_scope *scope, leat_semaphore *permits, int64_t deadline, leat_fn *fn, void *arg);
 *
 * As leat_go, but the task has one of the permits from before its start until it has ended: so no more run than there
 * are, as with errgroup's SetLimit. Waits for a permit until the deadline; with LEAT_NOW it does not, as TryGo. The
 * semaphore must not be freed before the task has ended.
 * Returns 0; what leat_acquire_until and leat_go return as errors; then fn will not be called, and no permit is taken. */
#define leat_go_within(scope, permits, deadline, fn, ...) \
    leat_go_within_named(scope, permits, deadline, fn, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API int leat_go_within_named(leat_scope *scope, leat_semaphore *permits, int64_t deadline,
                                  leat_fn *fn, void *arg, const char *name);

/* ---- mutexes: one at a time, and known who ---- */

typedef struct leat_mutex leat_mutex;

/* Makes a mutex that belongs to `scope`, and is freed with it. For data that is never held over a wait, a thread's
 * mutex or an atomic costs less: this one may be held while its holder waits.
 * Returns NULL when memory has run out or `scope` is NULL. */
LEAT_API leat_mutex *leat_mutex_open(leat_scope *scope);

/* Takes the mutex; first come, first served.
 * Returns 0; -EAGAIN from the try form, and with LEAT_NOW; -ETIMEDOUT; -ECANCELED; -EINVAL for NULL, or a negative
 * deadline; -EDEADLK when the caller holds it already, or cannot wait. */
LEAT_API int leat_mutex_lock(leat_mutex *mutex);
LEAT_API int leat_mutex_lock_until(leat_mutex *mutex, int64_t deadline);
LEAT_API int leat_mutex_try_lock(leat_mutex *mutex);

/* Gives the mutex back; never waits.
 * Returns 0; -EINVAL for NULL; -EPERM when the caller does not hold it. */
LEAT_API int leat_mutex_unlock(leat_mutex *mutex);

/* ---- latches: a count that reaches zero ---- */

/* Makes a channel that closes when leat_chan_done has been called on it n times; leat_chan_senders adds to the
 * count, as long as it is not 0. With n = 0 it is closed from the beginning. Go's WaitGroup, for those who
 * want one; where tasks are waited for, closing their scope does it. `scope` owns it; with NULL it is counted, as
 * leat_chan_open has it.
 * Returns NULL when memory has run out. */
LEAT_API leat_chan *leat_latch(leat_scope *scope, unsigned n);

/* Waits until a latch is closed; any number may. (Blocks and callbacks receive from it, and get -EPIPE then.)
 * Returns 0; -ETIMEDOUT; -EAGAIN with LEAT_NOW; -ECANCELED; -EINVAL for NULL, or a negative deadline; -EDEADLK where
 * the caller cannot wait. */
LEAT_API int leat_latch_wait(leat_chan *latch, int64_t deadline);

/* ---- once ---- */

/* Zero at first: `static leat_once once;`. Then it stays where it is. */
typedef struct leat_once {
    void *leat_private[5];
} leat_once;

/* Runs fn(arg) once: the first to call it does; everybody else waits until that has ended. What fn returned is what
 * all are told, then and later: also a failure is for good.
 * Returns that; or -ECANCELED when the caller's scope was cancelled before it had to wait, or while it did; -EINVAL
 * for NULL; -EDEADLK from within fn itself or where the caller cannot wait. */
LEAT_API int leat_once_do(leat_once *once, leat_fn *fn, void *arg);

/* ---- calls that are shared ---- */

typedef struct leat_singleflight leat_singleflight;

/* Finds the value of a key: fills in value_size bytes at `value`, which are 0 before, and returns 0, or an error. */
typedef int leat_flight_fn(void *arg, const void *key, void *value);

/* What a singleflight is. `run` is called as run(arg, key, value), one call at a time for each key. */
typedef struct leat_singleflight_spec {
    leat_flight_fn *run;
    void *arg;
    size_t key_size, value_size; /* bytes, to 1 MiB each; keys are the same when their bytes are */
} leat_singleflight_spec;

/* Makes a singleflight. It belongs to `scope`, and so do the tasks that run the function. `spec` is copied.
 * Returns NULL when memory has run out or an argument is wrong. */
LEAT_API leat_singleflight *leat_singleflight_open(leat_scope *scope,
                                                   const leat_singleflight_spec *spec);

/* Gets the value of a key: by a call that is under way already, or a new one. All who ask meanwhile get a copy of one
 * result; nothing is kept after that. The call runs as a task of the singleflight's scope, so a caller that is
 * cancelled, or whose deadline passes, hurts nobody: it leaves, and the call goes on. `key` and `value` have key_size
 * and value_size bytes. The rules of leat_go say who may call.
 * Returns what the function returned; -ECANCELED and -ETIMEDOUT of the caller's own; -EAGAIN with LEAT_NOW, always;
 * -ENOMEM, also when there was none for the task; -EINVAL for a NULL, or a negative deadline; -EDEADLK where the
 * caller cannot wait. `value` is written only with 0. */
LEAT_API int leat_singleflight_do(leat_singleflight *flights, const void *key, void *value,
                                  int64_t deadline);

/* Forgets the call that is under way for a key: who asks from now on begins a new one, which may run beside it. Those
 * who wait for it still get what comes of it. For who knows that its value is out of date. Never waits.
 * Returns 0; -ENOENT when none is under way; -EINVAL for a NULL. */
LEAT_API int leat_singleflight_forget(leat_singleflight *flights, const void *key);

#ifdef __cplusplus
}
#endif

#endif
