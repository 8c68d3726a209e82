/* test_md5.c: MD5 in lanes: every kernel that this processor has, against the definition. */
#include "md5/md5.h"
#include "support.h"

#include <math.h>

enum { LONGEST = 4 * 4096 };

/* RFC 1321 as it reads, with the table from the sine. */
static void digest_block(uint32_t state[4], const unsigned char *block)
{
    static const unsigned shift[4][4] = {
        { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
    };
    static uint32_t table[64];
    for (unsigned i = 0; i < 64 && !table[63]; i++)
        table[i] = (uint32_t)floor(fabs(sin(i + 1)) * 4294967296.0);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t f, x;
        unsigned k, s = shift[i / 16][i % 4];
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d), k = i; break;
        case 1: f = (b & d) | (c & ~d), k = 5 * i + 1; break;
        case 2: f = b ^ c ^ d, k = 3 * i + 5; break;
        default: f = c ^ (b | ~d), k = 7 * i; break;
        }
        memcpy(&x, block + 4 * (k % 16), 4);
        f += a + x + table[i];
        a = d, d = c, c = b;
        b += f << s | f >> (32 - s);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void digest(const unsigned char *message, size_t len, unsigned char *to)
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    unsigned char last[128] = { 0 };
    size_t whole = len / 64 * 64, rest = len - whole, end = rest < 56 ? 64 : 128;
    for (size_t at = 0; at < whole; at += 64)
        digest_block(state, message + at);
    memcpy(last, message + whole, rest);
    last[rest] = 0x80;
    uint64_t bits = (uint64_t)len * 8;
    memcpy(last + end - 8, &bits, 8);
    for (size_t at = 0; at < end; at += 64)
        digest_block(state, last + at);
    memcpy(to, state, 16);
}

static unsigned char bytes[LONGEST + 64];

static void fill_bytes(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
}

/* A message on its way through a lane. */
struct message {
    unsigned char *buffer; /* padded */
    size_t at, end;
    unsigned char expected[MD5_SIZE];
};

static struct message message_of(const unsigned char *from, size_t len)
{
    struct message m = { .buffer = malloc(len + MD5_PAD) };
    CHECK(m.buffer);
    if (len > 0)
        memcpy(m.buffer, from, len);
    size_t whole = len / MD5_BLOCK * MD5_BLOCK;
    m.end = whole + md5_pad(m.buffer + whole, len - whole, len);
    digest(from, len, m.expected);
    return m;
}

static void check_end(const struct md5_states *states, unsigned lane, struct message *m)
{
    unsigned char got[MD5_SIZE];
    md5_end(states, lane, got);
    CHECK(memcmp(got, m->expected, MD5_SIZE) == 0);
    free(m->buffer);
}

static void has_the_published_digests(void **state)
{
    (void)state;
    static const struct {
        const char *message, *digest;
    } published[] = {
        { "", "d41d8cd98f00b204e9800998ecf8427e" },
        { "a", "0cc175b9c0f1b6a831c399e269772661" },
        { "abc", "900150983cd24fb0d6963f7d28e17f72" },
        { "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
        { "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b" },
        { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
          "d174ab98d277d9f5a5611c2c9f419d9f" },
        { "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
          "57edf4a22be3c955ac49da2e2107b67a" },
    };
    for (size_t w = 0; md5_way_at(w); w++) {
        for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
            const char *text = published[i].message;
            struct message m = message_of((const unsigned char *)text, strlen(text));
            char hex[2 * MD5_SIZE + 1];
            for (int b = 0; b < MD5_SIZE; b++)
                sprintf(hex + 2 * b, "%02x", m.expected[b]);
            CHECK(strcmp(hex, published[i].digest) == 0);
            struct md5_states states = { 0 };
            const unsigned char *in[MD5_LANES] = { m.buffer };
            md5_begin(&states, 0);
            md5_run(md5_kernel_for(md5_way_at(w), 1), &states, in, 1, m.end / MD5_BLOCK);
            check_end(&states, 0, &m);
        }
    }
}

