/* test_blake3.c: BLAKE3 in all ways of this processor, against the specification and published
 * digests. */
#include "blake3.h"
#include "support.h"

enum { LONGEST = 131 * NODE_CHUNK, SPLITS = 800 };

/* The input of the published digests. */
static unsigned char message[LONGEST];

static void fill_message(void)
{
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (unsigned char)(i % 251);
}

/* The specification literally: its state is a matrix of 16 words. */
static const uint32_t iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static uint32_t right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void mix(uint32_t *v, unsigned column, unsigned slant, const uint32_t *m)
{
    static const unsigned turns[2][2] = { { 16, 12 }, { 8, 7 } };
    unsigned a = column, b = 4 + (column + slant) % 4;
    unsigned c = 8 + (column + 2 * slant) % 4, d = 12 + (column + 3 * slant) % 4;
    for (unsigned half = 0; half < 2; half++) {
        v[a] += v[b] + m[half];
        v[d] = right(v[d] ^ v[a], turns[half][0]);
        v[c] += v[d];
        v[b] = right(v[b] ^ v[c], turns[half][1]);
    }
}

static void compress(uint32_t h[8], const unsigned char *bytes, size_t len, uint64_t counter,
                     uint32_t flags)
{
    static const unsigned permutation[16] = {
        2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8
    };
    uint32_t m[16] = { 0 }, v[16];
    for (size_t i = 0; i < len; i++)
        m[i / 4] |= (uint32_t)bytes[i] << 8 * (i % 4);
    memcpy(v, h, 32);
    memcpy(v + 8, iv, 16);
    v[12] = (uint32_t)counter;
    v[13] = (uint32_t)(counter >> 32);
    v[14] = (uint32_t)len;
    v[15] = flags;
    for (unsigned round = 0; round < 7; round++) {
        for (unsigned i = 0; i < 8; i++)
            mix(v, i % 4, i / 4, m + 2 * i);
        uint32_t before[16];
        memcpy(before, m, sizeof m);
        for (unsigned i = 0; i < 16; i++)
            m[i] = before[permutation[i]];
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] = v[i] ^ v[i + 8];
}

static void put(unsigned char *to, const uint32_t h[8])
{
    for (unsigned i = 0; i < 32; i++)
        to[i] = (unsigned char)(h[i / 4] >> 8 * (i % 4));
}

static void chunk_value(const unsigned char *from, size_t len, uint64_t number, uint32_t root,
                        unsigned char *to)
{
    uint32_t h[8], start = 1;
    memcpy(h, iv, sizeof h);
    for (; len > 64; from += 64, len -= 64, start = 0)
        compress(h, from, 64, number, start);
    compress(h, from, len, number, start | 2 | root);
    put(to, h);
}

static void subtree_value(const unsigned char *from, size_t len, uint64_t number, uint32_t root,
                          unsigned char *to)
{
    if (len <= 1024) {
        chunk_value(from, len, number, root, to);
        return;
    }
    size_t left = 1024;
    while (2 * left < len)
        left *= 2;
    unsigned char children[64];
    subtree_value(from, left, number, 0, children);
    subtree_value(from + left, len - left, number + left / 1024, 0, children + 32);
    uint32_t h[8];
    memcpy(h, iv, sizeof h);
    compress(h, children, 64, 0, 4 | root);
    put(to, h);
}

static void reference(size_t len, unsigned char *to)
{
    subtree_value(message, len, 0, 8, to);
}

