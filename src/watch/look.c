#include "watch/look.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "block/block.h"
#include "block/machine.h"
#include "scope/cancel.h"
#include "scope/wait_list.h"
#include "watch/ask.h"
#include "watch/fleeting.h"

#include <leat/task.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- scopes ---- */

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

/* Records and pins the scopes of a branch. 0; or for how many there is no room: none is pinned. */
static size_t take_branch(struct lt_look *look, struct branch branch, size_t around)
{
    size_t before = look->scope_count, missing = 0;
    lt_lock(branch.lock);
    for (struct lt_node *node = branch.scopes->next; node != branch.scopes; node = node->next) {
        leat_scope *scope = LT_CONTAINER(node, leat_scope, sibling);
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

static int look_at_branch(struct lt_look *look, struct branch branch, size_t around)
{
    for (size_t missing; (missing = take_branch(look, branch, around));)
        if (!grow(look, missing))
            return -ENOMEM;
    return 0;
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

static int look_at_scopes(struct lt_look *look)
{
    int error =
        look_at_branch(look, (struct branch){ &lt_roots.lock, &lt_roots.scopes }, LT_NOWHERE);
    look->root_count = look->scope_count;
    for (size_t i = 0; !error && i < look->scope_count; i++) {
        leat_scope *scope = look->scopes[i].scope;
        size_t first = look->scope_count;
        error = look_at_branch(look, (struct branch){ &scope->lock, &scope->children }, i);
        look->scopes[i].inside = first;
        look->scopes[i].count = look->scope_count - first;
    }
    look->by_scope = lt_alloc((look->scope_count + 1) * sizeof(struct lt_scope_record *));
    if (error || !look->by_scope)
        return -ENOMEM;
    for (size_t i = 0; i < look->scope_count; i++)
        look->by_scope[i] = &look->scopes[i];
    qsort(look->by_scope, look->scope_count, sizeof(struct lt_scope_record *), by_scope);
    return 0;
}

static void unpin_all(struct lt_look *look)
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

/* ---- the parties and channels of a scope ---- */

/* The block's awaiter, the awaiter of that, and so on: none resumes while the block is listed. */
static void record_awaiters(struct lt_pad *pad, const struct lt_party *awaited)
{
    while (awaited->kind == LT_BLOCK && !pad->full) {
        const struct lt_party *party = lt_block_awaiter((const void *)awaited);
        struct lt_record *record = party ? lt_record_party(pad, party, LT_IS_WAITING) : NULL;
        if (!record)
            return;
        if (record->thing == LT_A_BLOCK) {
            record->line = ((const leat_block *)(const void *)party)->line;
            record->scope = party->scope;
        }
        lt_pad_aim(pad, record, LT_FOR_BLOCK, awaited, 0);
        awaited = party;
    }
}

static void record_tasks(struct lt_pad *pad, const struct lt_node *tasks, leat_scope *scope)
{
    struct lt_record *record;
    for (struct lt_node *node = tasks->next; node != tasks && !pad->full; node = node->next) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (!(record = lt_record_party(pad, &task->party, LT_IS_THERE)))
            break;
        record->scope = scope;
        record->worker = (int)task->home->index;
        record->stack = task->stack->fiber.low;
        record->stack_size = task->stack->fiber.size;
    }
}

static void record_stackless(struct lt_pad *pad, const struct lt_node *stackless, leat_scope *scope)
{
    for (struct lt_node *node = stackless->next; node != stackless && !pad->full;
         node = node->next) {
        struct lt_party *party = &LT_CONTAINER(node, struct lt_stackless, member)->party;
        struct lt_record *record = lt_record_party(pad, party, LT_IS_THERE);
        if (record)
            record->scope = scope;
        record_awaiters(pad, party);
    }
}

static void record_threads(struct lt_pad *pad, leat_scope *scope)
{
    for (struct lt_node *node = scope->threads.next; node != &scope->threads && !pad->full;
         node = node->next) {
        struct lt_thread *thread = LT_CONTAINER(node, struct lt_thread, member);
        struct lt_record *record = lt_record_party(pad, &thread->party, LT_IS_THERE);
        if (!record)
            break;
        record->scope = scope;
        if (record->since)
            record->state = LT_IS_WAITING;
    }
}

static void record_channels(struct lt_pad *pad, leat_scope *scope)
{
    for (struct lt_node *node = scope->owned.next; node != &scope->owned && !pad->full;
         node = node->next) {
        leat_chan *ch = lt_chan_owned(LT_CONTAINER(node, struct lt_owned, node));
        if (ch)
            lt_record_channel(pad, ch);
    }
}

/* In this order: stackless parties bring along the parties that await them, and channels the
 * parties that wait on them. */
static void take_scope(struct lt_pad *pad, void *arg)
{
    leat_scope *scope = arg;
    struct lt_roll roll;
    lt_lock(&scope->lock);
    record_threads(pad, scope);
    lt_unlock(&scope->lock);
    for (unsigned i = 0; lt_scope_roll(scope, i, &roll); i++) {
        lt_lock(roll.lock);
        record_tasks(pad, roll.tasks, scope);
        record_stackless(pad, roll.stackless, scope);
        lt_unlock(roll.lock);
    }
    lt_lock(&scope->lock);
    record_channels(pad, scope);
    lt_unlock(&scope->lock);
}

static void take_orphans(struct lt_pad *pad, void *unused)
{
    (void)unused;
    struct lt_node *all = &lt_orphans.channels;
    lt_lock(&lt_orphans.lock);
    for (struct lt_node *node = all->next; node != all && !pad->full; node = node->next)
        lt_record_channel(pad, LT_CONTAINER(node, leat_chan, owned.node));
    lt_unlock(&lt_orphans.lock);
}

static int look_around(struct lt_look *look)
{
    int error = 0;
    for (size_t i = 0; !error && i < look->scope_count; i++)
        error = lt_pad_take(&look->pad, take_scope, look->scopes[i].scope);
    if (!error)
        error = lt_pad_take(&look->pad, take_orphans, NULL);
    return error ? error : lt_look_at_queues(look);
}

/* ---- putting the records together ---- */

static int by_self(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    int order = compare((uintptr_t)x->self, (uintptr_t)y->self);
    if (!order)
        order = compare(x->number, y->number);
    return order ? order : compare(x->order, y->order);
}

/* In the order of the dump: by scope; then tasks, threads, blocks, callbacks, timers, channels;
 * then by number or, without one, as they were found. */
static int by_place(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    int order = compare(x->place, y->place);
    if (!order)
        order = compare(x->thing, y->thing);
    if (!order)
        order = compare(x->number, y->number);
    return order ? order : compare(x->order, y->order);
}

static void merge(struct lt_record *into, struct lt_record *from)
{
    if (from->state > into->state)
        into->state = from->state;
    if (from->complete && !into->complete) {
        into->aims = from->aims;
        into->last_aim = from->last_aim;
    } else if (from->aims && from->complete == into->complete) {
        if (into->last_aim)
            into->last_aim->next = from->aims;
        else
            into->aims = from->aims;
        into->last_aim = from->last_aim;
    }
    into->complete |= from->complete;
    into->scope = into->scope ? into->scope : from->scope;
    into->worker = into->worker >= 0 ? into->worker : from->worker;
    into->line = into->line ? into->line : from->line;
    into->until = into->until != LEAT_NEVER ? into->until : from->until;
    into->since = into->since ? into->since : from->since;
    if (from->stack) {
        into->stack = from->stack;
        into->stack_size = from->stack_size;
    }
    if (from->frames)
        into->frames = from->frames;
}

static size_t collect(struct lt_record **to, size_t n, const struct lt_pad *pad)
{
    for (struct lt_record *record = pad->first; record; record = record->next) {
        record->order = (uint32_t)n;
        to[n++] = record;
    }
    return n;
}

static int put_together(struct lt_look *look)
{
    size_t total = look->pad.count;
    for (unsigned i = 0; i < look->worker_count; i++)
        total += look->asks[i] ? lt_ask_pad(look->asks[i])->count : 0;
    look->records = lt_alloc((total + 1) * sizeof(struct lt_record *));
    look->by_self = lt_alloc((total + 1) * sizeof(struct lt_record *));
    if (!look->records || !look->by_self)
        return -ENOMEM;
    size_t n = collect(look->by_self, 0, &look->pad);
    for (unsigned i = 0; i < look->worker_count; i++)
        if (look->asks[i])
            n = collect(look->by_self, n, lt_ask_pad(look->asks[i]));
    qsort(look->by_self, n, sizeof(struct lt_record *), by_self);
    for (size_t i = 0; i < n; i++) {
        struct lt_record *record = look->by_self[i],
                         *last = look->record_count ? look->by_self[look->record_count - 1] : NULL;
        if (last && last->self == record->self && last->number == record->number)
            merge(last, record);
        else
            look->by_self[look->record_count++] = record;
    }
    for (size_t i = 0; i < look->record_count; i++) {
        struct lt_record *record = look->records[i] = look->by_self[i];
        record->place = lt_look_scope(look, record->scope);
        if (record->state == LT_IS_RUNNING && record->worker >= 0)
            look->workers[record->worker].running = record;
    }
    qsort(look->records, look->record_count, sizeof(struct lt_record *), by_place);
    return 0;
}

const struct lt_record *lt_look_find(const struct lt_look *look, const void *self, uint32_t number)
{
    size_t low = 0, high = look->record_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct lt_record *record = look->by_self[middle];
        int order = compare((uintptr_t)record->self, (uintptr_t)self);
        if (!order)
            order = compare(record->number, number);
        if (!order)
            return record;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t lt_look_first_record(const struct lt_look *look, size_t place)
{
    size_t low = 0, high = look->record_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (look->records[middle]->place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

/* ---- the look ---- */

int lt_look_turn(void)
{
    int error;
    while ((error = lt_runtime_look()) == -EBUSY) {
        leat_yield();
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    }
    return error;
}

static int look_around_pinned(struct lt_look *look)
{
    int error = look_at_scopes(look);
    if (!error)
        error = lt_ask_all(look);
    if (error)
        return error;
    error = look_around(look);
    int unanswered = lt_ask_wait(look);
    error = error ? error : unanswered;
    for (unsigned i = 0; !error && i < look->worker_count; i++)
        if (!look->asks[i])
            error = lt_look_at_busy(look, i);
    return error;
}

int lt_look_begin(struct lt_look *look, const void *caller)
{
    int saved = errno, error = lt_look_turn();
    if (error)
        return error;
    *look = (struct lt_look){ .now = lt_clock_now(),
                              .caller = caller,
                              .worker_count = lt_runtime.worker_count };
    lt_pad_init(&look->pad);
    look->asks = lt_alloc(look->worker_count * sizeof(struct lt_ask *));
    look->workers = lt_alloc(look->worker_count * sizeof *look->workers);
    error = look->asks && look->workers ? look_around_pinned(look) : -ENOMEM;
    unpin_all(look);
    lt_runtime_look_away();
    if (!error)
        error = put_together(look);
    if (error)
        lt_look_end(look);
    errno = saved;
    return error;
}

void lt_look_end(struct lt_look *look)
{
    for (unsigned i = 0; look->asks && i < look->worker_count; i++)
        lt_ask_free(look->asks[i]);
    lt_pad_free(&look->pad);
    lt_free(look->asks);
    lt_free(look->workers);
    lt_free(look->scopes);
    lt_free(look->by_scope);
    lt_free(look->records);
    lt_free(look->by_self);
}
