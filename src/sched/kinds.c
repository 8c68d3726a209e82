#include "sched/kinds.h"

struct lt_kinds lt_kinds;
