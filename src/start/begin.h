/* begin.h: what the runtime calls when src/watch and src/look observe it. */
#ifndef LT_START_BEGIN_H
#define LT_START_BEGIN_H

#include "sched/probe.h"

extern const struct lt_observer lt_watch_observer;

#endif
