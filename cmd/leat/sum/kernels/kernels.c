#include "kernels.h"

#include "functions.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define KERNELS(name, ...) static const struct lane_kernel name[] = { __VA_ARGS__ }
KERNELS(md5_plain, { 1, md5_1x1 }, { 2, md5_2x1 });
KERNELS(md5_vector, { 1, md5_1x1 }, { 2, md5_2x1 }, { 4, md5_1x4 }, { 8, md5_2x4 });
KERNELS(sha1_vector, { 4, sha1_1x4 });
KERNELS(sha256_vector, { 4, sha256_1x4 });
#ifdef __x86_64__
KERNELS(md5_avx2, { 1, md5_1x1 }, { 2, md5_2x1 }, { 8, md5_1x8 }, { 16, md5_2x8 });
KERNELS(md5_avx512, { 1, md5_1x1 }, { 2, md5_2x1 }, { 16, md5_1x16 }, { 32, md5_2x16 });
KERNELS(sha1_avx2, { 8, sha1_1x8 });
KERNELS(sha1_avx512, { 16, sha1_1x16 });
KERNELS(sha256_avx2, { 8, sha256_1x8 });
KERNELS(sha256_avx512, { 16, sha256_1x16 });
#endif

static const struct lane_way md5_ways[] = {
#ifdef __x86_64__
    { "avx512", 32, md5_avx512, { 1, 1 } }, { "avx2", 16, md5_avx2, { 1, 1 } },
#endif
    { "vector", 8, md5_vector, { 1, 1 } },  { "plain", 2, md5_plain, { 1, 1 } }, { 0 },
};
static const struct lane_way sha1_ways[] = {
#ifdef __x86_64__
    { "avx512", 16, sha1_avx512, { 3, 5 } },
    { "avx2", 8, sha1_avx2, { 3, 5 } },
#endif
    { "vector", 4, sha1_vector, { 3, 0 } },
    { 0 },
};
static const struct lane_way sha256_ways[] = {
#ifdef __x86_64__
    { "avx512", 16, sha256_avx512, { 3, 9 } },
    { "avx2", 8, sha256_avx2, { 3, 0 } },
#endif
    { "vector", 4, sha256_vector, { 3, 0 } },
    { 0 },
};

const struct lane_digest lane_md5 = {
    .size = 16,
    .words = 4,
    .first = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 },
    .ways = md5_ways,
};
const struct lane_digest lane_sha1 = {
    .size = 20,
    .words = 5,
    .big = true,
    .first = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 },
    .ways = sha1_ways,
};
const struct lane_digest lane_sha224 = {
    .size = 28,
    .words = 8,
    .big = true,
    .first = { 0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7,
               0xbefa4fa4 },
    .ways = sha256_ways,
};
const struct lane_digest lane_sha256 = {
    .size = 32,
    .words = 8,
    .big = true,
    .first = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
               0x5be0cd19 },
    .ways = sha256_ways,
};

#ifdef __x86_64__

bool has_vectors(const char *name)
{
    /* BLAKE3's way with AVX-512 has kernels with AVX2, too. */
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2");
    return strcmp(name, "avx2") != 0 || __builtin_cpu_supports("avx2");
}

/* __builtin_cpu_supports has no name for SHA instructions. */
static bool has_sha(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

#else

bool has_vectors(const char *name)
{
    (void)name;
    return true;
}

/* Nearly all other processors have SHA instructions; nothing was measured without. */
static bool has_sha(void)
{
    return true;
}

#endif

const struct lane_way *lane_way_at(const struct lane_digest *d, size_t i)
{
    for (const struct lane_way *way = d->ways; way->name; way++)
        if (has_vectors(way->name) && i-- == 0)
            return way;
    return NULL;
}

unsigned lane_way_worth(const struct lane_way *way)
{
    return way->worth[has_sha()];
}

const struct lane_way *lane_way_best(const struct lane_digest *d)
{
    for (size_t i = 0;; i++) {
        const struct lane_way *way = lane_way_at(d, i);
        if (!way || lane_way_worth(way) > 0)
            return way;
    }
}

const struct lane_kernel *lane_kernel_for(const struct lane_way *way, unsigned active)
{
    const struct lane_kernel *k = way->kernels;
    while (k->lanes < active && k->lanes < way->lanes)
        k++;
    return k;
}

void lane_run(const struct lane_kernel *k, struct lane_states *states, const unsigned char **in,
              unsigned active, size_t blocks)
{
    /* Idle lanes digest the first lane's bytes; their results are not used. */
    for (unsigned lane = active; lane < k->lanes; lane++)
        in[lane] = in[0];
    k->run(states, in, blocks);
}

void lane_begin(const struct lane_digest *d, struct lane_states *states, unsigned lane)
{
    for (unsigned i = 0; i < d->words; i++)
        states->word[i][lane] = d->first[i];
}

void lane_move(struct lane_states *states, unsigned to, unsigned from)
{
    for (unsigned i = 0; i < LANE_WORDS; i++)
        states->word[i][to] = states->word[i][from];
}

static void put(unsigned char *to, uint64_t value, size_t bytes, bool big)
{
    for (size_t i = 0; i < bytes; i++)
        to[big ? bytes - 1 - i : i] = (unsigned char)(value >> (8 * i));
}

void lane_end(const struct lane_digest *d, const struct lane_states *states, unsigned lane,
              unsigned char *digest)
{
    for (size_t i = 0; i < d->size / 4; i++)
        put(digest + 4 * i, states->word[i][lane], 4, d->big);
}

size_t lane_pad(const struct lane_digest *d, unsigned char *tail, size_t len, uint64_t total)
{
    size_t whole = (len + 8) / LANE_BLOCK * LANE_BLOCK + LANE_BLOCK;
    tail[len] = 0x80;
    memset(tail + len + 1, 0, whole - len - 9);
    put(tail + whole - 8, 8 * total, 8, d->big);
    return whole;
}
