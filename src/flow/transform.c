/* transform.c: the ready-made transforms. */
#include "flow/transform.h"

#include "base/alloc.h"
#include "base/item.h"

#include <errno.h>
#include <string.h>

int leat_emit_item(leat_emit *emit, const void *item)
{
    return emit ? emit->put(emit, item) : -EINVAL;
}

void leat_leave_out(leat_emit *emit, const void *item)
{
    if (emit && emit->passage->drop && !emit->inner)
        emit->passage->drop((void *)(uintptr_t)item);
}

void leat_transform_free(leat_transform *t)
{
    if (t && t->free)
        t->free(t);
}

/* ---- shared parts ---- */

int lt_transform_failed(leat_transform *t, int error, const void *item, leat_emit *emit)
{
    if (!t->failed || emit->passage->failure)
        return error;
    int result = t->failed(t, error, item, emit);
    if (result < 0)
        emit->passage->failure = result;
    return result;
}

static void free_memory(leat_transform *t)
{
    lt_free(t);
}

void *lt_transform_make(size_t bytes, size_t in_size, size_t out_size, size_t most,
                        lt_step_fn *step)
{
    if (in_size > LT_ITEM_MAX || out_size > LT_ITEM_MAX || !step)
        return NULL;
    leat_transform *t = lt_alloc(bytes);
    if (t)
        *t = (leat_transform){ .in_size = in_size,
                               .out_size = out_size,
                               .most = most,
                               .step = step,
                               .free = free_memory };
    return t;
}

/* ---- one function for each item ---- */

union fn {
    leat_map_fn *map;
    leat_test_fn *test;
    leat_mapcat_fn *mapcat;
};

/* The step knows which member of `fn` is set. */
struct with_fn {
    leat_transform t;
    union fn fn;
    void *arg;
    bool ended;                       /* for take_while */
    bool removes;                     /* for remove */
    _Alignas(16) unsigned char out[]; /* for map */
};

static int map_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct with_fn *w = (struct with_fn *)t;
    int error = w->fn.map(w->arg, item, w->out);
    return error ? error : leat_emit_item(emit, w->out);
}

static leat_transform *with_fn(size_t in, size_t out, size_t most, lt_step_fn *step, union fn fn,
                               void *arg)
{
    size_t room = step == map_step && out <= LT_ITEM_MAX ? out : 0;
    struct with_fn *w = fn.map ? lt_transform_make(sizeof *w + room, in, out, most, step) : NULL;
    if (w) {
        w->fn = fn;
        w->arg = arg;
    }
    return (leat_transform *)w;
}

leat_transform *leat_map(size_t in_size, size_t out_size, leat_map_fn *fn, void *arg)
{
    return with_fn(in_size, out_size, 1, map_step, (union fn){ .map = fn }, arg);
}

/* `passes`: 1 yes, 0 no, or a negative error. */
static int pass_or_leave_out(int passes, const void *item, leat_emit *emit)
{
    if (passes > 0)
        return leat_emit_item(emit, item);
    if (passes == 0)
        leat_leave_out(emit, item);
    return passes;
}

static int filter_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct with_fn *w = (struct with_fn *)t;
    int yes = w->fn.test(w->arg, item);
    return pass_or_leave_out(w->removes && yes >= 0 ? !yes : yes, item, emit);
}

static int take_while_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct with_fn *w = (struct with_fn *)t;
    int passes = w->ended ? 0 : w->fn.test(w->arg, item);
    /* After it has ended, a transform before it may still hold items. */
    w->ended = passes == 0;
    int error = pass_or_leave_out(passes, item, emit);
    return w->ended ? LEAT_ENOUGH : error;
}

leat_transform *leat_filter(size_t size, leat_test_fn *fn, void *arg)
{
    return with_fn(size, size, 1, filter_step, (union fn){ .test = fn }, arg);
}

leat_transform *leat_remove(size_t size, leat_test_fn *fn, void *arg)
{
    struct with_fn *w = (struct with_fn *)leat_filter(size, fn, arg);
    if (w)
        w->removes = true;
    return (leat_transform *)w;
}

leat_transform *leat_take_while(size_t size, leat_test_fn *fn, void *arg)
{
    return with_fn(size, size, 1, take_while_step, (union fn){ .test = fn }, arg);
}

static int mapcat_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct with_fn *w = (struct with_fn *)t;
    return w->fn.mapcat(w->arg, item, emit);
}

leat_transform *leat_mapcat(size_t in_size, size_t out_size, size_t most, leat_mapcat_fn *fn,
                            void *arg)
{
    return with_fn(in_size, out_size, most, mapcat_step, (union fn){ .mapcat = fn }, arg);
}

/* ---- take ---- */

struct take {
    leat_transform t;
    uint64_t left;
};

int lt_transform_take_none(leat_transform *t, const void *item, leat_emit *emit)
{
    (void)t;
    leat_leave_out(emit, item);
    return LEAT_ENOUGH;
}

static int take_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct take *take = (struct take *)t;
    if (take->left == 0)
        return lt_transform_take_none(t, item, emit);
    int error = leat_emit_item(emit, item);
    if (--take->left)
        return error;
    if (error)
        emit->passage->enough = true;
    return error ? error : LEAT_ENOUGH;
}

