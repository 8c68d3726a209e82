/* look.c: a look from beginning to end: its scopes, and the room for each of them. */
#include "watch/look.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "scope/scope.h"
#include "watch/ask.h"
#include "watch/find.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* ---- scopes ---- */

/* The time at which the scope's opener, a thread, began to join it. The scope is pinned, so the
 * thread stays. */
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

static bool grow(struct lt_look *look)
{
    size_t room = 2 * look->scope_room + 64;
    struct lt_scope_record *scopes = lt_alloc_unset(room * sizeof *scopes);
    if (!scopes)
        return false;
    if (look->scope_count)
        memcpy(scopes, look->scopes, look->scope_count * sizeof *scopes);
    lt_free(look->scopes);
    look->scopes = scopes;
    look->scope_room = room;
    return true;
}

/* Records and pins the scopes of a list, at most `most`: the roots, or those inside another. False:
 * there is no memory. */
static bool take_list(struct lt_look *look, struct lt_lock *lock, const struct lt_node *scopes,
                      size_t around, size_t most)
{
    bool made = true;
    lt_lock(lock);
    for (struct lt_node *node = scopes->next; node != scopes; node = node->next) {
        leat_scope *scope = LT_CONTAINER(node, leat_scope, sibling);
        if (!most--) {
            look->sampled = true;
            break;
        }
        made = look->scope_count < look->scope_room || grow(look);
        if (!made)
            break;
        lt_scope_pin(scope);
        record_scope(look, scope, around);
    }
    lt_unlock(lock);
    return made;
}

/* The number of scopes that may be recorded inside the next one. */
static size_t scopes_allowed(const struct lt_look *look, size_t others)
{
    return look->bounded ? lt_look_share(look->bound.scopes - look->scope_count, others) : SIZE_MAX;
}

/* Records and pins the scopes, those nearest to the roots first. */
static int find_scopes(struct lt_look *look)
{
    /* Half of the room is for scopes inside others. */
    bool made =
        take_list(look, &lt_root.lock, &lt_root.children, LT_NOWHERE, scopes_allowed(look, 1));
    look->root_count = look->scope_count;
    for (size_t i = 0; made && i < look->scope_count; i++) {
        leat_scope *scope = look->scopes[i].scope;
        size_t first = look->scope_count;
        made =
            take_list(look, &scope->lock, &scope->children, i, scopes_allowed(look, first - i - 1));
        look->scopes[i].inside = first;
        look->scopes[i].count = look->scope_count - first;
        look->members += look->scopes[i].tasks;
    }
    return made && lt_look_sort_scopes(look) ? 0 : -ENOMEM;
}

static void unpin(struct lt_look *look)
{
    for (size_t i = look->scope_count; i-- > 0;)
        lt_scope_unpin(look->scopes[i].scope);
}

/* ---- room for parties ---- */

/* The room that all scopes take if each takes what it can use, but at most `most`. */
static size_t room_taken(const struct lt_look *look, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < look->scope_count; i++)
        n += lt_at_most(look->scopes[i].tasks, most);
    return n;
}

/* The greatest limit for all scopes for which the room is enough. */
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

/* Shares the room for parties among the scopes. No scope gets more than another one that could use
 * more, except that those nearest to the roots get at least LT_LOOK_LEAST. Blocks that await others
 * are not tasks of the scope, but need room as well: so the rest goes to the scopes that have
 * tasks. */
static void share_room(struct lt_look *look, size_t room)
{
    if (!look->bounded) {
        for (size_t i = 0; i < look->scope_count; i++)
            look->scopes[i].room = SIZE_MAX;
        return;
    }
    size_t limit = lt_at_least(fair_limit(look, room), LT_LOOK_LEAST), busy = 0;
    for (size_t i = 0; i < look->scope_count; i++) {
        look->scopes[i].room = lt_at_most(lt_at_most(look->scopes[i].tasks, limit), room);
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

/* ---- a look ---- */

static int prepare(struct lt_look *look)
{
    unsigned n = look->worker_count;
    size_t steps = lt_look_steps(&look->bound);
    look->workers = lt_alloc(n * sizeof *look->workers);
    look->pads = look->workers ? lt_alloc((n + 1) * sizeof *look->pads) : NULL;
    bool made = look->pads != NULL;
    for (unsigned i = 0; made && i <= n; i++) {
        lt_pad_init(&look->pads[i]);
        size_t records = i ? 2 * look->bound.parties / n + 100 : look->bound.parties;
        made = !look->bounded || lt_pad_bound(&look->pads[i], records, steps);
    }
    return made ? 0 : -ENOMEM;
}

static int64_t cpu_time(const struct lt_worker *worker)
{
    clockid_t clock;
    struct timespec used;
    if (lt_runtime.alone || pthread_getcpuclockid(worker->thread, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return -1;
    return used.tv_sec * LEAT_S + used.tv_nsec;
}

static void look_at_worker(struct lt_look *look, unsigned i)
{
    struct lt_worker_record *record = &look->workers[i];
    if (!record->answered)
        lt_look_at_busy(look, i);
    lt_count(&record->counts, lt_runtime.workers[i]);
    record->cpu = cpu_time(lt_runtime.workers[i]);
}

/* Called with the scopes pinned. */
static int look_around(struct lt_look *look)
{
    share_room(look, look->bound.parties - lt_look_reserve(look));
    int error = lt_look_ask(look);
    if (error)
        return error;
    lt_look_around(look);
    lt_look_hear(look);
    for (unsigned i = 0; i < look->worker_count; i++)
        look_at_worker(look, i);
    return 0;
}

int lt_look_begin(struct lt_look *look, const void *caller, const struct lt_look_bound *bound)
{
    int saved = errno, error = lt_look_turn();
    if (error)
        return error;
    *look = (struct lt_look){ .now = lt_clock_now(),
                              .caller = caller,
                              .bounded = bound != NULL,
                              .answer_ms = bound ? LT_ANSWER_BOUNDED_MS : LT_ANSWER_MS,
                              .worker_count = lt_runtime.worker_count };
    if (bound)
        look->bound = *bound;
    error = prepare(look);
    if (!error)
        error = find_scopes(look);
    if (!error)
        error = look_around(look);
    unpin(look);
    lt_runtime_look_away();
    if (!error)
        error = lt_look_merge(look);
    if (error)
        lt_look_end(look);
    errno = saved;
    return error;
}

void lt_look_end(struct lt_look *look)
{
    for (unsigned i = 0; look->pads && i <= look->worker_count; i++)
        lt_pad_free(&look->pads[i]);
    lt_free(look->pads);
    lt_free(look->workers);
    lt_free(look->scopes);
    lt_free(look->by_scope);
    lt_free(look->records);
    lt_free(look->by_self);
}
