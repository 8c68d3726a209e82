/* transform.h: what the ready-made transforms and their compositions share. */
#ifndef LT_CHAN_TRANSFORM_H
#define LT_CHAN_TRANSFORM_H

#include "chan/special.h"

/* Makes a transform at the head of `bytes` bytes, with the rest zeroed. Its `free` is lt_free. NULL
 * when the sizes are wrong or memory has run out. */
void *lt_transform_make(size_t bytes, size_t in_size, size_t out_size, size_t most,
                        int (*step)(leat_transform *, const void *, leat_emit *));

#endif
