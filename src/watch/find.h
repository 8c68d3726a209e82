/* find.h: the asker's own part of a look: the parties and channels of each scope, and of none,
 * under their locks; and parties that no lock keeps in their place. Any thread may start, end and
 * free those during the look. So the asker copies them without a lock, and believes the copy if the
 * party was still in its place afterwards. */
#pragma once

#include "watch/picture.h"

/* Records the parties and channels of each scope, and of none; then the running parties of workers
 * that did not answer. */
void lt_look_around(struct lt_look *look);
void lt_look_at_busy(struct lt_look *look, unsigned worker);

/* Reads the number and the name of the task that a worker runs. False: the worker no longer runs
 * that task, or the task cannot be read. */
bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size);
