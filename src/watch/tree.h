/* tree.h: the scopes of a look, and the room that each of them has in it. */
#ifndef LT_WATCH_TREE_H
#define LT_WATCH_TREE_H

#include "watch/look.h"

/* Records and pins the scopes, those nearest to the roots first. 0 or -ENOMEM. */
int lt_look_at_scopes(struct lt_look *look);
void lt_look_unpin(struct lt_look *look);

/* Shares the room for parties out among the scopes. No scope gets more than another one that has
 * use for more, except that those nearest to the roots get LT_LOOK_LEAST where that is more. */
void lt_look_share(struct lt_look *look, size_t room);

#endif