static void has_the_published_digests(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        const char *digest;
    } published[] = {
        { 0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" },
        { 1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213" },
        { 64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98" },
        { 65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee" },
        { 1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11" },
        { 1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7" },
        { 1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444" },
        { 2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030" },
        { 8193, "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b" },
        { 31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47" },
        { 102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085" },
    };
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        unsigned char got[NODE_VALUE];
        char hex[2 * NODE_VALUE + 1];
        reference(published[i].len, got);
        for (size_t b = 0; b < NODE_VALUE; b++)
            sprintf(hex + 2 * b, "%02x", got[b]);
        CHECK(strcmp(hex, published[i].digest) == 0);
    }
}

static void check_whole(size_t len)
{
    unsigned char wanted[NODE_VALUE], got[NODE_VALUE];
    reference(len, wanted);
    for (size_t w = 0; node_way_at(w); w++) {
        struct blake3 b;
        memset(&b, 0xa5, sizeof b);
        snprintf(check_note, sizeof check_note, "%s, %zu bytes", node_way_at(w)->name, len);
        blake3_begin(&b, node_way_at(w));
        blake3_add(&b, message, len);
        blake3_end(&b, got);
        CHECK(memcmp(got, wanted, sizeof got) == 0);
    }
}

/* Around the ends of blocks, chunks, vectors and runs. */
static void digests_every_length(void **state)
{
    (void)state;
    for (size_t len = 0; len <= 1100; len += len < 260 ? 1 : SCALE)
        check_whole(len);
    for (size_t chunks = 1; chunks <= 130; chunks++)
        for (size_t len = chunks * NODE_CHUNK - 1; len <= chunks * NODE_CHUNK + 1; len++)
            check_whole(len);
}

/* Any length up to `most`, mostly short ones. */
static size_t some_length(uint64_t *rng, size_t most)
{
    size_t span = (size_t)1 << lt_rng_below(rng, 18);
    return lt_rng_below(rng, (uint32_t)(span < most ? span : most) + 1);
}

/* Adds a message in pieces at random; some of them end where a chunk does. */
static void split(uint64_t seed, const struct node_way *way)
{
    uint64_t rng = seed;
    size_t len = some_length(&rng, LONGEST);
    bool even = lt_rng_below(&rng, 2);
    unsigned char wanted[NODE_VALUE], got[NODE_VALUE];
    struct blake3 b;
    snprintf(check_note, sizeof check_note, "%s, seed %llu", way->name, (unsigned long long)seed);
    reference(len, wanted);
    blake3_begin(&b, way);
    for (size_t at = 0, n; at < len; at += n) {
        n = some_length(&rng, len - at);
        size_t chunks = n / NODE_CHUNK * NODE_CHUNK;
        if (even && chunks > 0)
            n = chunks;
        /* A separate copy shows reads that go too far. */
        unsigned char *piece = malloc(n + 1);
        CHECK(piece);
        memcpy(piece + 1, message + at, n);
        blake3_add(&b, piece + 1, n);
        free(piece);
        CHECK(b.depth <= BLAKE3_DEPTH && b.used <= NODE_CHUNK);
    }
    blake3_end(&b, got);
    CHECK(memcmp(got, wanted, sizeof got) == 0);
}

/* The first `subtrees` of a message each by itself, the rest as it comes. */
static void check_subtrees(const unsigned char *bytes, size_t len, unsigned subtrees)
{
    unsigned char wanted[NODE_VALUE], got[NODE_VALUE], value[NODE_VALUE];
    struct blake3 whole, part;
    for (size_t w = 0; node_way_at(w); w++) {
        snprintf(check_note, sizeof check_note, "%s, %zu bytes, %u subtrees", node_way_at(w)->name,
                 len, subtrees);
        blake3_begin(&whole, node_way_at(w));
        blake3_add(&whole, bytes, len);
        blake3_end(&whole, wanted);
        blake3_begin(&whole, node_way_at(w));
        for (unsigned i = 0; i < subtrees; i++) {
            const unsigned char *from = bytes + (size_t)i * BLAKE3_SUBTREE;
            blake3_begin_subtree(&part, node_way_at(w), i);
            blake3_add(&part, from, 1000);
            blake3_add(&part, from + 1000, BLAKE3_SUBTREE - 1000);
            blake3_end_subtree(&part, value);
            blake3_add_subtree(&whole, value);
        }
        blake3_add(&whole, bytes + (size_t)subtrees * BLAKE3_SUBTREE,
                   len - (size_t)subtrees * BLAKE3_SUBTREE);
        blake3_end(&whole, got);
        CHECK(memcmp(got, wanted, sizeof got) == 0);
    }
}

static void digests_subtrees(void **state)
{
    (void)state;
    size_t most = 5 * BLAKE3_SUBTREE + 1;
    unsigned char *bytes = malloc(most);
    CHECK(bytes);
    uint64_t rng = 7;
    for (size_t i = 0; i < most; i++)
        bytes[i] = (unsigned char)lt_rng_below(&rng, 256);
    for (unsigned subtrees = 2; subtrees <= 5; subtrees++) {
        check_subtrees(bytes, (size_t)subtrees * BLAKE3_SUBTREE, subtrees);
        check_subtrees(bytes, (size_t)subtrees * BLAKE3_SUBTREE + 1, subtrees);
        check_subtrees(bytes, most, subtrees);
    }
    free(bytes);
}

static void digests_any_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SPLITS / SCALE; seed++)
        for (size_t w = 0; node_way_at(w); w++)
            split(seed, node_way_at(w));
}

/* Any number of nodes, in lanes of which some are idle. Chunks are counted in 64 bits, and the
 * numbers of one vector may lie on both sides of 2^32. */
static void has_the_nodes(void **state)
{
    (void)state;
    static const uint64_t firsts[] = { 0, 0xfffffffd, UINT64_C(0x123456789a) };
    enum { MOST = 35 };
    unsigned char wanted[MOST][NODE_VALUE], got[MOST][NODE_VALUE];
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
        for (unsigned i = 0; i < MOST; i++)
            chunk_value(message + NODE_CHUNK * i, NODE_CHUNK, firsts[f] + i, 0, wanted[i]);
        for (size_t w = 0; node_way_at(w); w++) {
            for (unsigned n = 1; n <= MOST; n++) {
                snprintf(check_note, sizeof check_note, "%s, %u chunks", node_way_at(w)->name, n);
                memset(got, 0, sizeof got);
                nodes_run(node_way_at(w), NODES_CHUNKS, message, n, firsts[f], *got);
                CHECK(memcmp(got, wanted, n * sizeof *got) == 0);
                CHECK(n == MOST || got[n][0] == 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_published_digests),
        cmocka_unit_test(digests_every_length),
        cmocka_unit_test(digests_any_pieces),
        cmocka_unit_test(digests_subtrees),
        cmocka_unit_test(has_the_nodes),
    };
    fill_message();
    for (size_t w = 0; node_way_at(w); w++)
        print_message("%s: %u lanes\n", node_way_at(w)->name, node_way_at(w)->lanes);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
