#include "scope/scope.h"

#include "base/gap.h"
#include "sched/nudge.h"
#include "sched/runtime.h"
#include "scope/wait.h"

/* With the scope's lock held. False: it was marked before. */
static bool mark(leat_scope *scope, int reason)
{
    if (lt_scope_is_cancelled(scope))
        return false;
    scope->result = reason;
    atomic_store_explicit(&scope->cancelled, true, memory_order_seq_cst); /* see lt_claim_recheck */
    return true;
}

/* ---- tasks: nudged to their home workers ---- */

/* The workers that got nudges: to be alerted when no lock is held. */
struct worker_set {
    uint64_t words[LT_MAX_WORKERS / 64];
};

static void nudge_task(struct lt_task *task, struct worker_set *workers)
{
    /* Acquire and release, here and at home, on one word: if it was set already, home has yet to
     * clear it, and will then see the mark that this nudge is for. */
    if (atomic_exchange_explicit(&task->nudged, LT_IS_NUDGED, memory_order_acq_rel))
        return;
    /* If the home changes meanwhile, the old home passes the nudge on. */
    struct lt_worker *home = lt_task_home(task);
    workers->words[home->index / 64] |= UINT64_C(1) << (home->index % 64);
    lt_worker_nudge(home, task);
}

static void alert(const struct worker_set *workers)
{
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        if (workers->words[i / 64] >> (i % 64) & 1)
            lt_worker_alert(lt_runtime.workers[i]);
}

static void nudge_tasks(leat_scope *scope)
{
    struct worker_set workers = { 0 };
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->tasks.next; node != &scope->tasks; node = node->next)
        nudge_task(LT_CONTAINER(node, struct lt_task, member), &workers);
    lt_unlock(&scope->lock);
    if (scope->opener->kind == LT_TASK)
        nudge_task(LT_CONTAINER(scope->opener, struct lt_task, party), &workers);
    alert(&workers);
}

void lt_scope_nudge(struct lt_task *task)
{
    struct worker_set workers = { 0 };
    nudge_task(task, &workers);
    alert(&workers);
}

void lt_scope_look(struct lt_task *task)
{
    struct lt_party *party = &task->party;
    struct lt_wait *wait = party->wait;
    if (!wait)
        return;
    if (lt_wait_allowed(party) != 0) {
        if (lt_wait_end(wait, -ECANCELED))
            lt_ready(party);
    } else if (wait->kind->look) {
        wait->kind->look(wait);
    }
}

/* ---- stackless parties: claimed ---- */

static void end_stackless(leat_scope *scope)
{
    struct lt_party *woken = NULL;
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->stackless.next; node != &scope->stackless;
         node = node->next) {
        struct lt_party *party = &LT_CONTAINER(node, struct lt_stackless, member)->party;
        if (!lt_kinds.end[party->kind](party, -ECANCELED))
            continue;
        party->next = woken;
        woken = party;
    }
    lt_unlock(&scope->lock);
    lt_ready_all(woken);
}

/* ---- threads: nudged by their word ---- */

static void nudge_threads(leat_scope *scope)
{
    /* The lock is released for each wake-up. Nudged threads go to a second list, so each is nudged
     * once although others come and go meanwhile. */
    struct lt_node nudged;
    lt_list_init(&nudged);
    lt_lock(&scope->lock);
    while (!lt_list_empty(&scope->threads)) {
        struct lt_thread *thread = LT_CONTAINER(scope->threads.next, struct lt_thread, member);
        lt_list_remove(&thread->member);
        lt_list_append(&nudged, &thread->member);
        atomic_store_explicit(&thread->pinned, true, memory_order_relaxed);
        lt_unlock(&scope->lock);
        lt_thread_nudge(thread);
        /* Release: nothing touches the thread after this, and it waits for this to leave. */
        atomic_store_explicit(&thread->pinned, false, memory_order_release);
        lt_lock(&scope->lock);
    }
    lt_list_splice(&scope->threads, &nudged);
    lt_unlock(&scope->lock);
    if (scope->opener->kind == LT_THREAD)
        lt_thread_nudge(LT_CONTAINER(scope->opener, struct lt_thread, party));
}

/* ---- the tree ---- */

/* Marks the scopes directly inside this one. Pins each newly marked one and adds it to the list. */
static void mark_children(leat_scope *scope, leat_scope **marked)
{
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->children.next; node != &scope->children; node = node->next) {
        leat_scope *child = LT_CONTAINER(node, leat_scope, sibling);
        lt_lock(&child->lock);
        bool first = mark(child, -ECANCELED);
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
    /* Pin first: once the scope is marked its tasks end, and its opener may free it. */
    lt_scope_pin(scope);
    lt_lock(&scope->lock);
    bool first = mark(scope, reason);
    lt_unlock(&scope->lock);
    if (!first) {
        lt_scope_unpin(scope);
        return;
    }
    scope->next_marked = NULL;
    leat_scope *marked = scope;
    while (marked) {
        lt_gap();
        leat_scope *current = marked;
        marked = current->next_marked;
        mark_children(current, &marked);
        nudge_tasks(current);
        nudge_threads(current);
        end_stackless(current);
        lt_scope_unpin(current);
    }
}

int leat_scope_cancel(leat_scope *scope)
{
    if (!scope)
        return -EINVAL;
    lt_scope_cancel(scope, 0);
    lt_point();
    return 0;
}