/* Every length in every lane of every kernel, the other lanes having messages of their own. */
static void digests_every_length(void **state)
{
    (void)state;
    for (size_t w = 0; md5_way_at(w); w++) {
        const struct md5_way *way = md5_way_at(w);
        for (const struct md5_kernel *k = way->kernels;; k++) {
            snprintf(check_note, sizeof check_note, "%s, %u lanes", way->name, k->lanes);
            for (size_t len = 0; len < 320; len++) {
                struct md5_states states;
                struct message m[MD5_LANES];
                const unsigned char *in[MD5_LANES];
                for (unsigned lane = 0; lane < k->lanes; lane++) {
                    m[lane] = message_of(bytes + lane, len);
                    in[lane] = m[lane].buffer;
                    md5_begin(&states, lane);
                }
                md5_run(k, &states, in, k->lanes, m[0].end / MD5_BLOCK);
                for (unsigned lane = 0; lane < k->lanes; lane++)
                    check_end(&states, lane, &m[lane]);
            }
            if (k->lanes == way->lanes)
                break;
        }
    }
}

/* Lengths of all kinds, short ones most. */
static size_t some_length(uint64_t *rng)
{
    uint32_t span = 1u << lt_rng_below(rng, 15);
    return lt_rng_below(rng, span);
}

/* Lanes that are filled, run, moved and emptied in any order; with another way from run to run. */
static void mix(uint64_t seed, const struct md5_way *fixed)
{
    uint64_t rng = seed;
    snprintf(check_note, sizeof check_note, "%s, seed %llu", fixed ? fixed->name : "all",
             (unsigned long long)seed);
    struct md5_states states = { 0 };
    struct message m[MD5_LANES];
    uint32_t active = 0, ways = 0, most = fixed ? fixed->lanes : MD5_LANES;
    while (md5_way_at(ways))
        ways++;
    for (int left = 200; left > 0 || active > 0;) {
        while (left > 0 && active < most && lt_rng_below(&rng, 4) > 0) {
            m[active] = message_of(bytes + lt_rng_below(&rng, 64), some_length(&rng));
            md5_begin(&states, active++);
            left--;
        }
        if (active == 0)
            continue;
        const struct md5_way *way = fixed ? fixed : md5_way_at(lt_rng_below(&rng, ways));
        const struct md5_kernel *k = md5_kernel_for(way, active);
        unsigned n = k->lanes < active ? k->lanes : active;
        const unsigned char *in[MD5_LANES];
        size_t blocks = SIZE_MAX;
        for (unsigned lane = 0; lane < n; lane++) {
            size_t here = (m[lane].end - m[lane].at) / MD5_BLOCK;
            in[lane] = m[lane].buffer + m[lane].at;
            blocks = here < blocks ? here : blocks;
        }
        blocks -= lt_rng_below(&rng, (uint32_t)blocks);
        md5_run(k, &states, in, n, blocks);
        for (unsigned lane = n; lane-- > 0;) {
            m[lane].at += blocks * MD5_BLOCK;
            if (m[lane].at < m[lane].end)
                continue;
            check_end(&states, lane, &m[lane]);
            m[lane] = m[--active];
            md5_move(&states, lane, active);
        }
    }
}

static void digests_any_mix(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200 / SCALE; seed++) {
        mix(seed, NULL);
        for (size_t w = 0; md5_way_at(w); w++)
            mix(seed, md5_way_at(w));
    }
}

/* The length counts in 64 bits, of bits. */
static void pads_what_is_long(void **state)
{
    (void)state;
    unsigned char tail[MD5_PAD] = { 0 };
    CHECK_IS(64, md5_pad(tail, 55, 55));
    CHECK_IS(128, md5_pad(tail, 56, 56));
    CHECK_IS(64, md5_pad(tail, 0, UINT64_C(0x123456789a)));
    static const unsigned char length[] = { 0xd0, 0xc4, 0xb3, 0xa2, 0x91, 0, 0, 0 };
    CHECK(memcmp(tail + 56, length, 8) == 0);
}

static void chooses_by_the_lanes_at_work(void **state)
{
    (void)state;
    CHECK(md5_way_at(0));
    for (size_t w = 0; md5_way_at(w); w++) {
        const struct md5_way *way = md5_way_at(w);
        CHECK(way->lanes <= MD5_LANES);
        for (unsigned active = 1; active <= MD5_LANES; active++) {
            unsigned lanes = md5_kernel_for(way, active)->lanes;
            CHECK(lanes >= active || lanes == way->lanes);
        }
        print_message("%s: %u lanes\n", way->name, way->lanes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_published_digests),
        cmocka_unit_test(digests_every_length),
        cmocka_unit_test(digests_any_mix),
        cmocka_unit_test(pads_what_is_long),
        cmocka_unit_test(chooses_by_the_lanes_at_work),
    };
    fill_bytes();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
