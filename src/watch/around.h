/* around.h: a look at the parties and channels of each scope, and of none. */
#ifndef LT_WATCH_AROUND_H
#define LT_WATCH_AROUND_H

#include "watch/look.h"

/* With the scopes pinned. 0 or -ENOMEM. */
int lt_look_around(struct lt_look *look);

#endif
