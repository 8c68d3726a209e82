/* leat/sync.h: what a party can wait for besides channels: semaphores, mutexes, latches, functions
 * that run once, and calls that several callers share.
 *
 * Tasks and threads can wait in these functions. In blocks and callbacks, a call that would have to
 * wait returns -EDEADLK. A block or callback waits for a latch by receiving from it, since a latch
 * is a channel. In place of a semaphore it can use a channel whose items are permits.
 */
#ifndef LEAT_SYNC_H
#define LEAT_SYNC_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

/* ---- semaphores: permits, several at a time ---- */

typedef struct leat_semaphore leat_semaphore;

/* Makes a semaphore. `permits` is the number of its permits, 1 to INT64_MAX. The semaphore belongs
 * to `scope`, which frees it. A semaphore is also a lock for many readers or one writer (Go's
 * RWMutex): a reader takes one permit, a writer takes all. Readers cannot keep a writer out.
 * Returns the semaphore; NULL when memory has run out or an argument is wrong. */
LEAT_API leat_semaphore *leat_semaphore_open(leat_scope *scope, int64_t permits);

/* Takes `n` permits at once: 1 to the number that the semaphore was made with. Waits until they are
 * free, or until the deadline; leat_try_acquire never waits. First come, first served, even if the
 * first needs many permits: leat_try_acquire takes none while other parties wait.
 * Returns 0; -EAGAIN with LEAT_NOW or from the try form; -ETIMEDOUT; -ECANCELED; -EINVAL for NULL,
 * an n out of range, or a negative deadline; -EDEADLK where the caller must not wait. Unless it
 * returns 0, it has taken no permit. */
LEAT_API int leat_acquire(leat_semaphore *semaphore, int64_t n);
LEAT_API int leat_acquire_until(leat_semaphore *semaphore, int64_t n, int64_t deadline);
LEAT_API int leat_try_acquire(leat_semaphore *semaphore, int64_t n);

/* Gives `n` permits back, 1 or more. Any party may call it. Never waits.
 * Returns 0; -EINVAL for NULL, or an n that is below 1 or above the number of permits that are
 * taken. */
LEAT_API int leat_release(leat_semaphore *semaphore, int64_t n);

/* Counts the permits that are free now. The number may change at any moment.
 * Returns the count; 0 for NULL. */
LEAT_API int64_t leat_permits(const leat_semaphore *semaphore);

/*     int leat_go_within(leat_scope *scope, leat_semaphore *permits, int64_t deadline,
 *                        leat_fn *fn, void *arg);
 *
 * As leat_go, but first takes one of the permits, which the task gives back when fn has returned.
 * So no more tasks run at a time than the semaphore has permits. Waits for a permit, or until the
 * deadline; with LEAT_NOW it does not wait. (In Go: errgroup's SetLimit and TryGo.) The semaphore
 * must not be freed before the task has ended. The `name` of leat_go_within_named is as for
 * leat_go_named.
 * Returns 0; or an error of leat_acquire_until or leat_go: then fn will not be called, and no
 * permit is taken. */
