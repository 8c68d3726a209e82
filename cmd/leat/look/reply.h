/* reply.h: the head of an HTTP answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
    unsigned status;           /* 200, 404 */
    size_t reason, reason_len; /* where its reason stands in the bytes */
    size_t head;               /* bytes; the body begins there */
    bool has_length, coded;
    uint64_t length; /* of the body, if known */
};

/* Reads the head that begins the `len` bytes. Returns 0; -EAGAIN if the bytes do not hold all of
 * it; -EBADMSG if this is no HTTP. */
int reply_read(struct reply *r, const char *bytes, size_t len);
