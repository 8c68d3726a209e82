/* kinds.h: the table of the kinds of parties, for the code that starts a runtime. */
#ifndef LT_START_KINDS_H
#define LT_START_KINDS_H

#include "sched/kinds.h"

extern const struct lt_kinds lt_start_kinds;

#endif
