/* fetch.h: gets the document from the program, by HTTP.
 *
 * At most FETCH_MOST bytes of an answer are read, and for no longer than FETCH_PATIENCE. Whatever
 * the server sends, the outcome is the body of a whole answer, or a trouble. */
#ifndef LEAT_LOOK_FETCH_H
#define LEAT_LOOK_FETCH_H

#include "look/address.h"
#include "look/trouble.h"
#include "shared/text.h"

#include <leat/base.h>

enum { FETCH_MOST = 64 << 20 };
#define FETCH_PATIENCE (10 * LEAT_S)

/* Writes the body to `to`, which is empty. With `stacks` the document has call stacks, if the
 * program keeps them. Call it in a task or thread. */
void fetch(const struct address *from, bool stacks, struct text *to, struct trouble *why);

#endif
