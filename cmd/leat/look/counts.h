/* counts.h: the list of the program's counts. */
#ifndef LEAT_LOOK_COUNTS_H
#define LEAT_LOOK_COUNTS_H

#include "look/document.h"
#include "look/table.h"

void counts_fill(struct table *t, const struct document *d, const struct document *before);

#endif
