/* digest.h: the digests `leat sum` knows, and computing one over bytes as they come.
 *
 * A `struct algorithm` is a row of a constant table. A `struct hasher` belongs to one thread and is
 * used for one message after the other: begin, add any number of times, end. Nothing is allocated
 * once it is open. */
#ifndef LEAT_CMD_DIGEST_H
#define LEAT_CMD_DIGEST_H

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_MAX = 64 }; /* bytes of the longest digest */

struct algorithm {
    const char *name; /* as --algorithm has it */
    const char *tag;  /* as --tag writes it and check lists have it */
    size_t size;      /* bytes of the digest */
    const struct hashing *hashing;
    const char *library_name;         /* what libcrypto calls it */
    bool any_size;                    /* its digests may also have fewer bytes */
    const struct lane_digest *lanes;  /* it can be had of many files at once: kernels/kernels.h; */
    const struct lane_kernel *single; /* and of few, one after the other */
};

/* By name; NULL when there is none. */
const struct algorithm *algorithm_find(const char *name);

/* The i-th algorithm, for listing them; NULL after the last. */
const struct algorithm *algorithm_at(size_t i);

/* Gets the algorithm from its library, once, before any hasher for it is opened.
 * 0; -ENOTSUP when the library on this system does not offer it. */
int algorithm_load(const struct algorithm *a);
void algorithms_unload(void);

struct hasher;

/* NULL when memory has run out. */
struct hasher *hasher_open(const struct algorithm *a);
void hasher_close(struct hasher *h);

/* Each 0, or -EIO when the library fails. `size` is the algorithm's, or less where it may be: so many
 * bytes `digest` takes. */
int hasher_begin(struct hasher *h, size_t size);
int hasher_add(struct hasher *h, const void *bytes, size_t len);
int hasher_end(struct hasher *h, unsigned char *digest);

#endif
