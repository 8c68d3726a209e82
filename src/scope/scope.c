#include "scope/scope.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sched/current.h"
#include "sched/probe.h"
#include "sched/runtime.h"
#include "scope/wait.h"

#include <string.h>

/* The fields of `live`. */
#define OPENER UINT64_C(1)
#define TASK UINT64_C(1)
#define PIN (UINT64_C(1) << 40)
#define JOINING (UINT64_C(1) << 63)

leat_scope lt_root = { .deadline = LEAT_NEVER,
                       .owned = { &lt_root.owned, &lt_root.owned },
                       .children = { &lt_root.children, &lt_root.children } };

/* ---- counting ---- */

static void remove_units(leat_scope *scope, uint64_t units)
{
    struct lt_party *opener = scope->opener;
    uint64_t old = atomic_load_explicit(&scope->live, memory_order_relaxed), now;
    do {
        now = old - units;
        if (now == (JOINING | OPENER))
            now = OPENER;
    } while (!atomic_compare_exchange_weak_explicit(
        /* Release: the opener sees what was done before. Acquire: the last party to leave sees all
         * of it, and passes it on with the wake-up. */
        &scope->live, &old, now, memory_order_acq_rel, memory_order_relaxed));
    /* From here on the scope may be freed, unless this call must wake its opener. */
    if (old - units == (JOINING | OPENER))
        lt_ready(opener);
}

void lt_scope_enter(leat_scope *scope)
{
    /* Relaxed: the caller keeps the scope open by a unit it already has. */
    atomic_fetch_add_explicit(&scope->live, TASK, memory_order_relaxed);
}

void lt_scope_pin(leat_scope *scope)
{
    atomic_fetch_add_explicit(&scope->live, PIN, memory_order_relaxed);
}

void lt_scope_unpin(leat_scope *scope)
{
    remove_units(scope, PIN);
}

void lt_scope_leave(leat_scope *scope, int result)
{
    if (result)
        lt_scope_cancel(scope, result);
    remove_units(scope, TASK);
}

/* ---- counting in advance ---- */

/* Units of a scope that a worker holds at most. */
enum { MOST_UNITS = 64 };

/* Other threads call this, too. set_units stores a count of 0 before it changes `units.of`; acquire
 * here and release there keep that order. So a count that is read between two looks that find
 * `scope` belongs to `scope`, unless the worker has changed to another scope and back: a snapshot
 * may be off by that. */
static uint32_t units_of(const struct lt_worker *worker, const leat_scope *scope)
{
    if (atomic_load_explicit(&worker->units.of, memory_order_acquire) != scope)
        return 0;
    uint32_t n = atomic_load_explicit(&worker->units.count, memory_order_acquire);
    return atomic_load_explicit(&worker->units.of, memory_order_relaxed) == scope ? n : 0;
}

static void set_units(struct lt_worker *worker, leat_scope *scope, uint32_t n)
{
    if (atomic_load_explicit(&worker->units.of, memory_order_relaxed) != scope) {
        atomic_store_explicit(&worker->units.count, 0, memory_order_release);
        atomic_store_explicit(&worker->units.of, scope, memory_order_release);
    }
    atomic_store_explicit(&worker->units.count, n, memory_order_release);
}

void lt_scope_return_units(struct lt_worker *worker)
{
    leat_scope *scope = atomic_load_explicit(&worker->units.of, memory_order_relaxed);
    uint32_t n = units_of(worker, scope);
    set_units(worker, NULL, 0);
    worker->units.next = 1;
    if (n)
        remove_units(scope, n * TASK);
}

/* Gives back units of another scope. Returns how many the worker holds for this one. */
static uint32_t switch_units_to(struct lt_worker *worker, leat_scope *scope)
{
    if (atomic_load_explicit(&worker->units.of, memory_order_relaxed) != scope)
        lt_scope_return_units(worker);
    return units_of(worker, scope);
}

/* Moves a unit: `away` takes it from the worker, else the worker gets one. False: the worker counts
 * for another scope, has no unit, or has no room. */
