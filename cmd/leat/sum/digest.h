/* digest.h: the digests that `leat sum` knows, and computing one from bytes as they come.
 *
 * A `struct algorithm` is a row of a constant table. A `struct hasher` belongs to one thread and
 * digests one message at a time: begin, add any number of times, end. Only opening it allocates. */
#ifndef LEAT_CMD_DIGEST_H
#define LEAT_CMD_DIGEST_H

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_MAX = 64 }; /* bytes of the longest digest */

struct algorithm {
    const char *name; /* in --algorithm */
    const char *tag;  /* in the output of --tag, and in check lists */
    size_t size;      /* bytes of the digest */
    const struct hashing *hashing;
    const char *library_name; /* libcrypto's name for it; NULL: another library's */
    bool any_size;            /* digests may also have fewer bytes than `size` */
    bool always_tagged; /* its lines name it: those without a tag are of another one of its size */
    bool yields;        /* unless it is asked for, untagged lines of its size are of another one */
    const struct lane_digest *lanes;  /* digests many files at once (kernels/kernels.h), or NULL */
    const struct lane_kernel *single; /* takes one lane on, where few are at work; or NULL */
};

/* By name; NULL when there is none. */
const struct algorithm *algorithm_find(const char *name);

/* The i-th algorithm, for listing them; NULL after the last. */
const struct algorithm *algorithm_at(size_t i);

/* Loads the algorithm from its library; called once, before any hasher for it is opened.
 * Returns 0, or -ENOTSUP if this system's library does not offer it. */
int algorithm_load(const struct algorithm *a);
void algorithms_unload(void);

struct hasher;

/* NULL if memory has run out. */
struct hasher *hasher_open(const struct algorithm *a);
void hasher_close(struct hasher *h);

/* Each returns 0, or -EIO if the library fails. `size`: bytes of the digest: the algorithm's, or
 * less if `any_size`. */
int hasher_begin(struct hasher *h, size_t size);
int hasher_add(struct hasher *h, const void *bytes, size_t len);
int hasher_end(struct hasher *h, unsigned char *digest);

/* Its state, if it computes BLAKE3, else NULL. */
struct blake3 *hasher_tree(struct hasher *h);

#endif
