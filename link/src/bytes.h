/* bytes.h: bytes that a user's function appends to. */
#pragma once

#include <leat/link.h>

struct leat_bytes {
    char *data;
    size_t size, room, most;
};

void lk_bytes_free(leat_bytes *bytes);
