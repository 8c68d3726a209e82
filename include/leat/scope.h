/* leat/scope.h: scopes own tasks and channels, and are how work is stopped.
 *
 * A task or a thread opens a scope, starts tasks and makes channels in it, and closes it. Closing
 * waits for all tasks of the scope, then frees its channels. So nothing outlives its scope, and the
 * argument of a task may be a variable of the function that closes the scope.
 *
 * Scopes nest. The scope that counts for a party's waits is its innermost open one: the scope that
 * it opened last, else the scope that it belongs to. Cancelling a scope also cancels all scopes
 * inside it, and none outside.
 *
 * Cancelling a scope ends every wait in it with -ECANCELED, the opener's waits too. Exceptions are
 * documented at their functions. Every later call that may wait returns -ECANCELED at once, even
 * where it would not have to wait. The try forms still work. So a cancelled stream never looks
 * complete.
 *
 * A scope is cancelled by leat_scope_cancel, by its deadline, by the scope around it, or by the
 * first of its tasks that returns a value other than 0. Clean-up that has to wait in a cancelled
 * scope does so under a shield.
 */
#ifndef LEAT_SCOPE_H
#define LEAT_SCOPE_H

#include <leat/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_scope leat_scope;

/* Opens a scope inside the caller's innermost one. The new scope becomes the caller's innermost;
 * the caller must close it. When `deadline` passes, leat cancels the scope, and leat_scope_close
 * returns -ETIMEDOUT. Here LEAT_NOW is a deadline that has passed. Only a task or a thread may call
 * it.
 * Returns the scope; NULL when memory has run out, the deadline is negative, no runtime runs, or
 * the caller is a block or callback. */
LEAT_API leat_scope *leat_scope_open(int64_t deadline);

/* Waits until every task of the scope has ended, then frees its channels and the scope. Items left
 * in the channels go to the channels' drop functions. It does not cancel: to leave early, call
 * leat_scope_cancel first. Cancelling does not end this wait, but ends those of the tasks. Only the
 * opener may call it, for its innermost scope.
 * Returns why the scope ended: 0 when all tasks returned 0, or when leat_scope_cancel came first;
 * else the first of these: the value other than 0 that a task returned, -ETIMEDOUT for the scope's
 * deadline, -ECANCELED when a scope around it was cancelled. -EINVAL for NULL, or when the caller
 * may not close it; then nothing has happened. */
LEAT_API int leat_scope_close(leat_scope *scope);

/* Cancels the scope and every scope inside it: their waits end with -ECANCELED. Does not wait for
 * the tasks. Any party may call it while the scope is open. A second call does nothing.
 * Returns 0; -EINVAL for NULL. */
LEAT_API int leat_scope_cancel(leat_scope *scope);

/* Tells whether the scope is cancelled; NULL is the caller's innermost one. A long computation asks
 * this now and then. A shield makes no difference.
 * Returns 1 when it is cancelled; 0 when not, or when `scope` is NULL and the caller is in no
 * scope. */
LEAT_API int leat_cancelled(const leat_scope *scope);

/* Counts what has not ended yet in the scope: tasks, blocks, operators, and operations and timers
 * under way. The number may change at any moment, and it may be off for a moment, by up to 64 for
 * each worker that runs tasks of the scope. It is for dumps and tests.
 * Returns the count; 0 for NULL. */
LEAT_API size_t leat_scope_tasks(const leat_scope *scope);

/* Protect waits from cancelling. From leat_shield until the matching leat_unshield, the calling
 * task or thread waits as if its innermost scope were not cancelled, and the scopes around a scope
 * that it opens do not cancel that. Shields nest, 65,535 deep. Keep them short: only a partner or a
 * deadline ends a wait under a shield.
 * Returns 0; -EINVAL for a shield too many, for leat_unshield without a shield, and in a block or
 * callback. */
LEAT_API int leat_shield(void);
LEAT_API int leat_unshield(void);

#ifdef __cplusplus
}
#endif

#endif
