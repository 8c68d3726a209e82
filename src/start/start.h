/* start.h: the tables that the code that starts a runtime hands over to it. */
#pragma once

#include "sched/kinds.h"
#include "sched/probe.h"

/* The probes with which src/watch and src/look observe the runtime. */
extern const struct lt_observer lt_watch_observer;

/* The table of the kinds of parties. */
extern const struct lt_kinds lt_start_kinds;