static inline bool move_unit(struct lt_worker *worker, const leat_scope *scope, bool away)
{
    /* Relaxed: the worker alone writes them. */
    uint32_t n = atomic_load_explicit(&worker->units.count, memory_order_relaxed);
    if (atomic_load_explicit(&worker->units.of, memory_order_relaxed) != scope ||
        n == (away ? 0 : MOST_UNITS))
        return false;
    atomic_store_explicit(&worker->units.count, away ? n - 1 : n + 1, memory_order_release);
    return true;
}

__attribute__((noinline)) static void enter_slow_path(struct lt_worker *worker, leat_scope *scope)
{
    uint32_t left = switch_units_to(worker, scope);
    if (!left) {
        left = worker->units.next;
        if (worker->units.next < MOST_UNITS)
            worker->units.next *= 2;
        atomic_fetch_add_explicit(&scope->live, left * TASK, memory_order_relaxed);
    }
    set_units(worker, scope, left - 1);
}

void lt_scope_enter_here(leat_scope *scope)
{
    struct lt_worker *worker = lt_current_worker();
    const struct lt_party *self = lt_current_party_or_null();
    /* A party that does not belong to the scope, such as a callback, does not keep it open. */
    if (!worker || (self->kind != LT_TASK && self->kind != LT_BLOCK) || self->scope != scope)
        lt_scope_enter(scope);
    else if (LT_UNLIKELY(!move_unit(worker, scope, true)))
        enter_slow_path(worker, scope);
}

__attribute__((noinline)) static void leave_slow_path(struct lt_worker *worker, leat_scope *scope,
                                                      int result)
{
    if (result)
        lt_scope_cancel(scope, result);
    uint32_t others = switch_units_to(worker, scope);
    set_units(worker, scope, 1);
    if (others)
        remove_units(scope, others * TASK);
}

void lt_scope_leave_here(leat_scope *scope, int result)
{
    struct lt_worker *worker = lt_current_worker();
    if (LT_UNLIKELY(result || !move_unit(worker, scope, false)))
        leave_slow_path(worker, scope, result);
}

/* The units of a scope that all workers hold. */
static uint64_t units_in_advance(const leat_scope *scope)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        n += units_of(lt_runtime.workers[i], scope);
    return n;
}

struct joining {
    struct lt_wait wait;
    const leat_scope *scope;
};

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    listener->hear(listener, LT_FOR_SCOPE, LT_CONTAINER(wait, struct joining, wait)->scope);
}

static const struct lt_wait_kind joins = { .describe = describe };

/* Waits until only the opener is left. */
static void join(leat_scope *scope)
{
    struct joining joining;
    if (lt_current_worker())
        lt_scope_return_units(lt_current_worker());
    if (atomic_load_explicit(&scope->live, memory_order_acquire) == OPENER)
        return;
    if (!scope->opener->enlisted)
        lt_scope_enlist(scope->opener); /* for dumps: neither deadline nor cancel ends this wait */
    joining.scope = scope;
    lt_wait_begin(&joining.wait, scope->opener, &joins);
    uint64_t old = atomic_load_explicit(&scope->live, memory_order_acquire);
    do {
        if (old == OPENER)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&scope->live, &old, old | JOINING,
                                                    memory_order_acq_rel, memory_order_acquire));
    lt_wait_park(&joining.wait, LEAT_NEVER);
}

size_t leat_scope_tasks(const leat_scope *scope)
{
    if (!scope)
        return 0;
    /* If the units are the same before and after, most probably none moved in between. While many
     * tasks end, one always does. */
    enum { LOOKS = 16 };
    uint64_t live, units = units_in_advance(scope), before;
    unsigned looks = LOOKS;
    do {
        before = units;
        live = atomic_load_explicit(&scope->live, memory_order_acquire) & (PIN - 1);
        units = units_in_advance(scope);
    } while (units != before && --looks > 0);
    return live > OPENER + units ? (size_t)(live - OPENER - units) : 0;
}

