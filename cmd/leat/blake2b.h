/* blake2b.h: BLAKE2b (RFC 7693) with digests of any length: libcrypto has the longest only. */
#ifndef LEAT_CMD_BLAKE2B_H
#define LEAT_CMD_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BLOCK = 128 };

struct blake2b {
    uint64_t h[8];
    uint64_t total; /* bytes before those in the block */
    size_t size, used;
    unsigned char block[BLAKE2B_BLOCK]; /* which may be the last, so it waits until there is more */
};

/* `size` is the digest's, 1 to 64 bytes. */
void blake2b_begin(struct blake2b *b, size_t size);
void blake2b_add(struct blake2b *b, const void *bytes, size_t len);
void blake2b_end(struct blake2b *b, unsigned char *digest);

#endif
