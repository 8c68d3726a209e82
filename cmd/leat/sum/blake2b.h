/* blake2b.h: BLAKE2b (RFC 7693) with digests of 1 to 64 bytes. libcrypto offers only 64. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BLOCK = 128 };

struct blake2b {
    uint64_t h[8];
    uint64_t total; /* bytes before those in the block */
    size_t size, used;
    unsigned char block[BLAKE2B_BLOCK]; /* kept until more bytes come, since it may be the last */
};

/* `size`: bytes of the digest, 1 to 64. */
void blake2b_begin(struct blake2b *b, size_t size);
void blake2b_add(struct blake2b *b, const void *bytes, size_t len);
void blake2b_end(struct blake2b *b, unsigned char *digest);
