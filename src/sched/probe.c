#include "sched/probe.h"

_Atomic unsigned lt_probe_flags;
const struct lt_observer *lt_observer;
