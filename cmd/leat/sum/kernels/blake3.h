/* blake3.h: BLAKE3's compression and the values of nodes (nodes.h), for width.h. */

/* To the right by s bits. AVX2 has no such instruction, but it moves whole bytes by one shuffle. */
#define RIGHT(a, s) ROTATE(a, 32 - (s))
#if WIDTH == 8
typedef unsigned char LOCAL(octets) __attribute__((vector_size(4 * WIDTH)));
#define BYTES_OF(w, a, b, c, d) 4 * (w) + (a), 4 * (w) + (b), 4 * (w) + (c), 4 * (w) + (d)
#define BYTES_RIGHT(x, ...) \
    (VEC) __builtin_shufflevector((LOCAL(octets))(x), (LOCAL(octets))(x), \
                                  BYTES_OF(0, __VA_ARGS__), BYTES_OF(1, __VA_ARGS__), \
                                  BYTES_OF(2, __VA_ARGS__), BYTES_OF(3, __VA_ARGS__), \
                                  BYTES_OF(4, __VA_ARGS__), BYTES_OF(5, __VA_ARGS__), \
                                  BYTES_OF(6, __VA_ARGS__), BYTES_OF(7, __VA_ARGS__))
#define RIGHT_16(x) BYTES_RIGHT(x, 2, 3, 0, 1)
#define RIGHT_8(x) BYTES_RIGHT(x, 1, 2, 3, 0)
#else
#define RIGHT_16(x) RIGHT(x, 16)
#define RIGHT_8(x) RIGHT(x, 8)
#endif

/* The specification's G: mixes two words of the message into a column or a diagonal. */
#define MIX(a, b, c, d, x, y) \
    v[a] += v[b] + (x); \
    v[d] = RIGHT_16(v[d] ^ v[a]); \
    v[c] += v[d]; \
    v[b] = RIGHT(v[b] ^ v[c], 12); \
    v[a] += v[b] + (y); \
    v[d] = RIGHT_8(v[d] ^ v[a]); \
    v[c] += v[d]; \
    v[b] = RIGHT(v[b] ^ v[c], 7);

/* One round takes the words of the message in the order given. */
#define ROUND(i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15) \
    MIX(0, 4, 8, 12, m[i0], m[i1]) \
    MIX(1, 5, 9, 13, m[i2], m[i3]) \
    MIX(2, 6, 10, 14, m[i4], m[i5]) \
    MIX(3, 7, 11, 15, m[i6], m[i7]) \
    MIX(0, 5, 10, 15, m[i8], m[i9]) \
    MIX(1, 6, 11, 12, m[i10], m[i11]) \
    MIX(2, 7, 8, 13, m[i12], m[i13]) \
    MIX(3, 4, 9, 14, m[i14], m[i15])

/* Takes h forward by the block at at[i] for lane i. */
static always_inline void LOCAL(blake3_block)(VEC h[8], const unsigned char *const *at, VEC low,
                                              VEC high, uint32_t len, uint32_t flags)
{
    VEC m[16], v[16];
    LOCAL(load)(m, at, false);
    for (unsigned i = 0; i < 8; i++)
        v[i] = h[i];
    for (unsigned i = 0; i < 4; i++)
        v[8 + i] = (VEC){ 0 } + blake3_first[i];
    v[12] = low;
    v[13] = high;
    v[14] = (VEC){ 0 } + len;
    v[15] = (VEC){ 0 } + flags;
    /* Each row is the row before, permuted as the second row is. */
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    ROUND(2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
    ROUND(3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1)
    ROUND(10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6)
    ROUND(12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4)
    ROUND(9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7)
    ROUND(11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13)
    for (unsigned i = 0; i < 8; i++)
        h[i] = v[i] ^ v[i + 8];
}

void LOCAL(blake3)(enum node_kind kind, const unsigned char *in, unsigned n, uint64_t first,
                   unsigned char *out)
{
    const bool chunks = kind == NODES_CHUNKS;
    const size_t size = chunks ? NODE_CHUNK : NODE_BLOCK;
    const unsigned char *at[WIDTH];
    uint32_t counter[2][WIDTH], word[8][WIDTH];
    VEC h[8], low, high;
    /* Idle lanes compute the first node; their results are not used. */
    for (unsigned i = 0; i < WIDTH; i++) {
        at[i] = in + (i < n ? i * size : 0);
        counter[0][i] = chunks ? (uint32_t)(first + i) : 0;
        counter[1][i] = chunks ? (uint32_t)((first + i) >> 32) : 0;
    }
    memcpy(&low, counter[0], sizeof low);
    memcpy(&high, counter[1], sizeof high);
    for (unsigned i = 0; i < 8; i++)
        h[i] = (VEC){ 0 } + blake3_first[i];
    for (size_t from = 0; from < size; from += NODE_BLOCK) {
        uint32_t start = from == 0 ? NODE_CHUNK_START : 0;
        uint32_t end = from == size - NODE_BLOCK ? NODE_CHUNK_END : 0;
        LOCAL(blake3_block)(h, at, low, high, NODE_BLOCK, chunks ? start | end : NODE_PARENT);
        for (unsigned i = 0; i < WIDTH; i++)
            at[i] += NODE_BLOCK;
    }
    for (unsigned i = 0; i < 8; i++)
        memcpy(word[i], &h[i], sizeof word[i]);
    for (unsigned lane = 0; lane < n; lane++)
        for (unsigned i = 0; i < 8; i++)
            memcpy(out + NODE_VALUE * lane + 4 * i, &word[i][lane], 4);
}

#if WIDTH == 1
void blake3_compress(uint32_t state[8], const unsigned char *block, uint64_t counter, uint32_t len,
                     uint32_t flags)
{
    LOCAL(blake3_block)(state, &block, (uint32_t)counter, (uint32_t)(counter >> 32), len, flags);
}
#endif

#undef RIGHT
#undef RIGHT_16
#undef RIGHT_8
#undef BYTES_OF
#undef BYTES_RIGHT
#undef MIX
#undef ROUND
