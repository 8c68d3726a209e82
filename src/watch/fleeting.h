/* fleeting.h: a look at parties that have not started, and at workers that do not answer. */
#ifndef LT_WATCH_FLEETING_H
#define LT_WATCH_FLEETING_H

#include "watch/look.h"

int lt_look_at_queues(struct lt_look *look);
int lt_look_at_busy(struct lt_look *look, unsigned worker);

/* Reads the number and the name of the task that a worker runs. False: the worker does not run that
 * task any more, or the task cannot be read. */
bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size);

#endif
