#include "nodes.h"

#include "functions.h"

const uint32_t blake3_first[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static const struct node_kernel vector[] = { { 1, blake3_1x1 }, { 4, blake3_1x4 } };
#ifdef __x86_64__
/* AVX2 takes as long for eight nodes as SSE2 for four, and AVX-512 a third longer for sixteen. */
static const struct node_kernel avx2[] = { { 1, blake3_1x1 }, { 8, blake3_1x8 } };
static const struct node_kernel avx512[] = { { 1, blake3_1x1 },
                                             { 8, blake3_1x8 },
                                             { 16, blake3_1x16 } };
#endif

static const struct node_way ways[] = {
#ifdef __x86_64__
    { "avx512", avx512, 16 },
    { "avx2", avx2, 8 },
#endif
    { "vector", vector, 4 },
};
enum { WAYS = sizeof ways / sizeof *ways };

const struct node_way *node_way_at(size_t i)
{
    for (const struct node_way *way = ways; way < ways + WAYS; way++)
        if (has_vectors(way->name) && i-- == 0)
            return way;
    return NULL;
}

void nodes_run(const struct node_way *way, enum node_kind kind, const unsigned char *in,
               unsigned count, uint64_t first, unsigned char *out)
{
    size_t size = kind == NODES_CHUNKS ? NODE_CHUNK : NODE_BLOCK;
    while (count > 0) {
        const struct node_kernel *k = way->kernels;
        while (k->lanes < count && k->lanes < way->lanes)
            k++;
        unsigned n = k->lanes < count ? k->lanes : count;
        k->run(kind, in, n, first, out);
        in += n * size;
        out += (size_t)n * NODE_VALUE;
        first += n;
        count -= n;
    }
}
