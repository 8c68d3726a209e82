#include "scope/roster.h"

#include "base/alloc.h"
#include "base/config.h"
#include "sched/here.h"
#include "sched/runtime.h"

/* What `list` of a roamer says, and `roster` of a task. */
enum { UNLISTED, IN_SCOPE = LT_IN_SCOPE, IN_ROSTER };

/* With very many workers some share one: a roamer has few bits to know it by. */
enum { MOST = 64 };

_Static_assert(IN_ROSTER + MOST <= 1 << 7, "see lt_party");

static unsigned roster_count(void)
{
    return lt_runtime.worker_count < MOST ? lt_runtime.worker_count : MOST;
}

static unsigned index_of(const struct lt_worker *worker)
{
    return worker->index % MOST;
}

/* Acquire: they are seen whole, and with them whether the scope had been cancelled when they were made. */
static struct lt_roster *rosters_of(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->rosters, memory_order_acquire);
}

static struct lt_roll roll_of(leat_scope *scope, struct lt_roster *roster)
{
    return roster ? (struct lt_roll){ &roster->lock, &roster->tasks, &roster->roamers }
                  : (struct lt_roll){ &scope->lock, &scope->tasks, &scope->roamers };
}

bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll)
{
    struct lt_roster *rosters = i ? rosters_of(scope) : NULL;
    if (i && (!rosters || i > roster_count()))
        return false;
    *roll = roll_of(scope, rosters ? &rosters[i - 1] : NULL);
    return true;
}

/* With the scope's lock held. Without memory all goes on as before. */
LT_COLD static void make_rosters(leat_scope *scope)
{
    struct lt_roster *rosters = lt_alloc(roster_count() * sizeof *rosters);
    if (!rosters)
        return;
    for (unsigned i = 0; i < roster_count(); i++) {
        lt_list_init(&rosters[i].tasks);
        lt_list_init(&rosters[i].roamers);
    }
    /* Release: who finds them without the lock finds them whole. */
    atomic_store_explicit(&scope->rosters, rosters, memory_order_release);
}

/* With the scope's lock held: somebody of that worker has come to its own lists. */
static inline void count_turn(leat_scope *scope, const struct lt_worker *worker)
{
    if (scope->last_home == worker->index)
        return;
    scope->last_home = (uint16_t)worker->index;
    if (++scope->turns == LT_ROSTERS_AFTER && !rosters_of(scope))
        make_rosters(scope);
}

/* ---- tasks ---- */

int lt_scope_enlist(struct lt_party *party)
{
    if (party->kind != LT_TASK)
        return -EDEADLK;
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    leat_scope *scope = lt_scope_of_task(task);
    struct lt_roster *rosters = rosters_of(scope);
    struct lt_worker *here = lt_task_home(task);
    unsigned index = rosters ? index_of(here) : 0;
    struct lt_roll roll = roll_of(scope, rosters ? &rosters[index] : NULL);
    task->roster = (uint8_t)(rosters ? IN_ROSTER + index : IN_SCOPE);
    lt_lock(roll.lock);
    lt_list_append(roll.tasks, &task->member);
    if (!rosters)
        count_turn(scope, here);
    lt_unlock(roll.lock);
    party->enlisted = true;
    return 0;
}

void lt_scope_delist(struct lt_task *task)
{
    leat_scope *scope = task->party.scope;
    struct lt_roll roll = roll_of(
        scope, task->roster == IN_SCOPE ? NULL : &rosters_of(scope)[task->roster - IN_ROSTER]);
    lt_lock(roll.lock);
    lt_list_remove(&task->member);
    lt_unlock(roll.lock);
}

/* ---- roamers ---- */

void lt_scope_enlist_roamer(struct lt_roamer *roamer)
{
    leat_scope *scope = roamer->party.scope;
    struct lt_worker *here = lt_worker_here(); /* where it waits for the first time, or NULL */
    struct lt_roster *rosters = here ? rosters_of(scope) : NULL;
    unsigned index = rosters ? index_of(here) : 0;
    struct lt_roll roll = roll_of(scope, rosters ? &rosters[index] : NULL);
    lt_lock(roll.lock);
    lt_list_append(roll.roamers, &roamer->member);
    if (here && !rosters)
        count_turn(scope, here);
    lt_unlock(roll.lock);
    roamer->party.list = (rosters ? IN_ROSTER + index : IN_SCOPE) & 0x7f;
}

void lt_scope_delist_roamer(struct lt_roamer *roamer)
{
    leat_scope *scope = roamer->party.scope;
    unsigned list = roamer->party.list;
    if (list == UNLISTED)
        return;
    roamer->party.list = UNLISTED;
    struct lt_roll roll =
        roll_of(scope, list == IN_SCOPE ? NULL : &rosters_of(scope)[list - IN_ROSTER]);
    lt_lock(roll.lock);
    lt_list_remove(&roamer->member);
    lt_unlock(roll.lock);
}

/* ---- the end ---- */

void lt_rosters_free(leat_scope *scope)
{
    lt_free(rosters_of(scope));
}
