#include "base/world.h"

_Thread_local struct lt_world *lt_world __attribute__((tls_model("initial-exec")));
