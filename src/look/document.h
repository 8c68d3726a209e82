/* document.h: a look at the running program as a JSON document: docs/watch.md has its fields. */
#ifndef LT_LOOK_DOCUMENT_H
#define LT_LOOK_DOCUMENT_H

#include "watch/look.h"
#include "watch/text.h"

/* Looks, within LT_LOOK_USUAL, and writes the document; `caller`: as for
 * lt_look_begin. 0; -EINVAL when no runtime runs; -ENOMEM. */
int lt_document(struct lt_text *to, const void *caller);

#endif