leat_transform *leat_take(size_t size, uint64_t n)
{
    lt_step_fn *step = n ? take_step : lt_transform_take_none;
    struct take *take = lt_transform_make(sizeof *take, size, size, 1, step);
    if (take)
        take->left = n;
    return (leat_transform *)take;
}

/* ---- runs ---- */

struct partition {
    leat_transform t;
    size_t n;
    leat_same_fn *same; /* NULL: only the number of items counts */
    void *arg;
    _Alignas(16) char before_run[16 - sizeof(leat_run)]; /* aligns the items */
    leat_run run; /* followed in memory by the items so far */
};

static unsigned char *run_item(struct partition *p, size_t i)
{
    return (unsigned char *)(&p->run + 1) + i * p->t.in_size;
}

static int emit_run(struct partition *p, leat_emit *emit)
{
    int error = leat_emit_item(emit, &p->run);
    p->run.count = 0;
    return error;
}

static int partition_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct partition *p = (struct partition *)t;
    int error = 0;
    if (p->same && p->run.count) {
        int same = p->same(p->arg, run_item(p, p->run.count - 1), item);
        if (same < 0)
            return same;
        if (!same)
            error = emit_run(p, emit);
    }
    memcpy(run_item(p, p->run.count++), item, p->t.in_size);
    if (p->run.count == p->n) {
        int full = emit_run(p, emit);
        error = error ? error : full;
    }
    return error;
}

static int partition_finish(leat_transform *t, leat_emit *emit)
{
    struct partition *p = (struct partition *)t;
    return p->run.count ? emit_run(p, emit) : 0;
}

static leat_transform *partition(size_t size, size_t n, leat_same_fn *same, void *arg)
{
    if (!n || n > LT_ITEM_MAX || !size || size > LT_ITEM_MAX)
        return NULL;
    struct partition *p = lt_transform_make(sizeof *p + size * n, size, sizeof(leat_run) + size * n,
                                            same ? 2 : 1, partition_step);
    if (p) {
        p->t.finish = partition_finish;
        p->n = n;
        p->same = same;
        p->arg = arg;
    }
    return (leat_transform *)p;
}

leat_transform *leat_partition(size_t size, size_t n)
{
    return partition(size, n, NULL, NULL);
}

leat_transform *leat_partition_by(size_t size, size_t n, leat_same_fn *same, void *arg)
{
    return same ? partition(size, n, same, arg) : NULL;
}

/* ---- repetitions ---- */

struct dedupe {
    leat_transform t;
    bool any;
    unsigned char last[];
};

static int dedupe_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct dedupe *d = (struct dedupe *)t;
    if (d->any && memcmp(d->last, item, t->in_size) == 0)
        return pass_or_leave_out(0, item, emit);
    d->any = true;
    memcpy(d->last, item, t->in_size);
    return leat_emit_item(emit, item);
}

leat_transform *leat_dedupe(size_t size)
{
    if (!size || size > LT_ITEM_MAX)
        return NULL;
    return lt_transform_make(sizeof(struct dedupe) + size, size, size, 1, dedupe_step);
}

/* A hash table with open addressing, at most half full. An entry is a byte, not 0 when the entry is
 * used, and the item. */
struct distinct {
    leat_transform t;
    size_t used, room; /* room: a power of two, or 0 */
    unsigned char *entries;
};

static unsigned char *entry(const struct distinct *d, unsigned char *entries, size_t i)
{
    return entries + i * (d->t.in_size + 1);
}

/* FNV-1a, 64 bits (Fowler, Noll and Vo). */
static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * UINT64_C(1099511628211);
    return h ^ (h >> 32);
}

/* The item's entry, or the free entry that it would get. */
static unsigned char *find(const struct distinct *d, unsigned char *entries, size_t room,
                           const void *item)
{
    size_t i = (size_t)hash(item, d->t.in_size) & (room - 1);
    unsigned char *e;
    while (*(e = entry(d, entries, i)) && memcmp(e + 1, item, d->t.in_size) != 0)
        i = (i + 1) & (room - 1);
    return e;
}

static int grow(struct distinct *d)
{
    size_t room = d->room ? 2 * d->room : 64, bytes;
    if (__builtin_mul_overflow(room, d->t.in_size + 1, &bytes))
        return -ENOMEM;
    unsigned char *entries = lt_alloc(bytes);
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < d->room; i++) {
        unsigned char *old = entry(d, d->entries, i);
        if (*old)
            memcpy(find(d, entries, room, old + 1), old, d->t.in_size + 1);
    }
    lt_free(d->entries);
    d->entries = entries;
    d->room = room;
    return 0;
}

static int distinct_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct distinct *d = (struct distinct *)t;
    if (2 * d->used >= d->room) {
        int error = grow(d);
        if (error)
            return error;
    }
    unsigned char *e = find(d, d->entries, d->room, item);
    if (*e)
        return pass_or_leave_out(0, item, emit);
    *e = 1;
    memcpy(e + 1, item, t->in_size);
    d->used++;
    return leat_emit_item(emit, item);
}

static void distinct_free(leat_transform *t)
{
    lt_free(((struct distinct *)t)->entries);
    lt_free(t);
}

leat_transform *leat_distinct(size_t size)
{
    struct distinct *d = size ? lt_transform_make(sizeof *d, size, size, 1, distinct_step) : NULL;
    if (d)
        d->t.free = distinct_free;
    return (leat_transform *)d;
}
