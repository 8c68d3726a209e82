/* counts.h: the counts of workers. */
#ifndef LT_WATCH_COUNTS_H
#define LT_WATCH_COUNTS_H

#include "sched/worker.h"

#include <leat/watch.h>

/* Adds the worker's counts. */
void lt_count(leat_counts *counts, const struct lt_worker *worker);

#endif
