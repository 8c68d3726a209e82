/* nodes.h: the nodes of BLAKE3's tree, many at once, one in each lane of vector registers.
 *
 * A message is cut into chunks of 1024 bytes, the leaves of a binary tree. A node has a chaining
 * value of 32 bytes: a chunk's value is computed from its blocks, one after another; a parent's
 * value from those of its two children, which are its only block. So nodes of one kind are
 * independent of each other, and a kernel computes as many as it has lanes.
 *
 * Written from the specification: "BLAKE3: one function, fast everywhere", by O'Connor, Aumasson,
 * Neves and Wilcox-O'Hearn, 2020. A `struct node_way` is the kernels for one kind of vector
 * register, a row of a constant table. All ways give the same values. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    NODE_CHUNK = 1024, /* bytes of a chunk, but for the last one */
    NODE_BLOCK = 64,
    NODE_VALUE = 32, /* bytes of a chaining value */
};

/* The role of a block, for the compression. */
enum node_flag {
    NODE_CHUNK_START = 1 << 0,
    NODE_CHUNK_END = 1 << 1,
    NODE_PARENT = 1 << 2,
    NODE_ROOT = 1 << 3,
};

enum node_kind { NODES_CHUNKS, NODES_PARENTS };

/* Writes the values of n nodes, which are side by side at `in`, to `out`, which may be `in` for
 * parents. n is 1 or more, and no more than the kernel's lanes. `first`: the number of the first
 * chunk in the message; of no meaning for parents. */
typedef void node_run_fn(enum node_kind kind, const unsigned char *in, unsigned n, uint64_t first,
                         unsigned char *out);

struct node_kernel {
    unsigned lanes;
    node_run_fn *run;
};

struct node_way {
    const char *name;
    const struct node_kernel *kernels; /* each wider than the one before */
    unsigned lanes;                    /* of the widest kernel */
};

/* The i-th of the ways that this processor has, the fastest first; NULL after the last. */
const struct node_way *node_way_at(size_t i);

/* Like a kernel, for any number of nodes, which is not 0. */
void nodes_run(const struct node_way *way, enum node_kind kind, const unsigned char *in,
               unsigned count, uint64_t first, unsigned char *out);

/* The state before the first block. */
extern const uint32_t blake3_first[8];

/* The compression of one block: takes `state` forward. `len`: its bytes before the padding. */
void blake3_compress(uint32_t state[8], const unsigned char *block, uint64_t counter, uint32_t len,
                     uint32_t flags);
