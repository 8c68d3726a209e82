/* sha256.h: SHA-256's compression (FIPS 180-4), which is SHA-224's too, for width.h. */

#define RIGHT(a, s) ROTATE(a, 32 - (s))

/* Instead of moving the eight values by one word, each step renames the words. */
#define WORD(n, i) v[((n) + 7 * (i)) % 8]

/* A word of the message schedule depends on those 2, 7, 15 and 16 before it: 16 are kept. */
#define STEP(i) \
    if ((i) >= 16) { \
        VEC s0 = x[((i) + 1) % 16], s1 = x[((i) + 14) % 16]; \
        s0 = XOR3(RIGHT(s0, 7), RIGHT(s0, 18), (s0 >> 3)); \
        s1 = XOR3(RIGHT(s1, 17), RIGHT(s1, 19), (s1 >> 10)); \
        x[(i) % 16] += x[((i) + 9) % 16] + s0 + s1; \
    } \
    { \
        VEC a = WORD(0, i), e = WORD(4, i), h = WORD(7, i) + x[(i) % 16] + k[(i) % 16]; \
        h += CHOOSE(e, WORD(5, i), WORD(6, i)); \
        h += XOR3(RIGHT(e, 6), RIGHT(e, 11), RIGHT(e, 25)); \
        WORD(3, i) += h; \
        h += MAJORITY(a, WORD(1, i), WORD(2, i)); \
        WORD(7, i) = h + XOR3(RIGHT(a, 2), RIGHT(a, 13), RIGHT(a, 22)); \
    }
#define FOUR(i) STEP(i) STEP(i + 1) STEP(i + 2) STEP(i + 3)
#define SIXTEEN(i) FOUR(i) FOUR(i + 4) FOUR(i + 8) FOUR(i + 12)

void LOCAL(sha256)(struct lane_states *states, const unsigned char *const *in, size_t blocks)
{
    const unsigned char *at[WIDTH];
    memcpy(at, in, sizeof at);
    for (; blocks > 0; blocks--) {
        const uint32_t *k = sha256_constants;
        VEC v[8], x[16];
        LOCAL(load)(x, at, true);
        for (unsigned i = 0; i < WIDTH; i++)
            at[i] += LANE_BLOCK;
        for (unsigned i = 0; i < 8; i++)
            memcpy(&v[i], states->word[i], sizeof v[i]);
        SIXTEEN(0)
        while ((k += 16) < sha256_constants + 64) {
            SIXTEEN(16)
        }
        for (unsigned i = 0; i < 8; i++)
            LOCAL(add)(states->word[i], v[i]);
    }
}

#undef RIGHT
#undef WORD
#undef STEP
#undef FOUR
#undef SIXTEEN
