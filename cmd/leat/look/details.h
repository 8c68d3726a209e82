/* details.h: everything known about one thing, as a table of two columns. */
#pragma once

#include "look/document.h"
#include "look/table.h"

/* The thing of this id. The table is empty if the document has none. */
void details_fill(struct table *t, const char *id, const struct document *d,
                  const struct document *before);
