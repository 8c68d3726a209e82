#include "bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int leat_bytes_add(leat_bytes *bytes, const void *data, size_t n)
{
    if (!bytes || (!data && n))
        return -EINVAL;
    if (n > bytes->most - bytes->size)
        return -EMSGSIZE;
    if (n > bytes->room - bytes->size) {
        size_t room = bytes->room ? 2 * bytes->room : 64;
        if (room < bytes->size + n)
            room = bytes->size + n;
        char *more = realloc(bytes->data, room);
        if (!more)
            return -ENOMEM;
        bytes->data = more;
        bytes->room = room;
    }
    if (n)
        memcpy(bytes->data + bytes->size, data, n);
    bytes->size += n;
    return 0;
}

void lk_bytes_free(leat_bytes *bytes)
{
    free(bytes->data);
    bytes->data = NULL;
    bytes->size = bytes->room = 0;
}
