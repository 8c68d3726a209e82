/* scope.h: scopes: a count of what must end, lists of what can be found, and cancelling.
 *
 * Counting. `live` has one unit for each task, one for the opener, one in a higher field for each pin
 * (somebody who works on the scope and must not see it freed), and a bit that says the opener waits in
 * leat_scope_close. Who takes it down to the opener's unit alone also takes that bit away, in one
 * compare-and-swap, and so owns the wake-up.
 *
 * Finding. A task is put on its scope's list when it is about to park for the first time, and stays until
 * it ends: a task that never parks never takes the scope's lock. `crew` says on which workers there may
 * be parked tasks; threads are on a list of their own.
 *
 * Cancelling. A scope is marked, with its lock held, together with all scopes inside; then a job goes
 * round the workers of its crew and ends, on each, the waits of the tasks at home there whose innermost
 * scope it is; threads are nudged and look for themselves. A task that misses the mark has not parked
 * yet, so the job finds it; one that parks later sees the mark.
 *
 * Locking. A scope's lock guards its lists, `result` and the marking. Order: a scope before the scopes
 * inside it, a scope before a channel. The opener alone opens and closes. */
#ifndef LT_SCOPE_SCOPE_H
#define LT_SCOPE_SCOPE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/wheel.h"
#include "sched/party.h"

#include <leat/base.h>
#include <leat/scope.h>

#include <errno.h>

enum { LT_CREW_WORDS = 256 / 64 };

struct leat_scope {
    struct lt_lock lock;
    _Atomic bool cancelled; /* written under the lock, once; read without */
    int result;             /* what leat_scope_close returns */
    _Atomic uint64_t live;
    uint64_t crew[LT_CREW_WORDS];
    struct lt_node tasks, threads, owned;
    struct lt_party *opener;
    uint32_t opener_shields;  /* of the opener, in the scope around */
    leat_scope *around;       /* the opener's innermost scope before this one */
    leat_scope *parent;       /* the same, or NULL when cancelling does not come from there */
    struct lt_node children, sibling;
    leat_scope *next_marked;  /* while being cancelled */
    struct lt_job sweep;
    struct lt_timer timer;    /* the deadline, in the wheel of `timer_home` */
    struct lt_worker *timer_home;
};

/* Something that a scope frees at its end. */
struct lt_owned {
    struct lt_node node;
    void (*free)(struct lt_owned *owned);
};

static inline bool lt_scope_is_cancelled(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->cancelled, memory_order_relaxed);
}

/* Puts a party on its scope's list, when it belongs to one; false when there was nothing to do. */
bool lt_scope_enlist(struct lt_party *party);

/* Gives something to the scope; takes it back. */
void lt_scope_own(leat_scope *scope, struct lt_owned *owned);

/* One task more; and one fewer, with what it returned. */
void lt_scope_enter(leat_scope *scope);
void lt_scope_leave(leat_scope *scope, int result);

/* Ends the program if a party whose task has returned has left a scope open. */
void lt_scope_check_closed(const struct lt_party *party, const char *name);

#endif
