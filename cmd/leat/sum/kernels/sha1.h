/* sha1.h: SHA-1's compression (FIPS 180-4), for width.h. */

/* Instead of moving the five values by one word, each step renames the words. */
#define WORD(n, i) v[((n) + 4 * (i)) % 5]

/* A word of the message schedule depends on those 3, 8, 14 and 16 before it: 16 are kept. */
#define STEP(f, i, k) \
    if ((i) >= 16) { \
        x[(i) % 16] ^= XOR3(x[((i) + 13) % 16], x[((i) + 8) % 16], x[((i) + 2) % 16]); \
        x[(i) % 16] = ROTATE(x[(i) % 16], 1); \
    } \
    WORD(4, i) += x[(i) % 16] + k; \
    WORD(4, i) += f(WORD(1, i), WORD(2, i), WORD(3, i)); \
    WORD(4, i) += ROTATE(WORD(0, i), 5); \
    WORD(1, i) = ROTATE(WORD(1, i), 30);
#define FIVE(f, i, k) \
    STEP(f, i, k) STEP(f, i + 1, k) STEP(f, i + 2, k) STEP(f, i + 3, k) STEP(f, i + 4, k)
#define TWENTY(f, i, k) FIVE(f, i, k) FIVE(f, i + 5, k) FIVE(f, i + 10, k) FIVE(f, i + 15, k)

void LOCAL(sha1)(struct lane_states *states, const unsigned char *const *in, size_t blocks)
{
    const unsigned char *at[WIDTH];
    memcpy(at, in, sizeof at);
    for (; blocks > 0; blocks--) {
        VEC v[5], x[16];
        LOCAL(load)(x, at, true);
        for (unsigned i = 0; i < WIDTH; i++)
            at[i] += LANE_BLOCK;
        for (unsigned i = 0; i < 5; i++)
            memcpy(&v[i], states->word[i], sizeof v[i]);
        TWENTY(CHOOSE, 0, 0x5a827999)
        TWENTY(XOR3, 20, 0x6ed9eba1)
        TWENTY(MAJORITY, 40, 0x8f1bbcdc)
        TWENTY(XOR3, 60, 0xca62c1d6)
        for (unsigned i = 0; i < 5; i++)
            LOCAL(add)(states->word[i], v[i]);
    }
}

#undef WORD
#undef STEP
#undef FIVE
#undef TWENTY