#define leat_go_within(scope, permits, deadline, fn, ...) \
    leat_go_within_named(scope, permits, deadline, fn, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API int leat_go_within_named(leat_scope *scope, leat_semaphore *permits, int64_t deadline,
                                  leat_fn *fn, void *arg, const char *name);

/* ---- mutexes: one holder at a time ---- */

typedef struct leat_mutex leat_mutex;

/* Makes a mutex. It belongs to `scope`, which frees it. A holder may wait while it holds the mutex;
 * if no holder ever waits, a pthread mutex or an atomic costs less. The function of a callback must
 * give the mutex back before it returns.
 * Returns the mutex; NULL when memory has run out or `scope` is NULL. */
LEAT_API leat_mutex *leat_mutex_open(leat_scope *scope);

/* Takes the mutex. Waits until it is free, or until the deadline; leat_mutex_try_lock never waits.
 * First come, first served.
 * Returns 0; -EAGAIN with LEAT_NOW or from the try form; -ETIMEDOUT; -ECANCELED; -EINVAL for NULL,
 * or a negative deadline; -EDEADLK when the caller holds the mutex already, or must not wait. */
LEAT_API int leat_mutex_lock(leat_mutex *mutex);
LEAT_API int leat_mutex_lock_until(leat_mutex *mutex, int64_t deadline);
LEAT_API int leat_mutex_try_lock(leat_mutex *mutex);

/* Gives the mutex back. Never waits.
 * Returns 0; -EINVAL for NULL; -EPERM when the caller does not hold the mutex. */
LEAT_API int leat_mutex_unlock(leat_mutex *mutex);

/* ---- latches: a count that reaches zero ---- */

/* Makes a latch: a channel that closes when leat_chan_done has been called on it `n` times. While
 * it is open, leat_chan_senders adds to the count. If n is 0, it is closed from the beginning. It
 * is Go's WaitGroup; but to wait for tasks, close their scope. `scope` owns the latch; if `scope`
 * is NULL, the caller holds the only reference to it.
 * Returns the latch; NULL when memory has run out. */
LEAT_API leat_chan *leat_latch(leat_scope *scope, unsigned n);

/* Waits until the latch is closed, or until the deadline. Any number of parties may wait. Blocks
 * and callbacks receive from the latch instead: the receive returns -EPIPE when it is closed.
 * Returns 0; -ETIMEDOUT; -EAGAIN when it is open, with LEAT_NOW; -ECANCELED; -EINVAL for NULL, or a
 * negative deadline; -EDEADLK where the caller must not wait. */
LEAT_API int leat_latch_wait(leat_chan *latch, int64_t deadline);

/* ---- once ---- */

/* The state of a function that runs once, for leat_once_do. All its bytes must be 0 at first:
 * `static leat_once once;`. It must not be moved or copied after its first use. */
typedef struct leat_once {
    void *leat_private[5];
} leat_once;

/* Runs fn(arg) once. The first caller runs it; other callers wait until it has returned. All
 * callers, also later ones, get the value that fn returned, even if the value is an error: fn is
 * not run again.
 * Returns that value; -ECANCELED when the caller has to wait and its scope is cancelled, before or
 * during the wait; -EINVAL for a NULL once or fn; -EDEADLK from within fn itself, or where the
 * caller must not wait. */
LEAT_API int leat_once_do(leat_once *once, leat_fn *fn, void *arg);

/* ---- calls that are shared ---- */

typedef struct leat_singleflight leat_singleflight;

/* The function of a singleflight: finds the value for `key` and writes it to `value`, which has
 * value_size bytes, all 0 at first. `arg` is that of the spec. Returns 0, or an error. */
typedef int leat_flight_fn(void *arg, const void *key, void *value);

/* Describes a singleflight. leat calls run(arg, key, value), one call at a time for each key. */
typedef struct leat_singleflight_spec {
    leat_flight_fn *run;
    void *arg;
    size_t key_size, value_size; /* in bytes, at most 1 MiB; equal keys have equal bytes */
} leat_singleflight_spec;

/* Makes a singleflight: many callers that want the value for one key share one call. It and the
 * tasks that run the function belong to `scope`, which frees it. `spec` is copied.
 * Returns the singleflight; NULL when memory has run out or an argument is wrong. */
LEAT_API leat_singleflight *leat_singleflight_open(leat_scope *scope,
                                                   const leat_singleflight_spec *spec);

/* Gets the value for a key. If a call for the key runs already, waits for its result; else starts a
 * call. Every caller that waits gets a copy of the result; then leat forgets the result. The call
 * is a task of the singleflight's scope: it runs to its end even when a caller is cancelled, or its
 * deadline passes. `key` points to key_size bytes, `value` to room for value_size bytes. Only a
 * party that may call leat_go for the singleflight's scope may call this.
 * Returns what the function returned; -ECANCELED; -ETIMEDOUT; -EAGAIN with LEAT_NOW, always;
 * -ENOMEM; -EINVAL for a NULL, or a negative deadline; -EDEADLK where the caller must not wait.
 * Unless it returns 0, nothing is written to `value`. */
LEAT_API int leat_singleflight_do(leat_singleflight *flights, const void *key, void *value,
                                  int64_t deadline);

/* Forgets the call that runs for a key, because its value is out of date. The next
 * leat_singleflight_do starts a new call, which may run beside the old one. Callers that wait
 * already still get the old call's result. Never waits.
 * Returns 0; -ENOENT when no call runs for the key; -EINVAL for a NULL. */
LEAT_API int leat_singleflight_forget(leat_singleflight *flights, const void *key);

#endif
