/* item.h: copying an item of a channel. */
#pragma once

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { LT_ITEM_MAX = 1 << 20 }; /* bytes of one item */

/* Whether lt_item_copy copies such an item without a call. */
static inline bool lt_item_is_short(size_t size)
{
    return size == 8 || size == 4 || size == 16 || size == 0;
}

static inline void lt_item_copy(void *to, const void *from, size_t size)
{
    /* Fixed sizes become single moves; memcpy's call would cost as much as the rest of a send. */
    if (LT_LIKELY(size == 8))
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else if (size == 16)
        memcpy(to, from, 16);
    else if (size)
        memcpy(to, from, size);
}
