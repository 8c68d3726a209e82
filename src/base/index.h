/* index.h: things found by a 64-bit key, without memory of its own.
 *
 * A binary trie of the keys' hashes, with a key at each node: the n-th step down goes by the n-th bit of the hash. The
 * hash is one to one, so no two keys share a path to its end; some log2 n steps are usual, 64 the most. The caller
 * locks. */
#ifndef LT_BASE_INDEX_H
#define LT_BASE_INDEX_H

#include <stdint.h>

struct lt_indexed {
    struct lt_indexed *child[2];
    uint64_t key;
};

/* NULL: empty. */
struct lt_index {
    struct lt_indexed *root;
};

/* What has the key; NULL: nothing. */
struct lt_indexed *lt_index_find(struct lt_index *index, uint64_t key);

/* Adds what has a key that nothing in it has; and takes out what is in it. */
void lt_index_add(struct lt_index *index, struct lt_indexed *added, uint64_t key);
void lt_index_remove(struct lt_index *index, struct lt_indexed *removed);

/* By an address. */
static inline uint64_t lt_index_key(const void *address)
{
    return (uintptr_t)address;
}

#endif
