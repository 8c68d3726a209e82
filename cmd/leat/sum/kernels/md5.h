/* md5.h: MD5's compression (RFC 1321), for width.h. */

/* The functions of the four rounds, in the form with the shortest path from the newest word, b. The
 * halves of a choice between two words have no bit in common, so G adds them one by one. */
#if WIDTH == 16 && defined(__AVX512F__)
#define G(a, b, c, d) a += CHOOSE(d, b, c)
#define I(a, b, c, d) a += LOGIC(b, c, d, 0x39)
#else
#define G(a, b, c, d) a += c & ~d, a += b & d
#define I(a, b, c, d) a += (~d | b) ^ c
#endif
#define F(a, b, c, d) a += CHOOSE(b, c, d)
#define H(a, b, c, d) a += XOR3(b, c, d)

#define STEP_OF(set, f, a, b, c, d, k, s, t) \
    a[set] += x[set][k] + t; \
    f(a[set], b[set], c[set], d[set]); \
    a[set] = ROTATE(a[set], s) + b[set];
#if SETS == 1
#define STEP(...) STEP_OF(0, __VA_ARGS__)
#else
#define STEP(...) STEP_OF(0, __VA_ARGS__) STEP_OF(1, __VA_ARGS__)
#endif

#define FOUR(f, s0, s1, s2, s3, k0, t0, k1, t1, k2, t2, k3, t3) \
    STEP(f, a, b, c, d, k0, s0, t0) \
    STEP(f, d, a, b, c, k1, s1, t1) \
    STEP(f, c, d, a, b, k2, s2, t2) \
    STEP(f, b, c, d, a, k3, s3, t3)

void LOCAL(md5)(struct lane_states *states, const unsigned char *const *in, size_t blocks)
{
    const unsigned char *at[SETS * WIDTH];
    VEC a[SETS], b[SETS], c[SETS], d[SETS], x[SETS][16];
    memcpy(at, in, sizeof at);
    memcpy(a, states->word[0], sizeof a);
    memcpy(b, states->word[1], sizeof b);
    memcpy(c, states->word[2], sizeof c);
    memcpy(d, states->word[3], sizeof d);
    for (; blocks > 0; blocks--) {
        VEC a0[SETS], b0[SETS], c0[SETS], d0[SETS];
        for (unsigned i = 0; i < SETS; i++) {
            LOCAL(load)(x[i], at + i * WIDTH, false);
            a0[i] = a[i];
            b0[i] = b[i];
            c0[i] = c[i];
            d0[i] = d[i];
        }
        for (unsigned i = 0; i < SETS * WIDTH; i++)
            at[i] += LANE_BLOCK;

        FOUR(F, 7, 12, 17, 22, 0, 0xd76aa478, 1, 0xe8c7b756, 2, 0x242070db, 3, 0xc1bdceee)
        FOUR(F, 7, 12, 17, 22, 4, 0xf57c0faf, 5, 0x4787c62a, 6, 0xa8304613, 7, 0xfd469501)
        FOUR(F, 7, 12, 17, 22, 8, 0x698098d8, 9, 0x8b44f7af, 10, 0xffff5bb1, 11, 0x895cd7be)
        FOUR(F, 7, 12, 17, 22, 12, 0x6b901122, 13, 0xfd987193, 14, 0xa679438e, 15, 0x49b40821)

        FOUR(G, 5, 9, 14, 20, 1, 0xf61e2562, 6, 0xc040b340, 11, 0x265e5a51, 0, 0xe9b6c7aa)
        FOUR(G, 5, 9, 14, 20, 5, 0xd62f105d, 10, 0x02441453, 15, 0xd8a1e681, 4, 0xe7d3fbc8)
        FOUR(G, 5, 9, 14, 20, 9, 0x21e1cde6, 14, 0xc33707d6, 3, 0xf4d50d87, 8, 0x455a14ed)
        FOUR(G, 5, 9, 14, 20, 13, 0xa9e3e905, 2, 0xfcefa3f8, 7, 0x676f02d9, 12, 0x8d2a4c8a)

        FOUR(H, 4, 11, 16, 23, 5, 0xfffa3942, 8, 0x8771f681, 11, 0x6d9d6122, 14, 0xfde5380c)
        FOUR(H, 4, 11, 16, 23, 1, 0xa4beea44, 4, 0x4bdecfa9, 7, 0xf6bb4b60, 10, 0xbebfbc70)
        FOUR(H, 4, 11, 16, 23, 13, 0x289b7ec6, 0, 0xeaa127fa, 3, 0xd4ef3085, 6, 0x04881d05)
        FOUR(H, 4, 11, 16, 23, 9, 0xd9d4d039, 12, 0xe6db99e5, 15, 0x1fa27cf8, 2, 0xc4ac5665)

        FOUR(I, 6, 10, 15, 21, 0, 0xf4292244, 7, 0x432aff97, 14, 0xab9423a7, 5, 0xfc93a039)
        FOUR(I, 6, 10, 15, 21, 12, 0x655b59c3, 3, 0x8f0ccc92, 10, 0xffeff47d, 1, 0x85845dd1)
        FOUR(I, 6, 10, 15, 21, 8, 0x6fa87e4f, 15, 0xfe2ce6e0, 6, 0xa3014314, 13, 0x4e0811a1)
        FOUR(I, 6, 10, 15, 21, 4, 0xf7537e82, 11, 0xbd3af235, 2, 0x2ad7d2bb, 9, 0xeb86d391)

        for (unsigned i = 0; i < SETS; i++) {
            a[i] += a0[i];
            b[i] += b0[i];
            c[i] += c0[i];
            d[i] += d0[i];
        }
    }
    memcpy(states->word[0], a, sizeof a);
    memcpy(states->word[1], b, sizeof b);
    memcpy(states->word[2], c, sizeof c);
    memcpy(states->word[3], d, sizeof d);
}

#undef F
#undef G
#undef H
#undef I
#undef STEP_OF
#undef STEP
#undef FOUR