bool lt_scope_joined(const leat_scope *scope)
{
    return atomic_load_explicit(&scope->live, memory_order_relaxed) & JOINING;
}

/* ---- finding ---- */

leat_scope *lt_scope_of_task(const struct lt_task *task)
{
    leat_scope *scope = task->party.scope;
    while (scope->opener == &task->party) /* the task opened that scope, and belongs to an outer
                                           * one */
        scope = scope->around;
    return scope;
}

void lt_scope_own(leat_scope *scope, struct lt_owned *owned)
{
    lt_lock(&scope->lock);
    lt_list_append(&scope->owned, &owned->node);
    lt_unlock(&scope->lock);
}

int lt_scope_enlist(struct lt_party *party)
{
    if (party->kind != LT_TASK)
        return -EDEADLK;
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    leat_scope *scope = lt_scope_of_task(task);
    lt_lock(&scope->lock);
    lt_list_append(&scope->tasks, &task->member);
    lt_unlock(&scope->lock);
    party->enlisted = true;
    return 0;
}

void lt_scope_enlist_stackless(struct lt_stackless *stackless)
{
    leat_scope *scope = stackless->party.scope;
    lt_lock(&scope->lock);
    lt_list_append(&scope->stackless, &stackless->member);
    lt_unlock(&scope->lock);
    stackless->party.listed = true;
}

void lt_scope_delist_stackless(struct lt_stackless *stackless)
{
    if (!stackless->party.listed)
        return;
    stackless->party.listed = false;
    leat_scope *scope = stackless->party.scope;
    lt_lock(&scope->lock);
    lt_list_remove(&stackless->member);
    lt_unlock(&scope->lock);
}

/* ---- opening and closing ---- */

static void become_child(leat_scope *scope, leat_scope *parent)
{
    scope->parent = parent;
    lt_lock(&parent->lock);
    lt_list_append(&parent->children, &scope->sibling);
    bool cancelled = lt_scope_is_cancelled(parent);
    lt_unlock(&parent->lock);
    if (cancelled)
        lt_scope_cancel(scope, -ECANCELED);
}

/* A worker keeps the memory of the last scope it closed for the next: that halves the cost of a
 * short scope. Not in builds that refuse memory on purpose, or look for its misuse. */
static leat_scope *get_memory(struct lt_worker *worker)
{
    leat_scope *scope = worker ? worker->spare_scope : NULL;
    if (scope)
        worker->spare_scope = NULL;
    else
        scope = lt_alloc_lines(sizeof *scope);
    if (scope)
        lt_clear(scope, sizeof *scope);
    return scope;
}

static void put_memory(struct lt_worker *worker, leat_scope *scope)
{
    if (LT_KEEP_SPARES && worker && !worker->spare_scope)
        worker->spare_scope = scope;
    else
        lt_free(scope);
}

static leat_scope *make(struct lt_party *opener)
{
    leat_scope *scope = get_memory(lt_current_worker());
    if (!scope)
        return NULL;
    lt_list_init(&scope->tasks);
    lt_list_init(&scope->threads);
    lt_list_init(&scope->stackless);
    lt_list_init(&scope->owned);
    lt_list_init(&scope->children);
    atomic_store_explicit(&scope->live, OPENER, memory_order_relaxed);
    scope->opener = opener;
    scope->opener_shields = opener->shields;
    scope->around = opener->scope;
    scope->number = lt_number();
    return scope;
}

leat_scope *leat_scope_open(int64_t deadline)
{
    struct lt_party *self = lt_current_party();
    if (deadline < 0 || (self->kind != LT_TASK && self->kind != LT_THREAD) || !lt_runtime_hold())
        return NULL;
    leat_scope *scope = make(self);
    if (!scope) {
        lt_runtime_release();
        return NULL;
    }
    lt_deadline_set(scope, deadline);
    self->scope = scope;
    self->shields = 0;
    become_child(scope, scope->around && !scope->opener_shields ? scope->around : &lt_root);
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_TRACE))
        lt_observer->scope(scope->number, true);
    return scope;
}

