/* slab.h: task descriptors: allocated a slab at a time, each as large as all before up to a bound, and touched only when
 * used; free ones kept by each worker and, past a bound, shared by all under a lock. Slabs live until the
 * runtime stops, so a descriptor's memory stays a descriptor. */
#ifndef LT_SCHED_SLAB_H
#define LT_SCHED_SLAB_H

#include "sched/worker.h"

/* A descriptor, zeroed; `worker` is the caller's own or NULL. NULL when memory has run out. */
struct lt_task *lt_slab_get(struct lt_worker *worker);

/* Gives one back. */
void lt_slab_put(struct lt_worker *worker, struct lt_task *task);

/* Frees all slabs; no task is left. */
void lt_slab_close(void);

#endif
