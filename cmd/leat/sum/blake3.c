#include "blake3.h"

#include <string.h>

/* Chunks whose values are computed side by side, at most; a power of two. */
enum { RUN = 64 };

void blake3_begin(struct blake3 *b, const struct node_way *way)
{
    b->way = way;
    b->first = b->chunks = 0;
    b->depth = b->used = 0;
}

/* Replaces the last two values by their parent. */
static void join(struct blake3 *b)
{
    b->depth--;
    unsigned char *pair = b->stack[b->depth - 1];
    nodes_run(b->way, NODES_PARENTS, pair, 1, 0, pair);
}

/* Adds the subtree that follows. So no postponed parent is the root. */
static void push(struct blake3 *b, const unsigned char *value, unsigned chunks)
{
    while (b->depth > (unsigned)__builtin_popcountll(b->chunks))
        join(b);
    memcpy(b->stack[b->depth++], value, NODE_VALUE);
    b->chunks += chunks;
}

/* Adds n whole chunks. n is at most RUN, and at most a power of two that divides the number of
 * chunks before them. */
static void add_run(struct blake3 *b, const unsigned char *from, unsigned n)
{
    unsigned char value[RUN][NODE_VALUE];
    unsigned level = 0;
    nodes_run(b->way, NODES_CHUNKS, from, n, b->first + b->chunks, *value);
    /* The parents take the place of the first values of their level. If the last one has no
     * sibling, it stays where it is. */
    for (; n >> level > 2; level++)
        nodes_run(b->way, NODES_PARENTS, *value, n >> (level + 1), 0, *value);
    for (unsigned i = 0; i < n >> level; i++)
        push(b, value[i], 1U << level);
    while (level-- > 0)
        if (n >> level & 1)
            push(b, value[(n >> level) - 1], 1U << level);
}

/* The number of chunks in the next run, out of `there`, which is not 0. */
static unsigned length_of_run(const struct blake3 *b, size_t there)
{
    uint64_t most = b->chunks & (~b->chunks + 1);
    if (most == 0 || most > RUN)
        most = RUN;
    return (unsigned)(there < most ? there : most);
}

void blake3_add(struct blake3 *b, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    if (b->used > 0) {
        size_t room = NODE_CHUNK - b->used, n = len < room ? len : room;
        memcpy(b->tail + b->used, from, n);
        b->used += (unsigned)n;
        from += n;
        len -= n;
        if (len == 0)
            return;
        add_run(b, b->tail, 1);
        b->used = 0;
    }
    while (len > NODE_CHUNK || (len == NODE_CHUNK && b->chunks > 0)) {
        unsigned n = length_of_run(b, len / NODE_CHUNK);
        add_run(b, from, n);
        from += (size_t)n * NODE_CHUNK;
        len -= (size_t)n * NODE_CHUNK;
    }
    if (len > 0)
        memcpy(b->tail, from, len);
    b->used = (unsigned)len;
}

/* The words of a state as bytes, little-endian. */
static void put(unsigned char *to, const uint32_t state[8])
{
    for (unsigned i = 0; i < NODE_VALUE; i++)
        to[i] = (unsigned char)(state[i / 4] >> (8 * (i % 4)));
}

/* The value of the last chunk. `root`: NODE_ROOT if it is the only chunk. */
static void end_chunk(struct blake3 *b, uint32_t root, unsigned char *value)
{
    uint32_t state[8], start = NODE_CHUNK_START;
    unsigned at = 0;
    memcpy(state, blake3_first, sizeof state);
    for (; b->used - at > NODE_BLOCK; at += NODE_BLOCK, start = 0)
        blake3_compress(state, b->tail + at, b->chunks, NODE_BLOCK, start);
    unsigned char last[NODE_BLOCK] = { 0 };
    memcpy(last, b->tail + at, b->used - at);
    blake3_compress(state, last, b->chunks, b->used - at, start | NODE_CHUNK_END | root);
    put(value, state);
}

void blake3_end(struct blake3 *b, unsigned char digest[NODE_VALUE])
{
    if (b->chunks == 0) {
        end_chunk(b, NODE_ROOT, digest);
        return;
    }
    if (b->used > 0) {
        unsigned char value[NODE_VALUE];
        end_chunk(b, 0, value);
        push(b, value, 1);
    }
    while (b->depth > 2)
        join(b);
    uint32_t state[8];
    memcpy(state, blake3_first, sizeof state);
    blake3_compress(state, *b->stack, 0, NODE_BLOCK, NODE_PARENT | NODE_ROOT);
    put(digest, state);
}

/* ---- subtrees ---- */

void blake3_begin_subtree(struct blake3 *b, const struct node_way *way, uint64_t number)
{
    blake3_begin(b, way);
    b->first = number * BLAKE3_SUBTREE_CHUNKS;
}

/* All chunks but the first one of a message are added when they are full. */
void blake3_end_subtree(struct blake3 *b, unsigned char value[NODE_VALUE])
{
    while (b->depth > 1)
        join(b);
    memcpy(value, b->stack[0], NODE_VALUE);
}

void blake3_add_subtree(struct blake3 *b, const unsigned char value[NODE_VALUE])
{
    push(b, value, BLAKE3_SUBTREE_CHUNKS);
}