/* From here on neither a canceller nor a dump finds the scope. One that found it earlier has pinned
 * it, and the opener waits for that pin. */
static void leave_parent(leat_scope *scope)
{
    lt_lock(&scope->parent->lock);
    lt_list_remove(&scope->sibling);
    lt_unlock(&scope->parent->lock);
}

/* From the last to the first. Then those that drop functions have made meanwhile. */
static void empty_owned(leat_scope *scope)
{
    struct lt_node *end = &scope->owned, *last;
    while ((last = scope->owned.prev) != end) {
        for (struct lt_node *node = last; node != end; node = node->prev) {
            struct lt_owned *owned = LT_CONTAINER(node, struct lt_owned, node);
            if (owned->kind->empty)
                owned->kind->empty(owned);
        }
        end = last;
    }
}

static void free_owned(leat_scope *scope)
{
    empty_owned(scope);
    /* Relaxed: only what this thread has called may start anything now. */
    if (atomic_load_explicit(&scope->live, memory_order_relaxed) != OPENER)
        lt_die("leat: a drop function has started something in the scope that closes");
    while (!lt_list_empty(&scope->owned)) {
        struct lt_owned *owned = LT_CONTAINER(scope->owned.next, struct lt_owned, node);
        lt_list_remove(&owned->node);
        owned->kind->free(owned);
    }
}

int leat_scope_close(leat_scope *scope)
{
    struct lt_party *self = lt_current_party();
    if (!scope || self->scope != scope || scope->opener != self)
        return -EINVAL;
    join(scope);
    lt_deadline_clear(scope);
    leave_parent(scope);
    join(scope);
    self->scope = scope->around;
    self->shields = scope->opener_shields;
    free_owned(scope);
    int result = scope->result;
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_TRACE))
        lt_observer->scope(scope->number, false);
    put_memory(lt_current_worker(), scope);
    lt_runtime_release();
    return result;
}

static bool deadline_has_passed(const leat_scope *scope)
{
    return scope->deadline != LEAT_NEVER && scope->deadline <= lt_clock_now();
}

bool lt_scope_sees_cancel(leat_scope *scope)
{
    const leat_scope *marked = scope;
    while (marked && !lt_scope_is_cancelled(marked))
        marked = marked->parent;
    if (marked && marked != scope)
        lt_scope_cancel(scope, -ECANCELED);
    return marked != NULL;
}

/* The timer of a deadline fires between parties, and if each worker runs a party that computes,
 * that may take long. So this looks at the deadlines itself. */
int leat_cancelled(const leat_scope *scope)
{
    if (!scope)
        scope = lt_current_party()->scope;
    const leat_scope *late = scope;
    while (late && !lt_scope_is_cancelled(late) && !deadline_has_passed(late))
        late = late->parent;
    if (late && !lt_scope_is_cancelled(late))
        lt_scope_cancel((leat_scope *)late, -ETIMEDOUT);
    bool cancelled = lt_scope_sees_cancel((leat_scope *)scope);
    lt_point(); /* or in a seeded world a loop that only asks this would never end */
    return cancelled;
}

/* A scope's parent outlives the scope. */
int64_t leat_scope_deadline(const leat_scope *scope)
{
    int64_t earliest = LEAT_NEVER;
    if (!scope)
        scope = lt_current_party()->scope;
    for (; scope; scope = scope->parent)
        if (scope->deadline < earliest)
            earliest = scope->deadline;
    return earliest;
}

int leat_shield(void)
{
    struct lt_party *self = lt_current_party();
    if (self->shields == UINT16_MAX || (self->kind != LT_TASK && self->kind != LT_THREAD))
        return -EINVAL;
    self->shields++;
    return 0;
}

int leat_unshield(void)
{
    struct lt_party *self = lt_current_party();
    if (!self->shields)
        return -EINVAL;
    self->shields--;
    return 0;
}
