/* merge.c: one record for each thing, of all that the asker and the workers have recorded. */
#include "watch/merge.h"

#include "base/alloc.h"
#include "watch/ask.h"

#include <errno.h>
#include <stdlib.h>

static int compare(uintptr_t a, uintptr_t b)
{
    return a < b ? -1 : a > b;
}

static int by_self(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    int order = compare((uintptr_t)x->self, (uintptr_t)y->self);
    if (!order)
        order = compare(x->number, y->number);
    return order ? order : compare(x->order, y->order);
}

/* In the order of the dump: by scope; then tasks, threads, blocks, callbacks, timers, channels,
 * and so on; then by number or, without one, as they were found. */
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
    into->chosen |= from->chosen;
    into->scope = into->scope ? into->scope : from->scope;
    into->in_scope |= from->in_scope;
    into->scope_number = into->scope_number ? into->scope_number : from->scope_number;
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

static size_t collect_all(struct lt_record **to, const struct lt_look *look)
{
    size_t n = collect(to, 0, &look->pad);
    for (unsigned i = 0; i < look->worker_count; i++)
        if (look->asks[i])
            n = collect(to, n, lt_ask_pad(look->asks[i]));
    return n;
}

static void merge_all(struct lt_look *look, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct lt_record *record = look->by_self[i],
                         *last = look->record_count ? look->by_self[look->record_count - 1] : NULL;
        if (last && last->self == record->self && last->number == record->number)
            merge(last, record);
        else
            look->by_self[look->record_count++] = record;
    }
}

/* ---- when it is too much ---- */

/* First what runs, and what the scopes have shown; then what was found elsewhere, in that order. */
static int by_rank(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    bool x_last = !x->chosen && x->state != LT_IS_RUNNING,
         y_last = !y->chosen && y->state != LT_IS_RUNNING;
    return x_last != y_last ? compare(x_last, y_last) : compare(x->order, y->order);
}

/* Takes out the parties beyond the bound. Uses look->records, which is not filled yet. */
static void take_out(struct lt_look *look)
{
    size_t parties = 0, kept = 0;
    for (size_t i = 0; i < look->record_count; i++)
        if (lt_is_party(look->by_self[i]->thing))
            look->records[parties++] = look->by_self[i];
    if (parties <= look->bound.parties)
        return;
    look->sampled = true;
    qsort(look->records, parties, sizeof(struct lt_record *), by_rank);
    for (size_t i = look->bound.parties; i < parties; i++)
        look->records[i]->self = NULL;
    for (size_t i = 0; i < look->record_count; i++)
        if (look->by_self[i]->self)
            look->by_self[kept++] = look->by_self[i];
    look->record_count = kept;
}

int lt_look_merge(struct lt_look *look)
{
    size_t total = look->pad.count;
    for (unsigned i = 0; i < look->worker_count; i++)
        total += look->asks[i] ? lt_ask_pad(look->asks[i])->count : 0;
    look->records = lt_alloc((total + 1) * sizeof(struct lt_record *));
    look->by_self = lt_alloc((total + 1) * sizeof(struct lt_record *));
    if (!look->records || !look->by_self)
        return -ENOMEM;
    size_t n = collect_all(look->by_self, look);
    qsort(look->by_self, n, sizeof(struct lt_record *), by_self);
    merge_all(look, n);
    if (look->bounded)
        take_out(look);
    for (size_t i = 0; i < look->record_count; i++) {
        struct lt_record *record = look->records[i] = look->by_self[i];
        record->place = lt_look_scope(look, record->scope);
        record->hidden =
            look->bounded && (record->scope || record->in_scope) && record->place == LT_NOWHERE;
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
