/* go.h: the ends of tasks, which go.c starts in scopes. */
#ifndef LT_SCOPE_GO_H
#define LT_SCOPE_GO_H

#include "sched/task.h"

/* Ends the program if a task has returned and `party` still has a scope open. */
void lt_scope_check_closed(const struct lt_party *party, const char *name);

/* For the table of kinds (sched/kinds.h), which says when each is called. */
bool lt_scope_task_ended(struct lt_task *task, int result);
void lt_scope_task_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

#endif
