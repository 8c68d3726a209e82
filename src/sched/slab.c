#include "sched/slab.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "sched/worker.h"

#include <string.h>

/* The first `carved` descriptors have been handed out, the others have not been touched. */
struct slab {
    struct slab *next;
    size_t count, carved;
    struct lt_task tasks[];
};

static struct {
    struct lt_lock lock;
    struct lt_task *free; /* linked by party.next, as elsewhere in this file */
    struct slab *open;    /* slabs with descriptors left to carve */
    struct slab *full;    /* the others */
    size_t count;         /* of descriptors, in all slabs */
} shared;

/* The party is a descriptor's first member, so a link to one is a link to the other. */
static void push(struct lt_task **list, struct lt_task *task)
{
    task->party.next = (struct lt_party *)(void *)*list;
    *list = task;
}

static struct lt_task *pop(struct lt_task **list)
{
    struct lt_task *task = *list;
    if (task)
        *list = (struct lt_task *)(void *)task->party.next;
    return task;
}

/* A slab for as many descriptors as all others have, between LT_TASK_SLAB and LT_TASK_SLAB_MOST.
 * When memory is short, it is smaller. */
static struct slab *new_slab(size_t count)
{
    size_t n = count < LT_TASK_SLAB        ? LT_TASK_SLAB
               : count > LT_TASK_SLAB_MOST ? LT_TASK_SLAB_MOST
                                           : count;
    struct slab *slab;
    while (!(slab = lt_alloc_lines(sizeof *slab + n * sizeof slab->tasks[0])) && n > LT_TASK_SLAB)
        n = n / 2 > LT_TASK_SLAB ? n / 2 : LT_TASK_SLAB;
    if (slab) {
        slab->count = n;
        slab->carved = 0;
    }
    return slab;
}

/* With the lock held, which it releases meanwhile. False when memory has run out. */
static bool add_slab(void)
{
    size_t count = shared.count;
    lt_unlock(&shared.lock);
    struct slab *slab = new_slab(count);
    lt_lock(&shared.lock);
    if (!slab)
        return false;
    slab->next = shared.open;
    shared.open = slab;
    shared.count += slab->count;
    return true;
}

/* With the lock held: a descriptor that has never been used; NULL if there is none. */
static struct lt_task *carve(void)
{
    struct slab *slab = shared.open;
    if (!slab)
        return NULL;
    struct lt_task *task = &slab->tasks[slab->carved];
    if (++slab->carved == slab->count) {
        shared.open = slab->next;
        slab->next = shared.full;
        shared.full = slab;
    }
    task->left = 0; /* lt_slab_get clears the rest */
    return task;
}

/* With the lock held. */
static struct lt_task *take(void)
{
    struct lt_task *task = pop(&shared.free);
    return task ? task : carve();
}

/* Takes a shared descriptor, and half a magazine for the worker. NULL when memory has run out. */
__attribute__((noinline)) static struct lt_task *get_shared(struct lt_worker *worker)
{
    struct lt_task *task, *another;
    lt_lock(&shared.lock);
    while (!(task = take()) && add_slab()) {
    }
    for (unsigned i = 1; task && worker && i < LT_TASK_MAGAZINE / 2 && (another = take()); i++) {
        push(&worker->free_tasks.first, another);
        worker->free_tasks.count++;
    }
    lt_unlock(&shared.lock);
    if (task)
        lt_clear(task, offsetof(struct lt_task, left));
    return task;
}

struct lt_task *lt_slab_get(struct lt_worker *worker)
{
    struct lt_task *task = worker ? pop(&worker->free_tasks.first) : NULL;
    if (LT_UNLIKELY(!task))
        return get_shared(worker);
    worker->free_tasks.count--;
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
    for (; worker->free_tasks.count > LT_TASK_MAGAZINE / 2; worker->free_tasks.count--)
        push(&shared.free, pop(&worker->free_tasks.first));
    lt_unlock(&shared.lock);
}

void lt_slab_put(struct lt_worker *worker, struct lt_task *task)
{
    if (LT_UNLIKELY(!worker)) {
        put_shared(task);
        return;
    }
    push(&worker->free_tasks.first, task);
    if (LT_UNLIKELY(++worker->free_tasks.count > LT_TASK_MAGAZINE))
        halve_magazine(worker);
}

static void free_all(struct slab *slab)
{
    for (struct slab *next; slab; slab = next) {
        next = slab->next;
        lt_free(slab);
    }
}

void lt_slab_close(void)
{
    free_all(shared.open);
    free_all(shared.full);
    memset(&shared, 0, sizeof shared);
}
