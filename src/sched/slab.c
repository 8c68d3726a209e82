#include "sched/slab.h"

#include "base/alloc.h"
#include "sched/runtime.h"

#include <string.h>

static struct {
    struct lt_lock lock;
    struct lt_task *free;  /* linked by party.next, as everywhere here */
    struct lt_task *slabs; /* the first descriptor of each slab is its link */
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

static struct lt_task *new_slab(void)
{
    struct lt_task *slab = lt_alloc((LT_TASK_SLAB + 1) * sizeof *slab);
    if (!slab)
        return NULL;
    lt_lock(&shared.lock);
    push(&shared.slabs, &slab[0]);
    for (unsigned i = LT_TASK_SLAB; i > 1; i--)
        push(&shared.free, &slab[i]);
    lt_unlock(&shared.lock);
    return &slab[1];
}

struct lt_task *lt_slab_get(struct lt_worker *worker)
{
    struct lt_task *task = worker ? pop(&worker->free_tasks) : NULL;
    if (task) {
        worker->free_count--;
    } else {
        lt_lock(&shared.lock);
        task = pop(&shared.free);
        for (unsigned i = 1; worker && i < LT_TASK_MAGAZINE / 2 && shared.free; i++) {
            push(&worker->free_tasks, pop(&shared.free));
            worker->free_count++;
        }
        lt_unlock(&shared.lock);
    }
    if (!task)
        return new_slab();
    memset(task, 0, offsetof(struct lt_task, left));
    return task;
}

void lt_slab_put(struct lt_worker *worker, struct lt_task *task)
{
    if (!worker) {
        lt_lock(&shared.lock);
        push(&shared.free, task);
        lt_unlock(&shared.lock);
        return;
    }
    push(&worker->free_tasks, task);
    if (++worker->free_count <= LT_TASK_MAGAZINE)
        return;
    lt_lock(&shared.lock);
    for (; worker->free_count > LT_TASK_MAGAZINE / 2; worker->free_count--)
        push(&shared.free, pop(&worker->free_tasks));
    lt_unlock(&shared.lock);
}

void lt_slab_close(void)
{
    for (struct lt_task *slab = shared.slabs, *next; slab; slab = next) {
        next = next_of(slab);
        lt_free(slab);
    }
    memset(&shared, 0, sizeof shared);
}
