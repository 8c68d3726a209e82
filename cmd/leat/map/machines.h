/* machines.h: the list of --on: the machines that run commands, and how many each at a time. */
#pragma once

#include "map/plan.h"

/* Adds the machines of a list `NAME[*N],...`, in which `@FILE` stands for the lines of a file.
 * Returns 0, or the exit status after a message. */
int machines_add(struct plan *p, const char *list);
void machines_free(struct plan *p);
