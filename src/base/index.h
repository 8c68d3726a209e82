/* index.h: finds structures by a 64-bit key. The nodes are members of the structures, so an index
 * needs no memory.
 *
 * It is a binary trie of the keys' hashes, with a key at each node: the n-th step down follows the
 * hash's n-th bit. The hash is one to one, so no two keys share a whole path. Some log2 n steps are
 * usual, and 64 the most. The caller locks. */
#pragma once

#include <stdint.h>

struct lt_indexed {
    struct lt_indexed *child[2];
    uint64_t key;
};

/* root NULL: empty */
struct lt_index {
    struct lt_indexed *root;
};

/* The node that has the key, or NULL. */
struct lt_indexed *lt_index_find(struct lt_index *index, uint64_t key);

/* Adds a node, whose key the index must not have. Removes a node, which the index must have. */
void lt_index_add(struct lt_index *index, struct lt_indexed *added, uint64_t key);
void lt_index_remove(struct lt_index *index, struct lt_indexed *removed);
