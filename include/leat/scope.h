/* leat/scope.h: scopes: they own tasks and channels, and stop work.
 *
 * A task or a thread opens a scope, starts tasks and makes channels in it, and closes it. Closing
 * waits for all tasks of the scope, then frees its channels. So nothing outlives its scope, and the
 * argument of a task may be a variable of the function that closes the scope.
 *
 * Scopes nest. A party's innermost scope counts for its waits: the last scope that it has opened
 * and not closed, or, if there is none, the scope that it belongs to. Cancelling a scope also
 * cancels all scopes inside it, and none outside.
 *
 * Cancelling a scope ends every wait in it with -ECANCELED, including the opener's waits. Functions
 * that are exceptions say so. Every later call that may wait returns -ECANCELED at once, even where
 * it would not have to wait. So a cancelled stream never looks complete. The try forms still work.
 *
 * A scope is cancelled by leat_scope_cancel, by its deadline, by the scope around it, or by the
 * first of its tasks that returns a value other than 0. If clean-up has to wait in a cancelled
 * scope, it waits under a shield (leat_shield).
 *
 * Late or cancelled. A wait that the scope's deadline ends returns -ECANCELED as well. The opener
 * learns the reason when it closes the scope: leat_scope_close returns -ETIMEDOUT for the deadline.
 * A party in the scope asks the clock: `leat_scope_deadline(NULL) <= leat_now()` is true whenever a
 * deadline has ended the wait. It is also true if something else has ended the wait and a deadline
 * has passed since.
 */
#ifndef LEAT_SCOPE_H
#define LEAT_SCOPE_H

#include <leat/base.h>

typedef struct leat_scope leat_scope;

/* Opens a scope inside the caller's innermost one. The new scope becomes the caller's innermost;
 * the caller must close it. `deadline` is the time at which leat cancels the scope;
 * leat_scope_close then returns -ETIMEDOUT. With LEAT_NEVER the scope has no deadline; LEAT_NOW is
 * a deadline that has passed. Only a task or a thread may open a scope.
 * Returns the scope; NULL when memory has run out, the deadline is negative, no runtime runs, or
 * the caller is a block or callback. */
LEAT_API leat_scope *leat_scope_open(int64_t deadline);

/* Waits until every task of the scope has ended, then frees its channels and the scope. It does not
 * cancel the tasks: to leave early, call leat_scope_cancel first. Cancelling ends the tasks' waits,
 * but not this wait. Only the opener may close a scope, and only while the scope is its innermost
 * one.
 *
 * Items left in the channels go to the channels' drop functions, before anything is freed: so a
 * drop function may use the scope's other channels, semaphores and the like. The channel that was
 * made last comes first. Each channel is closed when its turn comes. If a drop function starts a
 * task in the scope, or something else that closing would wait for, the program ends with a
 * message.
 * Returns 0 when all tasks returned 0, or when leat_scope_cancel cancelled the scope first; else
 * the first reason that cancelled it: a value other than 0 that a task returned, -ETIMEDOUT for the
 * scope's deadline, or -ECANCELED for a scope around it. -EINVAL for NULL, or when the caller may
 * not close the scope; then nothing has happened. */
LEAT_API int leat_scope_close(leat_scope *scope);

/* Cancels the scope and every scope inside it: their waits end with -ECANCELED. Does not wait for
 * the tasks. Any party may call it while the scope is open. A second call does nothing.
 * Returns 0; -EINVAL for NULL. */
LEAT_API int leat_scope_cancel(leat_scope *scope);

/* Tells whether `scope` is cancelled; NULL means the caller's innermost scope. A long computation
 * should call this now and then: the call also finds a deadline that has passed while every worker
 * computes. A shield does not change the answer.
 * Returns 1 when it is cancelled; 0 when not, or when `scope` is NULL and the caller is in no
 * scope. */
LEAT_API int leat_cancelled(const leat_scope *scope);

/* Tells the earliest deadline that cancels `scope`: its own, or that of a scope around it. NULL
 * means the caller's innermost scope. With the answer, a foreign function, a program or another
 * machine can be given no more time than is left. A shield does not change the answer.
 * Returns the deadline, which may have passed; LEAT_NEVER when there is none. */
LEAT_API int64_t leat_scope_deadline(const leat_scope *scope);

/* Counts what has not ended yet in the scope: tasks, blocks, operators, operations, and timers that
 * are set. For dumps and tests: the count may change at any moment, and may be wrong for a moment,
 * by up to 64 for each worker that runs tasks of the scope.
 * Returns the count; 0 for NULL. */
LEAT_API size_t leat_scope_tasks(const leat_scope *scope);

/* Protect waits from cancelling. From leat_shield until the matching leat_unshield, the calling
 * task or thread waits as if its innermost scope were not cancelled. If it opens a scope meanwhile,
 * the scopes around the new one do not cancel it. Shields nest, 65,535 deep. Keep them short: only
 * a partner or a deadline ends a wait under a shield.
 * Returns 0; -EINVAL when shields nest too deep, for leat_unshield without a shield, and in a block
 * or callback. */
LEAT_API int leat_shield(void);
LEAT_API int leat_unshield(void);

#endif
