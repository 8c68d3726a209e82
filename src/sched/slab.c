#include "sched/slab.h"

#include "base/alloc.h"
#include "sched/runtime.h"

#include <string.h>

static struct {
    struct lt_lock lock;
    struct lt_task *free;  /* linked by party.next, as everywhere here */
    struct lt_task *slabs; /* the first descriptor of each slab is its link */
    size_t count;          /* of the others, in all slabs */
} shared;

/* The party is a descriptor's first member, so a link to one is a link to the other. */
static struct lt_task *next_of(const struct lt_task *task)
{
    return (struct lt_task *)(void *)task->party.next;
}

static void push(struct lt_task **list, struct lt_task *task)
{
    task->party.next = (struct lt_party *)(void *)*list;
    *list = task;
}

static struct lt_task *pop(struct lt_task **list)
{
    struct lt_task *task = *list;
    if (task)
        *list = next_of(task);
    return task;
}

/* As many as there are, from LT_TASK_SLAB to LT_TASK_SLAB_MOST. Returns one; the others are shared. */
static struct lt_task *new_slab(size_t count)
{
    size_t n = count < LT_TASK_SLAB        ? LT_TASK_SLAB
               : count > LT_TASK_SLAB_MOST ? LT_TASK_SLAB_MOST
                                           : count;
    struct lt_task *slab = lt_alloc((n + 1) * sizeof *slab);
    if (!slab && n > LT_TASK_SLAB)
        return new_slab(0);
    if (!slab)
        return NULL;
    struct lt_task *others = NULL;
    for (size_t i = n; i > 1; i--)
        push(&others, &slab[i]);
    lt_lock(&shared.lock);
    push(&shared.slabs, &slab[0]);
    slab[n].party.next = (struct lt_party *)(void *)shared.free;
    shared.free = others;
    shared.count += n;
    lt_unlock(&shared.lock);
    return &slab[1];
}

/* One from the others, and half a magazine along with it; NULL when there are none. */
__attribute__((noinline)) static struct lt_task *get_shared(struct lt_worker *worker)
{
    lt_lock(&shared.lock);
    struct lt_task *task = pop(&shared.free);
    for (unsigned i = 1; worker && i < LT_TASK_MAGAZINE / 2 && shared.free; i++) {
        push(&worker->free_tasks, pop(&shared.free));
        worker->free_count++;
    }
    size_t count = shared.count;
    lt_unlock(&shared.lock);
    if (!task)
        return new_slab(count);
    lt_clear(task, offsetof(struct lt_task, left));
    return task;
}

struct lt_task *lt_slab_get(struct lt_worker *worker)
{
    struct lt_task *task = worker ? pop(&worker->free_tasks) : NULL;
    if (LT_UNLIKELY(!task))
        return get_shared(worker);
    worker->free_count--;
    lt_clear(task, offsetof(struct lt_task, left));
    return task;
}

__attribute__((noinline)) static void put_shared(struct lt_task *task)
{
    lt_lock(&shared.lock);
    push(&shared.free, task);
    lt_unlock(&shared.lock);
}

__attribute__((noinline)) static void halve_magazine(struct lt_worker *worker)
{
    lt_lock(&shared.lock);
    for (; worker->free_count > LT_TASK_MAGAZINE / 2; worker->free_count--)
        push(&shared.free, pop(&worker->free_tasks));
    lt_unlock(&shared.lock);
}

void lt_slab_put(struct lt_worker *worker, struct lt_task *task)
{
    if (LT_UNLIKELY(!worker)) {
        put_shared(task);
        return;
    }
    push(&worker->free_tasks, task);
    if (LT_UNLIKELY(++worker->free_count > LT_TASK_MAGAZINE))
        halve_magazine(worker);
}

void lt_slab_close(void)
{
    for (struct lt_task *slab = shared.slabs, *next; slab; slab = next) {
        next = next_of(slab);
        lt_free(slab);
    }
    memset(&shared, 0, sizeof shared);
}
