/* stacks.h: the list of call stacks: a row stands for all parties with equal calls. */
#pragma once

#include "look/document.h"
#include "look/table.h"

/* The calls of a party; for a worker's running party, the worker's calls. */
const char *const *stacks_calls(const struct document *d, const struct party *p, size_t *count);

void stacks_fill(struct table *t, const struct document *d);
