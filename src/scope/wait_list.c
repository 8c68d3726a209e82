#include "scope/wait_list.h"

#include "base/alloc.h"
#include "base/config.h"
#include "sched/current.h"
#include "sched/runtime.h"

/* Values of a stackless party's `list` and of a task's `wait_list`. */
enum { UNLISTED, IN_SCOPE = LT_IN_SCOPE, IN_WAIT_LIST };

/* More workers than this share wait lists: a stackless party has 7 bits for the number of its
 * list. */
enum { MOST = 64 };

_Static_assert(IN_WAIT_LIST + MOST <= 1 << 7, "see lt_party");

static unsigned wait_list_count(void)
{
    return lt_runtime.worker_count < MOST ? lt_runtime.worker_count : MOST;
}

static unsigned index_of(const struct lt_worker *worker)
{
    return worker->index % MOST;
}

/* Acquire: the lists are seen whole, and so is a mark that the scope had when they were made. */
static struct lt_wait_list *wait_lists_of(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->wait_lists, memory_order_acquire);
}

static struct lt_roll roll_of(leat_scope *scope, struct lt_wait_list *wait_list)
{
    return wait_list
               ? (struct lt_roll){ &wait_list->lock, &wait_list->tasks, &wait_list->stackless }
               : (struct lt_roll){ &scope->lock, &scope->tasks, &scope->stackless };
}

unsigned lt_scope_rolls(const leat_scope *scope)
{
    return wait_lists_of(scope) ? 1 + wait_list_count() : 1;
}

bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll)
{
    struct lt_wait_list *wait_lists = i ? wait_lists_of(scope) : NULL;
    if (i && (!wait_lists || i > wait_list_count()))
        return false;
    *roll = roll_of(scope, wait_lists ? &wait_lists[i - 1] : NULL);
    return true;
}

/* With the scope's lock held. If memory has run out, the scope keeps its own lists. */
LT_COLD static void make_wait_lists(leat_scope *scope)
{
    struct lt_wait_list *wait_lists = lt_alloc(wait_list_count() * sizeof *wait_lists);
    if (!wait_lists)
        return;
    for (unsigned i = 0; i < wait_list_count(); i++) {
        lt_list_init(&wait_lists[i].tasks);
        lt_list_init(&wait_lists[i].stackless);
    }
    /* Release: see wait_lists_of. */
    atomic_store_explicit(&scope->wait_lists, wait_lists, memory_order_release);
}

/* With the scope's lock held: counts that a party on this worker came to the scope's own lists. */
static inline void count_turn(leat_scope *scope, const struct lt_worker *worker)
{
    if (scope->last_home == worker->index)
        return;
    scope->last_home = (uint16_t)worker->index;
    if (++scope->turns == LT_WAIT_LISTS_AFTER && !wait_lists_of(scope))
        make_wait_lists(scope);
}

/* ---- tasks ---- */

int lt_scope_enlist(struct lt_party *party)
{
    if (party->kind != LT_TASK)
        return -EDEADLK;
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    leat_scope *scope = lt_scope_of_task(task);
    struct lt_wait_list *wait_lists = wait_lists_of(scope);
    struct lt_worker *here = lt_task_home(task);
    unsigned index = wait_lists ? index_of(here) : 0;
    struct lt_roll roll = roll_of(scope, wait_lists ? &wait_lists[index] : NULL);
    task->wait_list = (uint8_t)(wait_lists ? IN_WAIT_LIST + index : IN_SCOPE);
    lt_lock(roll.lock);
    lt_list_append(roll.tasks, &task->member);
    if (!wait_lists)
        count_turn(scope, here);
    lt_unlock(roll.lock);
    party->enlisted = true;
    return 0;
}

void lt_scope_delist(struct lt_task *task)
{
    leat_scope *scope = task->party.scope;
    struct lt_roll roll = roll_of(
        scope,
        task->wait_list == IN_SCOPE ? NULL : &wait_lists_of(scope)[task->wait_list - IN_WAIT_LIST]);
    lt_lock(roll.lock);
    lt_list_remove(&task->member);
    lt_unlock(roll.lock);
}

/* ---- stackless parties ---- */

void lt_scope_enlist_stackless(struct lt_stackless *stackless)
{
    leat_scope *scope = stackless->party.scope;
    struct lt_worker *here = lt_current_worker(); /* where it waits for the first time, or NULL */
    struct lt_wait_list *wait_lists = here ? wait_lists_of(scope) : NULL;
    unsigned index = wait_lists ? index_of(here) : 0;
    struct lt_roll roll = roll_of(scope, wait_lists ? &wait_lists[index] : NULL);
    lt_lock(roll.lock);
    lt_list_append(roll.stackless, &stackless->member);
    if (here && !wait_lists)
        count_turn(scope, here);
    lt_unlock(roll.lock);
    stackless->party.list = (wait_lists ? IN_WAIT_LIST + index : IN_SCOPE) & 0x7f;
}

void lt_scope_delist_stackless(struct lt_stackless *stackless)
{
    leat_scope *scope = stackless->party.scope;
    unsigned list = stackless->party.list;
    if (list == UNLISTED)
        return;
    stackless->party.list = UNLISTED;
    struct lt_roll roll =
        roll_of(scope, list == IN_SCOPE ? NULL : &wait_lists_of(scope)[list - IN_WAIT_LIST]);
    lt_lock(roll.lock);
    lt_list_remove(&stackless->member);
    lt_unlock(roll.lock);
}

/* ---- the end ---- */

void lt_wait_lists_free(leat_scope *scope)
{
    lt_free(wait_lists_of(scope));
}
