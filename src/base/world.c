#include "base/world.h"

_Thread_local struct lt_world *lt_world_of_thread LT_FRESH_VARIABLE;
