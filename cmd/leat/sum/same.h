/* same.h: finds files of a list with the same content, by their digests.
 *
 * It ignores digests of empty files, which are all the same, and digests of less than 64 bits,
 * which differing files may well share. It belongs to the collector's thread. */
#pragma once

#include "selection.h"
#include "shared/text.h"

struct same_entry;

struct same {
    const struct selection *selection;
    struct same_entry *entries; /* in the order in which they were added */
    size_t count, cap;
    size_t *table; /* of `places`: the first entry of a digest, from 1; 0: free */
    size_t places;
    struct text bytes; /* of each entry: the digest and the name */
    bool broken;       /* memory has run out */
    struct {
        size_t size;
        unsigned char digest[DIGEST_MAX];
    } nothing[SELECTION_MAX]; /* the digests of empty files, if known */
};

/* A digest: the algorithm's index in the selection, and the bytes. */
struct same_digest {
    unsigned algorithm;
    size_t size;
    const unsigned char *digest;
};

void same_open(struct same *s, const struct selection *selection);
void same_free(struct same *s);

/* `error`: why the file is not there, or 0. A digest of no bytes is none, and is like no other. */
void same_add(struct same *s, const struct same_digest *d, const char *name, int error);

/* The name that was added first with this digest, or NULL; until the next call of same_add. */
const char *same_first(struct same *s, const struct same_digest *d);

/* The same with the first name that has not been taken, and takes it. */
const char *same_take(struct same *s, const struct same_digest *d);

/* The i-th name if it has not been taken, or NULL; and its error. */
const char *same_left(const struct same *s, size_t i, int *error);

/* The set of the entries' algorithms, except for those with several sizes: of these only the ones
 * with digests of the least size above *size, which becomes *size. If *size is not 0, they alone.
 * Empty: there are no more. */
unsigned same_algorithms(const struct same *s, size_t *size);
