/* leat/scope.h: scopes own tasks and channels, and are how work is stopped.
 *
 * A scope is opened by a task or a thread, owns the tasks and channels made in it, and is closed by
 * the party that opened it: closing waits for all its tasks, then frees its channels. So nothing
 * outlives its scope, and a task's argument may live on the stack of the task that closes it.
 *
 * Scopes nest. A party's innermost open scope is the one its waits obey: when that scope is
 * cancelled, every wait in it, the opener's too, ends with -ECANCELED, and so does every later
 * waiting operation (one that would not have had to wait as well; the try forms still work): whatever the partners in
 * it do, nobody takes a stream that was cancelled for one that has ended.
 * Cancelling reaches every scope opened inside, never the ones outside.
 *
 * A scope is cancelled by leat_scope_cancel, by its deadline, by its parent, or by the first of its
 * tasks that returns something other than 0.
 *
 * Clean-up that has to wait in a cancelled scope does so under a shield. */
#ifndef LEAT_SCOPE_H
#define LEAT_SCOPE_H

#include <leat/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_scope leat_scope;

/* Opens a scope inside the caller's innermost one; it becomes the caller's innermost. When
 * `deadline` passes, the scope is cancelled and leat_scope_close returns -ETIMEDOUT; LEAT_NOW is a
 * deadline that has passed. The caller, a task or a thread, must close it. The runtime must be running.
 * Returns NULL when memory has run out, the deadline is negative, no runtime runs, or in a block or callback. */
LEAT_API leat_scope *leat_scope_open(int64_t deadline);

/* Waits until every task of the scope has ended, frees its channels (items left in them go to the
 * channels' drop functions), and frees the scope. Does not cancel: to leave early, call
 * leat_scope_cancel first. The wait itself is not ended by cancelling; that ends the tasks.
 * Only the opener may call it, for its innermost scope.
 * Returns why the scope ended: 0 when all tasks returned 0 or it was told to leave by
 * leat_scope_cancel; else what came first: the non-zero value a task returned, -ETIMEDOUT for its
 * deadline, -ECANCELED when a scope around it was cancelled. (A task that returns -ECANCELED in a
 * scope that was already cancelled adds nothing.) -EINVAL for NULL, or when the caller may not close it; then
 * nothing has happened. */
LEAT_API int leat_scope_close(leat_scope *scope);

/* Cancels the scope and every scope inside: their waits end with -ECANCELED. Returns without waiting
 * for the tasks. Anybody may call it while the scope is open; calling again does nothing.
 * Returns 0, or -EINVAL for NULL. */
LEAT_API int leat_scope_cancel(leat_scope *scope);

/* Asks whether the scope is cancelled; with NULL the caller's innermost one, which long computations do now and
 * then. A shield makes no difference.
 * Returns 1 when it is, 0 when not, or outside any scope. */
LEAT_API int leat_cancelled(const leat_scope *scope);

/* Returns how many of this scope have not ended yet: tasks, blocks, operators, and operations and timers under way. A
 * snapshot, for people who look and for tests. 0 for NULL. */
LEAT_API size_t leat_scope_tasks(const leat_scope *scope);

/* From leat_shield until the matching leat_unshield, the calling task or thread waits as if its
 * innermost scope were not cancelled; a scope opened under a shield is not cancelled by the ones
 * around it. Shields nest, 65,535 deep. Keep them short: nothing but the partner or a deadline ends such
 * a wait.
 * Returns 0; -EINVAL for one shield too many, for leat_unshield without one, and in a block or callback. */
LEAT_API int leat_shield(void);
LEAT_API int leat_unshield(void);

#ifdef __cplusplus
}
#endif

#endif
