#include "scope/cancel.h"

#include "base/futex.h"
#include "sched/runtime.h"
#include "scope/wait.h"

bool lt_scope_mark(leat_scope *scope, int reason)
{
    if (lt_scope_is_cancelled(scope))
        return false;
    if (!scope->result)
        scope->result = reason;
    atomic_store_explicit(&scope->cancelled, true, memory_order_relaxed);
    return true;
}

/* ---- tasks: a job that goes round the crew ---- */

/* Ends the wait of a party at home here, if it is in a wait that this scope may end. */
static void end_wait(leat_scope *scope, struct lt_party *party, struct lt_party **woken)
{
    if (party->scope != scope || party->shields || !party->wait ||
        !lt_wait_end(party->wait, -ECANCELED))
        return;
    party->next = *woken;
    *woken = party;
}

static bool at_home_here(const struct lt_party *party, const struct lt_worker *here)
{
    return party->kind == LT_TASK &&
           LT_CONTAINER(party, const struct lt_task, party)->home == here;
}

/* The first worker of the crew from `first` on; NULL when there is none. */
static struct lt_worker *next_of_crew(leat_scope *scope, unsigned first)
{
    struct lt_worker *next = NULL;
    lt_lock(&scope->lock);
    for (unsigned i = first; i < lt_runtime.worker_count && !next; i++)
        if (scope->crew[i / 64] >> (i % 64) & 1)
            next = lt_runtime.workers[i];
    lt_unlock(&scope->lock);
    return next;
}

/* Sends the job on, or ends its round and lets go of the scope. */
static void post_sweep(leat_scope *scope, unsigned first)
{
    struct lt_worker *next = next_of_crew(scope, first);
    if (next)
        lt_worker_post(next, &scope->sweep.party);
    else
        lt_scope_unpin(scope);
}

static void sweep(struct lt_job *job)
{
    leat_scope *scope = LT_CONTAINER(job, leat_scope, sweep);
    struct lt_worker *here = lt_worker_self();
    struct lt_party *woken = NULL;
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->tasks.next; node != &scope->tasks; node = node->next) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (task->home == here)
            end_wait(scope, &task->party, &woken);
    }
    if (at_home_here(scope->opener, here))
        end_wait(scope, scope->opener, &woken);
    lt_unlock(&scope->lock);
    lt_ready_all(woken);
    /* A worker that joined the crew since the mark has no task that could have missed it. */
    post_sweep(scope, here->index + 1);
}

/* ---- threads ---- */

static void nudge(struct lt_thread *thread)
{
    lt_thread_nudge(thread);
    /* Release: the thread, which waits for this before it leaves the scope, is not touched after. */
    atomic_store_explicit(&thread->pinned, false, memory_order_release);
}

static void nudge_threads(leat_scope *scope)
{
    /* The lock is given up for each wake-up. Those already nudged go to the end of a list of their
     * own, so each is nudged once whoever comes and goes meanwhile. */
    struct lt_node nudged;
    lt_list_init(&nudged);
    lt_lock(&scope->lock);
    while (!lt_list_empty(&scope->threads)) {
        struct lt_thread *thread =
            LT_CONTAINER(scope->threads.next, struct lt_thread, member);
        lt_list_remove(&thread->member);
        lt_list_append(&nudged, &thread->member);
        atomic_store_explicit(&thread->pinned, true, memory_order_relaxed);
        lt_unlock(&scope->lock);
        nudge(thread);
        lt_lock(&scope->lock);
    }
    lt_list_splice(&scope->threads, &nudged);
    lt_unlock(&scope->lock);
    if (scope->opener->kind == LT_THREAD)
        lt_thread_nudge(LT_CONTAINER(scope->opener, struct lt_thread, party));
}

/* ---- the tree ---- */

/* Marks the scopes directly inside; each one newly marked is pinned and added to the list. */
static void mark_children(leat_scope *scope, leat_scope **marked)
{
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->children.next; node != &scope->children;
         node = node->next) {
        leat_scope *child = LT_CONTAINER(node, leat_scope, sibling);
        lt_lock(&child->lock);
        bool first = lt_scope_mark(child, -ECANCELED);
        lt_unlock(&child->lock);
        if (!first)
            continue;
        lt_scope_pin(child);
        child->next_marked = *marked;
        *marked = child;
    }
    lt_unlock(&scope->lock);
}

void lt_scope_cancel(leat_scope *scope, int reason)
{
    lt_lock(&scope->lock);
    bool first = lt_scope_mark(scope, reason);
    lt_unlock(&scope->lock);
    if (!first)
        return;
    lt_scope_pin(scope);
    scope->next_marked = NULL;
    leat_scope *marked = scope;
    while (marked) {
        leat_scope *current = marked;
        marked = current->next_marked;
        mark_children(current, &marked);
        nudge_threads(current);
        current->sweep.party.kind = LT_JOB;
        current->sweep.run = sweep;
        post_sweep(current, 0); /* which takes over the pin */
    }
}

int leat_scope_cancel(leat_scope *scope)
{
    if (!scope)
        return -EINVAL;
    lt_scope_cancel(scope, 0);
    return 0;
}
