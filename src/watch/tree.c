/* tree.c: the scopes of a look, and the room that each of them has in it. */
#include "watch/tree.h"

#include "base/alloc.h"
#include "scope/cancel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding scopes ---- */

/* A list of scopes: the roots, or the scopes inside another. */
struct branch {
    struct lt_lock *lock;
    struct lt_node *scopes;
};

/* Since when the scope's opener, a thread, joins it. The scope is pinned, so the thread stays. */
static int64_t joins_since(const leat_scope *scope)
{
    if (scope->opener->kind != LT_THREAD || !lt_scope_joined(scope) ||
        !(lt_probing() & LT_PROBE_WAITS))
        return 0;
    return atomic_load_explicit(&LT_CONTAINER(scope->opener, struct lt_thread, party)->since,
                                memory_order_relaxed);
}

static void record_scope(struct lt_look *look, leat_scope *scope, size_t around)
{
    const struct lt_party *opener = scope->opener;
    look->scopes[look->scope_count++] = (struct lt_scope_record){
        .scope = scope,
        .opener = opener,
        .number = scope->number,
        .opener_is_thread = opener->kind == LT_THREAD,
        .opener_number =
            opener->kind == LT_TASK ? LT_CONTAINER(opener, struct lt_task, party)->number : 0,
        .opener_joins = lt_scope_joined(scope),
        .opener_since = joins_since(scope),
        .cancelled = lt_scope_is_cancelled(scope),
        .tasks = leat_scope_tasks(scope),
        .deadline = scope->deadline,
        .around = around,
    };
}

/* Records and pins the scopes of a branch, `most` at most. 0; or for how many there is no room:
 * none is pinned. */
static size_t take_branch(struct lt_look *look, struct branch branch, size_t around, size_t most)
{
    size_t before = look->scope_count, missing = 0;
    lt_lock(branch.lock);
    for (struct lt_node *node = branch.scopes->next; node != branch.scopes; node = node->next) {
        leat_scope *scope = LT_CONTAINER(node, leat_scope, sibling);
        if (look->scope_count - before + missing == most) {
            look->sampled = true;
            break;
        }
        if (look->scope_count == look->scope_room) {
            missing++;
            continue;
        }
        lt_scope_pin(scope);
        record_scope(look, scope, around);
    }
    lt_unlock(branch.lock);
    while (missing && look->scope_count > before)
        lt_scope_unpin(look->scopes[--look->scope_count].scope);
    return missing;
}

static bool grow(struct lt_look *look, size_t by)
{
    size_t room = (look->scope_room + by) * 2;
    struct lt_scope_record *scopes = lt_alloc(room * sizeof *scopes);
    if (!scopes)
        return false;
    if (look->scope_count)
        memcpy(scopes, look->scopes, look->scope_count * sizeof *scopes);
    lt_free(look->scopes);
    lt_free(look->by_scope);
    look->scopes = scopes;
    look->scope_room = room;
    return true;
}

static int look_at_branch(struct lt_look *look, struct branch branch, size_t around, size_t most)
{
    for (size_t missing; (missing = take_branch(look, branch, around, most));)
        if (!grow(look, missing))
            return -ENOMEM;
    return 0;
}

static size_t at_least(size_t n, size_t least)
{
    return n > least ? n : least;
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* How many scopes may be recorded inside the one that comes next, when `left` others have still to
 * come: so one scope with many inside leaves room for those in others. */
static size_t scopes_allowed(const struct lt_look *look, size_t left)
{
    size_t rest = look->bound.scopes - look->scope_count;
    return look->bounded ? at_most(rest, at_least(rest / (left + 1), LT_LOOK_LEAST)) : SIZE_MAX;
}

static int compare(uintptr_t a, uintptr_t b)
{
    return a < b ? -1 : a > b;
}

static int by_scope(const void *a, const void *b)
{
    const struct lt_scope_record *x = *(struct lt_scope_record *const *)a;
    const struct lt_scope_record *y = *(struct lt_scope_record *const *)b;
    return compare((uintptr_t)x->scope, (uintptr_t)y->scope);
}

int lt_look_at_scopes(struct lt_look *look)
{
    /* Half of the room is for scopes inside others. */
    int error = look_at_branch(look, (struct branch){ &lt_roots.lock, &lt_roots.scopes },
                               LT_NOWHERE, scopes_allowed(look, 1));
    look->root_count = look->scope_count;
    for (size_t i = 0; !error && i < look->scope_count; i++) {
        leat_scope *scope = look->scopes[i].scope;
        size_t first = look->scope_count;
        error = look_at_branch(look, (struct branch){ &scope->lock, &scope->children }, i,
                               scopes_allowed(look, first - i - 1));
        look->scopes[i].inside = first;
        look->scopes[i].count = look->scope_count - first;
        look->members += look->scopes[i].tasks;
    }
    look->by_scope = lt_alloc((look->scope_count + 1) * sizeof(struct lt_scope_record *));
    if (error || !look->by_scope)
        return -ENOMEM;
    for (size_t i = 0; i < look->scope_count; i++)
        look->by_scope[i] = &look->scopes[i];
    qsort(look->by_scope, look->scope_count, sizeof(struct lt_scope_record *), by_scope);
    return 0;
}

void lt_look_unpin(struct lt_look *look)
{
    for (size_t i = look->scope_count; i-- > 0;)
        lt_scope_unpin(look->scopes[i].scope);
}

size_t lt_look_scope(const struct lt_look *look, const void *scope)
{
    size_t low = 0, high = look->scope_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare((uintptr_t)look->by_scope[middle]->scope, (uintptr_t)scope);
        if (!order)
            return (size_t)(look->by_scope[middle] - look->scopes);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return LT_NOWHERE;
}

size_t lt_look_next_scope(const struct lt_look *look, size_t at, unsigned *depth)
{
    const struct lt_scope_record *scopes = look->scopes;
    if (scopes[at].count) {
        ++*depth;
        return scopes[at].inside;
    }
    for (;;) {
        size_t around = scopes[at].around;
        size_t end =
            around == LT_NOWHERE ? look->root_count : scopes[around].inside + scopes[around].count;
        if (at + 1 < end)
            return at + 1;
        if (around == LT_NOWHERE)
            return LT_NOWHERE;
        at = around;
        --*depth;
    }
}

/* ---- room for parties ---- */

/* How much room all scopes take if each takes what it has use for, but `most` at most. */
static size_t room_taken(const struct lt_look *look, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < look->scope_count; i++)
        n += at_most(look->scopes[i].tasks, most);
    return n;
}

/* The greatest limit for all scopes with which the room is enough. */
static size_t fair_limit(const struct lt_look *look, size_t room)
{
    size_t low = 0, high = room;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (room_taken(look, middle) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Blocks that await others are no tasks of the scope, but need room as well: so what is left goes
 * to the scopes that have tasks. */
void lt_look_share(struct lt_look *look, size_t room)
{
    if (!look->bounded) {
        for (size_t i = 0; i < look->scope_count; i++)
            look->scopes[i].room = SIZE_MAX;
        return;
    }
    size_t limit = at_least(fair_limit(look, room), LT_LOOK_LEAST), busy = 0;
    for (size_t i = 0; i < look->scope_count; i++) {
        look->scopes[i].room = at_most(at_most(look->scopes[i].tasks, limit), room);
        room -= look->scopes[i].room;
        busy += look->scopes[i].tasks != 0;
    }
    for (size_t i = 0; busy && i < look->scope_count; i++) {
        if (!look->scopes[i].tasks)
            continue;
        size_t more = room / busy--;
        look->scopes[i].room += more;
        room -= more;
    }
}
