/* digest.h: the digests of `leat sum`, and computing one from bytes as they come. A `struct
 * algorithm` is a row of a constant table. */
#pragma once

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_MAX = 64 }; /* bytes of the longest digest */

struct algorithm;

/* The functions of one library. `state` is the result of `open`, which is NULL if memory has run
 * out. A state belongs to one thread and digests one message at a time: begin, add any number of
 * times, end; each returns 0, or -EIO if the library fails. Only `open` allocates. `size`: bytes of
 * the digest: the algorithm's, or fewer if `any_size`. */
struct hashing {
    void *(*open)(const struct algorithm *a);
    void (*close)(void *state);
    int (*begin)(void *state, size_t size);
    int (*add)(void *state, const void *bytes, size_t len);
    int (*end)(void *state, unsigned char *digest);
};

struct algorithm {
    const char *name; /* in --algorithm */
    const char *tag;  /* in the output of --tag, and in check lists */
    size_t size;      /* bytes of the digest */
    const struct hashing *hashing;
    const char *library_name; /* its name in libcrypto; NULL: another library has it */
    bool any_size;            /* digests may also have fewer bytes than `size` */
    bool always_tagged;       /* lines without a tag are not its, but of another one of its size */
    bool yields;              /* the same, unless the user asks for it */
    const struct lane_digest *lanes;  /* digests many files at once (kernels/kernels.h), or NULL */
    const struct lane_kernel *single; /* for a few active lanes: takes one lane on; or NULL */
};

/* The algorithm of that name, or NULL. */
const struct algorithm *algorithm_find(const char *name);

/* The i-th algorithm, for listing them; NULL after the last. */
const struct algorithm *algorithm_at(size_t i);

/* Whether it is BLAKE3, whose state is a struct blake3. */
bool algorithm_is_tree(const struct algorithm *a);

/* Loads the algorithm from its library; called once, before any state of it is opened.
 * Returns 0, or -ENOTSUP if this system's library does not offer it. */
int algorithm_load(const struct algorithm *a);
void algorithms_unload(void);
