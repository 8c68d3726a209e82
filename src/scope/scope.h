/* scope.h: scopes: a count of what must end, lists of what can be found, and cancelling.
 *
 * Counting. `live` has one unit for each task, one for the opener, one in a higher field for each pin
 * (somebody who works on the scope and must not see it freed), and a bit that says the opener waits in
 * leat_scope_close. Who takes it down to the opener's unit alone also takes that bit away, in one
 * compare-and-swap, and so owns the wake-up.
 *
 * In advance. A worker whose tasks or blocks start many, or that runs many to their end one after the other, does not
 * count each: it takes units for several at a time, and keeps those of the ended, up to as many, for the next, as long as
 * it goes on with somebody who belongs to the scope and so keeps it open anyway. It gives them back before it runs anybody
 * else or has nothing to do, not at each visit of its scheduler; and the opener before it waits in leat_scope_close.
 *
 * Finding. A task is put on a list of its scope's (scope/wait_list.h) when it is about to park for the first time, and
 * stays until it ends: a task that never parks never takes the scope's lock. Threads have a list of their own, and
 * so have stackless parties, blocks and callbacks.
 *
 * Cancelling. A scope is marked, with its lock held, and so are all scopes inside. Then everybody on the
 * lists is told to look: a task by way of its home worker, inside which somebody looks when the task is not running; a
 * thread by its word; a stackless party, which has no home, is claimed by the canceller. Nobody is missed: a task
 * that was listed before the mark is told, and one listed later sees the mark before it parks; a stackless party
 * looks again after it can be claimed.
 *
 * Locking. A scope's lock guards its lists, but for wait lists, `result` and the marking. Order: a scope before the scopes
 * inside it, a scope before a channel. The opener alone opens and closes. */
#ifndef LT_SCOPE_SCOPE_H
#define LT_SCOPE_SCOPE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/util.h"
#include "base/wheel.h"
#include "sched/party.h"
#include "sched/task.h"

#include <leat/base.h>
#include <leat/scope.h>

#include <errno.h>

struct lt_deadline;
struct lt_wait_list;

enum {
    LT_IN_SCOPE =
        1 /* `list` of a stackless party that is on the scope's own list: see scope/wait_list.h */
};

struct leat_scope {
    /* Read by all who wait, and hardly written: nobody should miss it because tasks come and go. */
    _Alignas(LT_CACHE_LINE) _Atomic bool cancelled; /* written under the lock, once; read without */
    uint16_t opener_shields;                        /* of the opener, in the scope around */
    uint32_t number;                                /* by which people know it */
    struct lt_party *opener;
    leat_scope *around;      /* the opener's innermost scope before this one */
    leat_scope *parent;      /* the same, or NULL when cancelling does not come from there */
    leat_scope *next_marked; /* while being cancelled */
    int64_t deadline;
    struct lt_deadline *remote;
    int result; /* what leat_scope_close returns */
    /* Written by each who waits for the first time, and at its end. */
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    uint16_t last_home; /* of who was listed last; */
    uint16_t turns;     /* how often that was another than before */
    struct lt_node tasks, threads, stackless;
    _Atomic(struct lt_wait_list *)
        wait_lists; /* NULL as long as this does: see scope/wait_list.h */
    /* Written by workers every so many tasks. */
    _Alignas(LT_CACHE_LINE) _Atomic uint64_t live;
    struct lt_node owned;
    struct lt_node children, sibling; /* sibling: among the parent's children, or the roots */
    struct lt_timer timer;            /* see scope/deadline.h */
};

/* The scopes that have no parent. Their lock comes before any scope's. */
struct lt_roots {
    struct lt_lock lock;
    struct lt_node scopes;
};

extern struct lt_roots lt_roots;

/* Something that a scope frees at its end. */
struct lt_owned {
    struct lt_node node;
    void (*free)(struct lt_owned *owned);
};

static inline bool lt_scope_is_cancelled(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->cancelled, memory_order_relaxed);
}

/* The task itself: puts it on a list of its scope's. 0, or -EDEADLK for a party that may not wait. */
int lt_scope_enlist(struct lt_party *party);

/* Puts a party without a home on a list of its scope's; takes it off, if it is on one. */
void lt_scope_enlist_stackless(struct lt_stackless *stackless);
void lt_scope_delist_stackless(struct lt_stackless *stackless);

/* Gives something to the scope; takes it back. */
void lt_scope_own(leat_scope *scope, struct lt_owned *owned);

/* One more who must end; and one fewer, with what it returned. */
void lt_scope_enter(leat_scope *scope);
void lt_scope_leave(leat_scope *scope, int result);

/* The same for tasks and blocks, the second as their last act, on a worker: counted in advance, where that goes. */
void lt_scope_enter_here(leat_scope *scope);
void lt_scope_leave_here(leat_scope *scope, int result);

/* The scope a task belongs to, whatever it has opened itself; asked inside its home, or by the task. */
leat_scope *lt_scope_of_task(const struct lt_task *task);

/* Whether the opener waits in leat_scope_close, at this moment. */
bool lt_scope_joined(const leat_scope *scope);

/* Inside its home worker: ends the wait of a task whose scope has been cancelled. */
void lt_scope_look(struct lt_task *task);

/* Ends the program if a party whose task has returned has left a scope open. */
void lt_scope_check_closed(const struct lt_party *party, const char *name);

#endif
