#include "watch/picture.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(uintptr_t a, uintptr_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- scopes ---- */

static int by_scope(const void *a, const void *b)
{
    const struct lt_scope_record *x = *(struct lt_scope_record *const *)a;
    const struct lt_scope_record *y = *(struct lt_scope_record *const *)b;
    return compare((uintptr_t)x->scope, (uintptr_t)y->scope);
}

bool lt_look_sort_scopes(struct lt_look *look)
{
    look->by_scope = lt_alloc((look->scope_count + 1) * sizeof(struct lt_scope_record *));
    if (!look->by_scope)
        return false;
    for (size_t i = 0; i < look->scope_count; i++)
        look->by_scope[i] = &look->scopes[i];
    qsort(look->by_scope, look->scope_count, sizeof(struct lt_scope_record *), by_scope);
    return true;
}

size_t lt_look_scope(const struct lt_look *look, const void *scope)
{
    const struct lt_scope_record wanted = { .scope = (leat_scope *)(uintptr_t)scope },
                                 *key = &wanted;
    struct lt_scope_record **found =
        bsearch(&key, look->by_scope, look->scope_count, sizeof *found, by_scope);
    return found ? (size_t)(*found - look->scopes) : LT_NOWHERE;
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

/* ---- one record for each thing ---- */

static int by_thing(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    int order = compare((uintptr_t)x->self, (uintptr_t)y->self);
    return order ? order : compare(x->number, y->number);
}

static int by_self(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    int order = by_thing(a, b);
    return order ? order : compare(x->order, y->order);
}

/* In the order of the dump: by scope; then tasks, threads, blocks, callbacks, timers, channels, and
 * so on; then by number, or if there is none, as they were found. */
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

/* What is true of one moment only. */
static void take_moment(struct lt_record *into, const struct lt_record *from)
{
    into->aims = from->aims;
    into->last_aim = from->last_aim;
    into->worker = from->worker;
    into->until = from->until;
    into->since = from->since;
    into->frames = from->frames;
}

/* Both records are of parts of one moment, or of moments that cannot be told apart. */
static void fill_gaps(struct lt_record *into, const struct lt_record *from)
{
    if (from->aims && !into->complete && !from->complete) {
        *(into->last_aim ? &into->last_aim->next : &into->aims) = from->aims;
        into->last_aim = from->last_aim;
    }
    into->worker = into->worker >= 0 ? into->worker : from->worker;
    into->until = into->until != LEAT_NEVER ? into->until : from->until;
    into->since = into->since ? into->since : from->since;
    into->frames = into->frames ? into->frames : from->frames;
}

/* A task that moved in between may have complete records by two workers, of two moments. The one
 * with the greater state is believed, as a whole. */
static void merge(struct lt_record *into, const struct lt_record *from)
{
    bool greater = from->state > into->state, same = from->state == into->state;
    if (from->complete && (greater || (same && !into->complete)))
        take_moment(into, from);
    else if (!from->complete || !into->complete)
        fill_gaps(into, from);
    into->state = greater ? from->state : into->state;
    into->complete |= from->complete;
    into->chosen |= from->chosen;
    into->scope = into->scope ? into->scope : from->scope;
    into->scope_number = into->scope_number ? into->scope_number : from->scope_number;
    into->line = into->line ? into->line : from->line;
    if (from->stack) {
        into->stack = from->stack;
        into->stack_size = from->stack_size;
    }
    if (from->holder)
        into->holder = from->holder;
}

/* All records, in the order in which they were made. */
static size_t collect(struct lt_record **to, const struct lt_look *look)
{
    size_t n = 0;
    for (unsigned i = 0; i <= look->worker_count; i++)
        for (struct lt_record *record = look->pads[i].first; record; record = record->next) {
            record->order = (uint32_t)n;
            to[n++] = record;
        }
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

/* Running parties first, then those that their scopes have shown, then those found elsewhere, in
 * that order. */
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
    size_t total = 1;
    bool failed = false;
    for (unsigned i = 0; i <= look->worker_count; i++) {
        struct lt_pad *pad = &look->pads[i];
        total += pad->count;
        failed |= pad->failed;
        look->sampled |= pad->cut;
    }
    look->records = failed ? NULL : lt_alloc(total * sizeof(struct lt_record *));
    look->by_self = look->records ? lt_alloc(total * sizeof(struct lt_record *)) : NULL;
    if (!look->by_self)
        return -ENOMEM;
    size_t n = collect(look->by_self, look);
    qsort(look->by_self, n, sizeof(struct lt_record *), by_self);
    merge_all(look, n);
    if (look->bounded)
        take_out(look);
    memcpy(look->records, look->by_self, look->record_count * sizeof(struct lt_record *));
    for (size_t i = 0; i < look->record_count; i++) {
        struct lt_record *record = look->records[i];
        record->place = lt_look_scope(look, record->scope);
        if (record->state == LT_IS_RUNNING && record->worker >= 0)
            look->workers[record->worker].running = record;
    }
    qsort(look->records, look->record_count, sizeof(struct lt_record *), by_place);
    return 0;
}

const struct lt_record *lt_look_find(const struct lt_look *look, const void *self, uint32_t number)
{
    const struct lt_record wanted = { .self = self, .number = number }, *key = &wanted;
    struct lt_record **found =
        bsearch(&key, look->by_self, look->record_count, sizeof *found, by_thing);
    return found ? *found : NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct lt_record *x = *(struct lt_record *const *)a, *y = *(struct lt_record *const *)b;
    return compare((uintptr_t)x->self, (uintptr_t)y->self);
}

const struct lt_record *lt_look_find_holder(const struct lt_look *look,
                                            const struct lt_record *channel)
{
    const struct lt_record wanted = { .self = channel->holder }, *key = &wanted;
    struct lt_record **found = NULL;
    if (channel->holder)
        found = bsearch(&key, look->by_self, look->record_count, sizeof *found, by_address);
    return found ? *found : NULL;
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
