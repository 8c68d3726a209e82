/* slab.h: task descriptors.
 *
 * They are allocated a slab at a time, each slab as large as all others together, up to a bound,
 * and touched only when used. Each worker keeps some free ones; the others are shared, under a
 * lock. Slabs live until the runtime stops, so a descriptor's memory stays a descriptor. */
#pragma once

struct lt_task;
struct lt_worker;

/* The free ones that a worker keeps. */
struct lt_free_tasks {
    struct lt_task *first; /* linked by party.next */
    unsigned count;
};

/* A descriptor, zeroed but for `left`. `worker` is the caller's own, or NULL. NULL when memory has
 * run out. */
struct lt_task *lt_slab_get(struct lt_worker *worker);
void lt_slab_put(struct lt_worker *worker, struct lt_task *task);

/* Frees all slabs; no task is left. */
void lt_slab_close(void);
