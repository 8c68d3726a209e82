/* index.h: finds the things of a document by their ids. */
#pragma once

#include "look/document.h"

/* Orders ids: by letter, then by number: t9, t10. Returns as strcmp. */
int index_compare(const char *id, const char *other);

/* Fills the index, which has room for all things, and the scopes' depths. */
void index_make(struct document *d);
