/* parallel.c: loops whose range several tasks share.
 *
 * One counter holds the next index. The caller and the tasks it has started all take their parts of
 * the range from it. So a slow part delays no other, and a task that starts late, or never, does no
 * harm. The counter only decides which task runs what, so it is relaxed: the caller sees what the
 * tasks did because it joins them. */
#include "base/alloc.h"
#include "base/item.h"
#include "sched/current.h"
#include "scope/owned.h"

#include <leat/parallel.h>
#include <leat/runtime.h>
#include <leat/task.h>

#include <limits.h>

struct loop {
    leat_scope *scope;
    leat_range_fn *fn;
    void *arg;
    _Atomic size_t next;
    size_t end, grain;
};

/* The next part of the range; false: there is none. */
static bool take(struct loop *loop, size_t *begin, size_t *end)
{
    *begin = atomic_load_explicit(&loop->next, memory_order_relaxed);
    do {
        if (*begin == loop->end)
            return false;
        *end = *begin + (loop->grain < loop->end - *begin ? loop->grain : loop->end - *begin);
    } while (!atomic_compare_exchange_weak_explicit(&loop->next, begin, *end, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* Whether a task that begins now would find nothing to do. */
static bool is_over(struct loop *loop)
{
    return leat_cancelled(loop->scope) ||
           atomic_load_explicit(&loop->next, memory_order_relaxed) == loop->end;
}

static int run_parts(void *arg)
{
    struct loop *loop = arg;
    size_t begin, end;
    int error = 0;
    while (!error && !leat_cancelled(loop->scope) && take(loop, &begin, &end))
        error = loop->fn(loop->arg, begin, end);
    return error;
}

/* Runs the loop in its own scope. Returns what leat_scope_close returns. */
static int run_loop(struct loop *loop, unsigned tasks)
{
    struct lt_party *self = lt_current_party();
    if (self->kind != LT_TASK && self->kind != LT_THREAD)
        return -EDEADLK;
    loop->scope = leat_scope_open(LEAT_NEVER);
    if (!loop->scope)
        return leat_workers() ? -ENOMEM : -EINVAL;
    size_t parts =
        (loop->end - atomic_load_explicit(&loop->next, memory_order_relaxed)) / loop->grain;
    for (unsigned i = 1; i < tasks && i <= parts && !is_over(loop); i++)
        if (leat_go_spread_named(loop->scope, run_parts, loop, "parallel", 0) != 0)
            break;
    int error = run_parts(loop);
    if (error)
        lt_scope_cancel(loop->scope, error);
    return leat_scope_close(loop->scope);
}

int leat_parallel_for(size_t begin, size_t end, leat_range_fn *fn, void *arg,
                      const leat_parallel *how)
{
    enum { PARTS_EACH = 8 };
    if (!fn || begin > end)
        return -EINVAL;
    unsigned tasks = how && how->tasks ? how->tasks : leat_workers();
    size_t grain = how ? how->grain : 0;
    if (!grain)
        grain = (end - begin) / PARTS_EACH / (tasks ? tasks : 1);
    struct loop loop = { .fn = fn, .arg = arg, .next = begin, .end = end };
    loop.grain = grain ? grain : 1;
    return run_loop(&loop, tasks);
}

/* ---- over arrays ---- */

struct mapping {
    leat_map_fn *fn;
    void *arg;
    const unsigned char *in;
    unsigned char *out;
    size_t in_size, out_size;
};

static int map_part(void *arg, size_t begin, size_t end)
{
    struct mapping *m = arg;
    int error = 0;
    for (size_t i = begin; i < end && !error; i++)
        error = m->fn(m->arg, m->in + i * m->in_size, m->out + i * m->out_size);
    return error;
}

int leat_parallel_map(const void *in, size_t in_size, void *out, size_t out_size, size_t n,
                      leat_map_fn *fn, void *arg, const leat_parallel *how)
{
    if (!fn || (n && ((!in && in_size) || (!out && out_size))))
        return -EINVAL;
    struct mapping mapping = { fn, arg, in, out, in_size, out_size };
    return leat_parallel_for(0, n, map_part, &mapping, how);
}

/* ---- all, or the first error ---- */

struct each {
    leat_index_fn *fn;
    void *arg;
};

static int run_index(void *arg, size_t begin, size_t end)
{
    (void)end;
    struct each *each = arg;
    return each->fn(each->arg, begin);
}

int leat_all(size_t n, leat_index_fn *fn, void *arg)
{
    if (!fn || n > UINT_MAX)
        return -EINVAL;
    struct each each = { fn, arg };
    return leat_parallel_for(0, n, run_index, &each, &(leat_parallel){ (unsigned)n, 1 });
}

/* ---- the first to succeed ---- */

struct contest {
    struct loop loop;
    leat_contend_fn *fn;
    void *arg;
    leat_drop_fn *drop;
    size_t out_size;
    unsigned char *outs;
    /* The first task to set one of these has won, or has failed first. Relaxed: only the caller
     * reads them, after it has joined all tasks. */
    _Atomic int winner; /* 1 + its index; 0: none */
    _Atomic int error;
};

static bool is_first(_Atomic int *place, int value)
{
    int none = 0;
    return atomic_compare_exchange_strong_explicit(place, &none, value, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static int contend(void *arg, size_t index, size_t end)
{
    (void)end;
    struct contest *c = arg;
    void *out = c->outs + index * c->out_size;
    int error = c->fn(c->arg, index, out);
    if (error)
        is_first(&c->error, error);
    else if (is_first(&c->winner, (int)index + 1))
        lt_scope_cancel(c->loop.scope, 0);
    else if (c->drop)
        c->drop(out);
    return 0;
}

int leat_first(size_t n, leat_contend_fn *fn, void *arg, void *out, size_t out_size,
               leat_drop_fn *drop)
{
    size_t bytes;
    if (!fn || !n || n > INT_MAX - 1 || (!out && out_size) ||
        __builtin_mul_overflow(n, out_size, &bytes))
        return -EINVAL;
    struct contest c = { .fn = fn, .arg = arg, .drop = drop, .out_size = out_size };
    c.loop = (struct loop){ .fn = contend, .arg = &c, .end = n, .grain = 1 };
    c.outs = lt_alloc(bytes ? bytes : 1);
    if (!c.outs)
        return -ENOMEM;
    int result = run_loop(&c.loop, (unsigned)n);
    int winner = atomic_load_explicit(&c.winner, memory_order_relaxed);
    int error = atomic_load_explicit(&c.error, memory_order_relaxed);
    if (winner)
        lt_item_copy(out, c.outs + (size_t)(winner - 1) * out_size, out_size);
    lt_free(c.outs);
    return winner ? winner - 1 : result ? result : error;
}
