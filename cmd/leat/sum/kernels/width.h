/* width.h: the compression functions of all digests for one width. A file includes it once for
 * each width, after it has defined SETS, 1 or 2 vectors side by side, and WIDTH, the messages in
 * each: 4, 8, 16, or 1, which is a plain word. Functions are named by both: md5_2x16.
 *
 * Each step needs the result of the step before, so a single set leaves the processor waiting; the
 * second set fills that time. */
#include "functions.h"

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define PASTE_(a, b, c) a##_##b##x##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define LOCAL(name) PASTE(name, SETS, WIDTH)
#define always_inline inline __attribute__((always_inline))

#if WIDTH == 1
typedef uint32_t LOCAL(vec);
#else
typedef uint32_t LOCAL(vec) __attribute__((vector_size(4 * WIDTH)));
#endif
#define VEC LOCAL(vec)

#define ROTATE(a, s) ((a) << (s) | (a) >> (32 - (s)))

#if WIDTH == 1

static always_inline void LOCAL(load)(VEC x[16], const unsigned char *const *in, bool big)
{
    (void)big;
    memcpy(x, *in, LANE_BLOCK);
}

#else

/* The same shuffle in each group of four words: 0 to 3 are from the first vector, 4 to 7 from the
 * second. */
#define AT(base, i) (base) + ((i) < 4 ? (i) : WIDTH + (i)-4)
#define QUAD(base, i, j, k, l) AT(base, i), AT(base, j), AT(base, k), AT(base, l)
#if WIDTH == 4
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, QUAD(0, __VA_ARGS__))
#elif WIDTH == 8
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, QUAD(0, __VA_ARGS__), QUAD(4, __VA_ARGS__))
#else
#define SHUFFLE(a, b, ...) \
    __builtin_shufflevector(a, b, QUAD(0, __VA_ARGS__), QUAD(4, __VA_ARGS__), \
                            QUAD(8, __VA_ARGS__), QUAD(12, __VA_ARGS__))
#endif

typedef uint32_t LOCAL(quad) __attribute__((vector_size(16)));

static always_inline LOCAL(quad) LOCAL(piece)(const unsigned char *from)
{
    LOCAL(quad) q;
    memcpy(&q, from, sizeof q);
    return q;
}

/* Four words of every fourth message, combined by loads alone. */
static always_inline VEC LOCAL(row)(const unsigned char *const *in, unsigned at)
{
#if WIDTH == 4
    return LOCAL(piece)(in[0] + at);
#elif WIDTH == 8
    return __builtin_shufflevector(LOCAL(piece)(in[0] + at), LOCAL(piece)(in[4] + at), 0, 1, 2, 3,
                                   4, 5, 6, 7);
#else
    typedef uint32_t half __attribute__((vector_size(32)));
    half low = __builtin_shufflevector(LOCAL(piece)(in[0] + at), LOCAL(piece)(in[4] + at), 0, 1, 2,
                                       3, 4, 5, 6, 7);
    half high = __builtin_shufflevector(LOCAL(piece)(in[8] + at), LOCAL(piece)(in[12] + at), 0, 1,
                                        2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
}

/* Reverses the bytes of each word. */
static always_inline VEC LOCAL(swap)(VEC x)
{
    return (ROTATE(x, 8) & 0x00ff00ff) | (ROTATE(x, 24) & 0xff00ff00);
}

/* x[w] gets the w-th word of each message. `big`: words are big-endian. */
static always_inline void LOCAL(load)(VEC x[16], const unsigned char *const *in, bool big)
{
    for (unsigned w = 0; w < 16; w += 4) {
        VEC r0 = LOCAL(row)(in, 4 * w), r1 = LOCAL(row)(in + 1, 4 * w);
        VEC r2 = LOCAL(row)(in + 2, 4 * w), r3 = LOCAL(row)(in + 3, 4 * w);
        if (big)
            r0 = LOCAL(swap)(r0), r1 = LOCAL(swap)(r1), r2 = LOCAL(swap)(r2), r3 = LOCAL(swap)(r3);
        VEC t0 = SHUFFLE(r0, r1, 0, 4, 1, 5), t1 = SHUFFLE(r0, r1, 2, 6, 3, 7);
        VEC t2 = SHUFFLE(r2, r3, 0, 4, 1, 5), t3 = SHUFFLE(r2, r3, 2, 6, 3, 7);
        x[w] = SHUFFLE(t0, t2, 0, 1, 4, 5);
        x[w + 1] = SHUFFLE(t0, t2, 2, 3, 6, 7);
        x[w + 2] = SHUFFLE(t1, t3, 0, 1, 4, 5);
        x[w + 3] = SHUFFLE(t1, t3, 2, 3, 6, 7);
    }
}

static always_inline void LOCAL(add)(uint32_t *states, VEC more)
{
    VEC sum;
    memcpy(&sum, states, sizeof sum);
    sum += more;
    memcpy(states, &sum, sizeof sum);
}

#undef AT
#undef QUAD
#undef SHUFFLE

#endif

/* CHOOSE: the bits of c where b has ones, of d where it has none. */
#if WIDTH == 16 && defined(__AVX512F__)
#define LOGIC(b, c, d, table) \
    (VEC) _mm512_ternarylogic_epi32((__m512i)(b), (__m512i)(c), (__m512i)(d), table)
#define CHOOSE(b, c, d) LOGIC(b, c, d, 0xca)
#define MAJORITY(b, c, d) LOGIC(b, c, d, 0xe8)
#define XOR3(b, c, d) LOGIC(b, c, d, 0x96)
#else
#define CHOOSE(b, c, d) (((c ^ d) & b) ^ d)
#define MAJORITY(b, c, d) (((b ^ c) & (c ^ d)) ^ c)
#define XOR3(b, c, d) ((c ^ d) ^ b)
#endif

#include "md5.h"
/* A step of these has enough work that does not depend on the step before: one set is enough. */
#if SETS == 1 && WIDTH > 1
#include "sha1.h"
#include "sha256.h"
#endif
#if SETS == 1
#include "blake3.h"
#endif

#undef WIDTH
#undef SETS
#undef PASTE_
#undef PASTE
#undef LOCAL
#undef always_inline
#undef VEC
#undef ROTATE
#undef LOGIC
#undef CHOOSE
#undef MAJORITY
#undef XOR3
