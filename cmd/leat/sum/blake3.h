/* blake3.h: BLAKE3, the plain hash with digests of 32 bytes.
 *
 * From the specification: "BLAKE3: one function, fast everywhere", by O'Connor, Aumasson, Neves and
 * Wilcox-O'Hearn, 2020. The chunks of the message are the leaves of a binary tree, in which each
 * left child has a power of two of leaves, and at least as many as its right sibling. The digest is
 * the value of the root, which is computed with a special flag. kernels/nodes.h computes the values
 * of the other nodes.
 *
 * Invariants: `stack` has the values of complete subtrees, the largest first, from left to right.
 * Their sizes are the powers of two in `chunks`; but the last one may still be in two halves, since
 * its parent may be the root until more bytes come. For the same reason chunk 0 stays in `tail`
 * until more bytes come. */
#pragma once

#include "kernels/nodes.h"

enum { BLAKE3_DEPTH = 54 }; /* enough for 2^64 - 1 bytes */

struct blake3 {
    const struct node_way *way;
    uint64_t first;  /* the number of its first chunk: 0, except for a subtree */
    uint64_t chunks; /* chunks whose values are in the stack */
    unsigned depth;
    unsigned used; /* bytes of `tail` */
    unsigned char stack[BLAKE3_DEPTH][NODE_VALUE];
    unsigned char tail[NODE_CHUNK]; /* a chunk that is not full, or may be the last */
};

/* `way`: one of node_way_at. */
void blake3_begin(struct blake3 *b, const struct node_way *way);
void blake3_add(struct blake3 *b, const void *bytes, size_t len);
void blake3_end(struct blake3 *b, unsigned char digest[NODE_VALUE]);

/* A subtree can be digested by itself, on another core. It has BLAKE3_SUBTREE bytes, and begins at
 * a multiple of that; `number`: at which. It is not the whole message. The message itself takes the
 * values of its first subtrees, in order and before all other bytes: two or more, or none. */
enum { BLAKE3_SUBTREE_CHUNKS = 1024, BLAKE3_SUBTREE = BLAKE3_SUBTREE_CHUNKS * NODE_CHUNK };

void blake3_begin_subtree(struct blake3 *b, const struct node_way *way, uint64_t number);
void blake3_end_subtree(struct blake3 *b, unsigned char value[NODE_VALUE]);
void blake3_add_subtree(struct blake3 *b, const unsigned char value[NODE_VALUE]);
