/* merge.h: one record for each thing, of all that the asker and the workers have recorded. */
#ifndef LT_WATCH_MERGE_H
#define LT_WATCH_MERGE_H

#include "watch/look.h"

/* Fills in look->records and look->by_self. 0 or -ENOMEM. */
int lt_look_merge(struct lt_look *look);

#endif
