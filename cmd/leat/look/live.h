/* live.h: the look on a terminal, until the user quits. */
#pragma once

#include "look/arguments.h"
#include "look/terminal.h"

/* Call it in a task. Returns 0 when the user has quit; the number of a signal that ended it; or -1
 * after a trouble. The terminal is then as it was before. */
int live_run(struct arguments *o, struct terminal *t, struct trouble *why);
