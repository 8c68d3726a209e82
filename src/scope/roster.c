#include "scope/roster.h"

#include "base/alloc.h"
#include "base/config.h"
#include "sched/runtime.h"

/* Acquire: they are seen whole, and with them whether the scope had been cancelled when they were made. */
static struct lt_roster *rosters_of(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->rosters, memory_order_acquire);
}

static struct lt_roll roll_of(leat_scope *scope, struct lt_roster *roster)
{
    return roster ? (struct lt_roll){ &roster->lock, &roster->tasks }
                  : (struct lt_roll){ &scope->lock, &scope->tasks };
}

bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll)
{
    struct lt_roster *rosters = i ? rosters_of(scope) : NULL;
    if (i && (!rosters || i > lt_runtime.worker_count))
        return false;
    *roll = roll_of(scope, rosters ? &rosters[i - 1] : NULL);
    return true;
}

/* With the scope's lock held. Without memory all goes on as before. */
LT_COLD static void make_rosters(leat_scope *scope)
{
    struct lt_roster *rosters = lt_alloc(lt_runtime.worker_count * sizeof *rosters);
    if (!rosters)
        return;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        lt_list_init(&rosters[i].tasks);
    /* Release: who finds them without the lock finds them whole. */
    atomic_store_explicit(&scope->rosters, rosters, memory_order_release);
}

int lt_scope_enlist(struct lt_party *party)
{
    if (party->kind != LT_TASK)
        return -EDEADLK;
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    leat_scope *scope = lt_scope_of_task(task);
    unsigned home = task->home->index;
    struct lt_roster *rosters = rosters_of(scope);
    struct lt_roll roll = roll_of(scope, rosters ? &rosters[home] : NULL);
    task->rostered = rosters != NULL;
    lt_lock(roll.lock);
    lt_list_append(roll.tasks, &task->member);
    if (!rosters && scope->last_home != home) {
        scope->last_home = (uint16_t)home;
        if (++scope->turns == LT_ROSTERS_AFTER && !rosters_of(scope))
            make_rosters(scope);
    }
    lt_unlock(roll.lock);
    party->enlisted = true;
    return 0;
}

void lt_scope_delist(struct lt_task *task)
{
    leat_scope *scope = task->party.scope;
    struct lt_roster *roster = task->rostered ? &rosters_of(scope)[task->home->index] : NULL;
    struct lt_roll roll = roll_of(scope, roster);
    lt_lock(roll.lock);
    lt_list_remove(&task->member);
    lt_unlock(roll.lock);
}

void lt_rosters_free(leat_scope *scope)
{
    lt_free(rosters_of(scope));
}
