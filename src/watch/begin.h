/* begin.h: what the runtime calls when src/watch observes it. */
#ifndef LT_WATCH_BEGIN_H
#define LT_WATCH_BEGIN_H

#include "sched/probe.h"

extern const struct lt_observer lt_watch_observer;

#endif
