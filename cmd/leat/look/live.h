/* live.h: the look on a terminal, until the user quits. */
#ifndef LEAT_LOOK_LIVE_H
#define LEAT_LOOK_LIVE_H

#include "look/address.h"
#include "look/terminal.h"
#include "look/trouble.h"
#include "look/view.h"

struct live_options {
    const struct address *address;
    int64_t delay; /* nanoseconds between two looks */
};

/* Call it in a task. Returns 0 when the user has quit; the number of a signal that ended it; or -1
 * after a trouble. The terminal is then as it was before. */
int live_run(const struct live_options *o, struct terminal *t, struct view *v, struct trouble *why);

#endif
