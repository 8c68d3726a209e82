/* scope.h: a scope counts the parties that must end in it, lists those that can wait in it, and
 * cancels them.
 *
 * Counting. `live` holds one unit for each task, block or operation, one for the opener, a count of
 * pins in a higher field, and a bit that is set while the opener waits in leat_scope_close. A
 * pinned scope is not freed. The party that takes `live` down to the opener's unit alone also
 * clears the bit, in one compare-and-swap, and so owns the wake-up.
 *
 * Units in advance. A worker takes several units at a time for the tasks and blocks that it starts,
 * and keeps the units of those that end for the next. It holds units only while it runs parties of
 * the scope, which keep the scope open anyway. It gives them back before it runs any other party or
 * becomes idle, not at each visit of its scheduler. An opener gives back its worker's units before
 * it waits in leat_scope_close.
 *
 * Finding. A task is put on a list of its scope before it parks for the first time, and stays there
 * until it ends: a task that never parks never takes the scope's lock. Threads have their own list,
 * and so do stackless parties (blocks and callbacks).
 *
 * Cancelling. The canceller marks the scope and all scopes inside, each under its own lock. Then it
 * reaches each party on a marked scope's lists: a task inside its home worker, while the task does
 * not run; a thread by its word; a stackless party, which has no home, by claiming it. No party is
 * missed: a task listed before the mark is nudged, and one listed later sees the mark before it
 * parks; a stackless party looks again after it can be claimed.
 *
 * Locking. A scope's lock guards its lists, `result` and the marking.
 * Order: a scope before the scopes inside it, a scope before a channel. Only its opener closes a
 * scope. */
#pragma once

#include "base/list.h"
#include "base/lock.h"
#include "base/util.h"
#include "sched/party.h"
#include "sched/shared_timer.h"
#include "sched/task.h"
#include "scope/owned.h"

#include <leat/scope.h>

struct leat_scope {
    /* Read at each wait, rarely written, so not on a line that each task writes. */
    _Alignas(LT_CACHE_LINE) _Atomic bool cancelled; /* written under the lock, once; read without */
    uint16_t opener_shields;                        /* of the opener, in the scope around */
    uint32_t number;                                /* its name in dumps and traces */
    struct lt_party *opener;
    leat_scope *around;      /* the opener's innermost scope before this one */
    leat_scope *parent;      /* the same, or lt_root if cancelling does not come from there */
    leat_scope *next_marked; /* while being cancelled */
    int64_t deadline;
    int result;              /* what leat_scope_close returns */
    _Atomic bool timer_left; /* set by the first of the timer and the opener: see
                              * scope/deadline.c */
    /* Written at a party's first wait, and at its end. */
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_node tasks, threads, stackless;
    /* Written by workers when they take units or give them back. */
    _Alignas(LT_CACHE_LINE) _Atomic uint64_t live;
    struct lt_node owned;
    struct lt_node children, sibling; /* `sibling`: in the parent's children */
    struct lt_shared_timer timer;     /* in a task's scope only its `timer` is used:
                                       * scope/deadline.c */
};

/* The parent of the scopes that have no other. It owns the channels that no other scope owns. It is
 * not cancelled, is not closed, and has no parent. */
extern leat_scope lt_root;

static inline bool lt_scope_is_cancelled(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->cancelled, memory_order_relaxed);
}

/* lt_scope_enter and lt_scope_leave for tasks and blocks, by units in advance if possible. A party
 * leaves as its last act. */
void lt_scope_enter_here(leat_scope *scope);
void lt_scope_leave_here(leat_scope *scope, int result);

/* A pinned scope is not freed. */
void lt_scope_pin(leat_scope *scope);
void lt_scope_unpin(leat_scope *scope);

/* The scope a task belongs to, not one that it opened. Called by the task itself, or inside its
 * home. */
leat_scope *lt_scope_of_task(const struct lt_task *task);

/* As leat_go_named; the task begins on `worker`. */
int lt_go_at(struct lt_worker *worker, leat_scope *scope, leat_fn *fn, void *arg, const char *name,
             size_t stack_size);

/* A task puts itself on its scope's list. 0, or -EDEADLK for a party that may not park. */
int lt_scope_enlist(struct lt_party *party);

/* lt_scope_enlist_stackless puts a stackless party on its scope's list; lt_scope_delist_stackless
 * takes it off, if it is there. */
void lt_scope_enlist_stackless(struct lt_stackless *stackless);
void lt_scope_delist_stackless(struct lt_stackless *stackless);

/* Whether the opener waits in leat_scope_close. */
bool lt_scope_joined(const leat_scope *scope);

/* For the table of kinds (sched/kinds.h): gives the worker's units back. */
void lt_scope_return_units(struct lt_worker *worker);

/* Inside its home worker: ends the wait of a task whose scope has been cancelled, and calls the
 * wait's `look`, which may have another reason to end it. */
void lt_scope_look(struct lt_task *task);

/* From any thread: the task's home looks soon. The caller keeps the task from ending. */
void lt_scope_nudge(struct lt_task *task);

/* Ends the program if a task has returned and `party` still has a scope open. */
void lt_scope_check_closed(const struct lt_party *party, const char *name);

/* For the table of kinds; sched/kinds.h describes when each is called. */
bool lt_scope_task_ended(struct lt_task *task, int result);
void lt_scope_task_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

/* The deadline of a scope: called when it opens. */
void lt_deadline_set(leat_scope *scope, int64_t deadline);

/* Called when the scope closes and no task is left. */
void lt_deadline_clear(leat_scope *scope);

/* For a thread that waits: cancels its scopes whose deadline has passed. Returns the next deadline,
 * or LEAT_NEVER. */
int64_t lt_deadline_attend(const struct lt_party *thread);
