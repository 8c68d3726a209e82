#include "md5.h"

#include "kernels.h"

#include <stdbool.h>
#include <string.h>

static const struct md5_kernel plain[] = { { 1, md5_1x1 }, { 2, md5_2x1 } };
static const struct md5_kernel vector[] = {
    { 1, md5_1x1 }, { 2, md5_2x1 }, { 4, md5_1x4 }, { 8, md5_2x4 }
};
#ifdef __x86_64__
static const struct md5_kernel avx2[] = {
    { 1, md5_1x1 }, { 2, md5_2x1 }, { 8, md5_1x8 }, { 16, md5_2x8 }
};
static const struct md5_kernel avx512[] = {
    { 1, md5_1x1 }, { 2, md5_2x1 }, { 16, md5_1x16 }, { 32, md5_2x16 }
};
#endif

/* The fastest first. */
static const struct md5_way ways[] = {
#ifdef __x86_64__
    { "avx512", 32, avx512 },
    { "avx2", 16, avx2 },
#endif
    { "vector", 8, vector },
    { "plain", 2, plain },
};
enum { WAYS = sizeof ways / sizeof *ways };

static bool is_known(const struct md5_way *way)
{
#ifdef __x86_64__
    if (way->kernels == avx512)
        return __builtin_cpu_supports("avx512f");
    if (way->kernels == avx2)
        return __builtin_cpu_supports("avx2");
#else
    (void)way;
#endif
    return true;
}

const struct md5_way *md5_way_at(size_t i)
{
    for (size_t w = 0; w < WAYS; w++)
        if (is_known(&ways[w]) && i-- == 0)
            return &ways[w];
    return NULL;
}

const struct md5_kernel *md5_kernel_for(const struct md5_way *way, unsigned active)
{
    const struct md5_kernel *k = way->kernels;
    while (k->lanes < active && k->lanes < way->lanes)
        k++;
    return k;
}

void md5_run(const struct md5_kernel *k, struct md5_states *states, const unsigned char **in,
             unsigned active, size_t blocks)
{
    /* Idle lanes digest what another one does, and nobody asks for the result. */
    for (unsigned lane = active; lane < k->lanes; lane++)
        in[lane] = in[0];
    k->run(states, in, blocks);
}

void md5_begin(struct md5_states *states, unsigned lane)
{
    static const uint32_t first[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    for (int i = 0; i < 4; i++)
        states->word[i][lane] = first[i];
}

void md5_move(struct md5_states *states, unsigned to, unsigned from)
{
    for (int i = 0; i < 4; i++)
        states->word[i][to] = states->word[i][from];
}

static void put_little(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

void md5_end(const struct md5_states *states, unsigned lane, unsigned char digest[MD5_SIZE])
{
    for (size_t i = 0; i < 4; i++)
        put_little(digest + 4 * i, states->word[i][lane], 4);
}

size_t md5_pad(unsigned char *tail, size_t len, uint64_t total)
{
    size_t whole = (len + 8) / MD5_BLOCK * MD5_BLOCK + MD5_BLOCK;
    tail[len] = 0x80;
    memset(tail + len + 1, 0, whole - len - 9);
    put_little(tail + whole - 8, 8 * total, 8);
    return whole;
}
