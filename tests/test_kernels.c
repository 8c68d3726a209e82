/* test_kernels.c: digests in lanes: all kernels of this processor, against the definitions. */
#include "kernels/kernels.h"
#include "support.h"

#include <math.h>

enum { LONGEST = 4 * 4096, EVERY = 4096 };

static uint32_t left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

/* RFC 1321 literally, with the table computed from sines. */
static void md5_block(uint32_t state[8], const unsigned char *block)
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
        b += left(f, s);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static uint32_t big_word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* FIPS 180-4 literally, with the constants computed from square roots. */
static void sha1_block(uint32_t state[8], const unsigned char *block)
{
    static const double root[4] = { 2, 3, 5, 10 };
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_word(block + 4 * t);
    for (unsigned t = 16; t < 80; t++)
        w[t] = left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (unsigned t = 0; t < 80; t++) {
        uint32_t f, k = (uint32_t)(sqrt(root[t / 20]) * 1073741824.0);
        switch (t / 20) {
        case 0: f = (b & c) ^ (~b & d); break;
        case 2: f = (b & c) ^ (b & d) ^ (c & d); break;
        default: f = b ^ c ^ d; break;
        }
        f += left(a, 5) + e + k + w[t];
        e = d, d = c, c = left(b, 30), b = a, a = f;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/* FIPS 180-4, with the table computed from the cube roots of the first 64 primes. */
static void sha256_block(uint32_t state[8], const unsigned char *block)
{
    static uint32_t table[64];
    for (unsigned n = 2, i = 0; i < 64 && !table[63]; n++) {
        unsigned divisor = 2;
        while (n % divisor)
            divisor++;
        if (divisor == n)
            table[i++] = (uint32_t)fmod(cbrt(n) * 4294967296.0, 4294967296.0);
    }
    uint32_t w[64], v[8];
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_word(block + 4 * t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + (left(x, 25) ^ left(x, 14) ^ x >> 3) + w[t - 7] +
               (left(y, 15) ^ left(y, 13) ^ y >> 10);
    }
    memcpy(v, state, sizeof v);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t a = v[0], b = v[1], c = v[2], e = v[4];
        uint32_t one = v[7] + (left(e, 26) ^ left(e, 21) ^ left(e, 7)) +
                       ((e & v[5]) ^ (~e & v[6])) + table[t] + w[t];
        uint32_t two = (left(a, 30) ^ left(a, 19) ^ left(a, 10)) + ((a & b) ^ (a & c) ^ (b & c));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

/* Digests to compare with. The published ones check the first state, which is the tested code's. */
struct reference {
    const char *name;
    const struct lane_digest *d;
    void (*block)(uint32_t state[8], const unsigned char *block);
};

static const struct reference references[] = {
    { "md5", &lane_md5, md5_block },
    { "sha1", &lane_sha1, sha1_block },
    { "sha224", &lane_sha224, sha256_block },
    { "sha256", &lane_sha256, sha256_block },
};
enum { DIGESTS = sizeof references / sizeof *references, DIGEST_SIZE = 32 };

/* Ends a message of `total` bytes. `state` is the state before the last `rest` bytes. */
static void end_message(const struct reference *r, uint32_t state[8], const unsigned char *tail,
                        size_t rest, size_t total, unsigned char *to)
{
    unsigned char last[128] = { 0 };
    size_t end = rest < 56 ? 64 : 128;
    memcpy(last, tail, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[r->d->big ? end - 1 - i : end - 8 + i] = (unsigned char)((uint64_t)total * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += 64)
        r->block(state, last + at);
    for (unsigned i = 0; i < r->d->size; i++)
        to[i] = (unsigned char)(state[i / 4] >> 8 * (r->d->big ? 3 - i % 4 : i % 4));
}

static void digest(const struct reference *r, const unsigned char *message, size_t len,
                   unsigned char *to)
{
    uint32_t state[8];
    memcpy(state, r->d->first, sizeof state);
    size_t whole = len / 64 * 64;
    for (size_t at = 0; at < whole; at += 64)
        r->block(state, message + at);
    end_message(r, state, message + whole, len - whole, len, to);
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
    unsigned char expected[DIGEST_SIZE];
};

static struct message message_of(const struct reference *r, const unsigned char *from, size_t len)
{
    struct message m = { .buffer = malloc(len + LANE_PAD) };
    CHECK(m.buffer);
    if (len > 0)
        memcpy(m.buffer, from, len);
    size_t whole = len / LANE_BLOCK * LANE_BLOCK;
    m.end = whole + lane_pad(r->d, m.buffer + whole, len - whole, len);
    return m;
}

static void check_end(const struct reference *r, const struct lane_states *states, unsigned lane,
                      struct message *m)
{
    unsigned char got[DIGEST_SIZE];
    lane_end(r->d, states, lane, got);
    CHECK(memcmp(got, m->expected, r->d->size) == 0);
    free(m->buffer);
}

static void has_the_published_digests(void **state)
{
    (void)state;
    static const struct {
        const char *message, *digest[DIGESTS];
    } published[] = {
        { "",
          { "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" } },
        { "abc",
          { "900150983cd24fb0d6963f7d28e17f72", "a9993e364706816aba3e25717850c26c9cd0d89d",
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" } },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          { "8215ef0796a20bcaaae116d3876c664a", "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" } },
        { "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
          { "57edf4a22be3c955ac49da2e2107b67a" } },
    };
    for (size_t i = 0; i < sizeof published / sizeof *published * DIGESTS; i++) {
        const struct reference *r = &references[i % DIGESTS];
        const char *text = published[i / DIGESTS].message;
        const char *wanted = published[i / DIGESTS].digest[i % DIGESTS];
        if (!wanted)
            continue;
        unsigned char got[DIGEST_SIZE];
        char hex[2 * DIGEST_SIZE + 1];
        digest(r, (const unsigned char *)text, strlen(text), got);
        for (size_t b = 0; b < r->d->size; b++)
            sprintf(hex + 2 * b, "%02x", got[b]);
        CHECK(strcmp(hex, wanted) == 0);
    }
}

/* Runs `active` lanes, each with `len` bytes from another place. */
static void digest_side_by_side(const struct reference *r, const struct lane_kernel *k,
                                unsigned active, size_t len, uint32_t (*before)[EVERY / 64 + 1][8])
{
    struct lane_states states;
    struct message m[LANE_MOST];
    const unsigned char *in[LANE_MOST];
    size_t whole = len / 64 * 64, end = 0;
    memset(&states, 0xa5, sizeof states);
    for (unsigned lane = 0; lane < active; lane++) {
        m[lane] = message_of(r, bytes + lane, len);
        in[lane] = m[lane].buffer;
        end = m[lane].end;
        uint32_t last[8];
        memcpy(last, before[lane][len / 64], sizeof last);
        end_message(r, last, bytes + lane + whole, len - whole, len, m[lane].expected);
        lane_begin(r->d, &states, lane);
    }
    lane_run(k, &states, in, active, end / LANE_BLOCK);
    for (unsigned lane = 0; lane < active; lane++)
        check_end(r, &states, lane, &m[lane]);
}

/* Every length in every kernel, in all of its lanes and in some. */
static void digest_every_length(const struct reference *r)
{
    size_t step = in_long_run() ? SCALE : 3 * SCALE;
    static uint32_t before[LANE_MOST][EVERY / 64 + 1][8];
    for (unsigned lane = 0; lane < LANE_MOST; lane++) {
        memcpy(before[lane][0], r->d->first, sizeof r->d->first);
        for (unsigned i = 0; i < EVERY / 64; i++) {
            memcpy(before[lane][i + 1], before[lane][i], sizeof before[lane][i]);
            r->block(before[lane][i + 1], bytes + lane + 64 * i);
        }
    }
    for (size_t w = 0; lane_way_at(r->d, w); w++) {
        const struct lane_way *way = lane_way_at(r->d, w);
        for (const struct lane_kernel *k = way->kernels;; k++) {
            for (size_t len = 0; len <= EVERY; len += len < 320 ? 1 : step) {
                snprintf(check_note, sizeof check_note, "%s, %s, %u lanes, %zu bytes", r->name,
                         way->name, k->lanes, len);
                digest_side_by_side(r, k, k->lanes, len, before);
                digest_side_by_side(r, k, 1 + (unsigned)len % k->lanes, len, before);
            }
            if (k->lanes == way->lanes)
                break;
        }
    }
}

static void digests_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIGESTS; i++)
        digest_every_length(&references[i]);
}

/* Any length, mostly short ones. */
static size_t some_length(uint64_t *rng)
{
    uint32_t span = 1u << lt_rng_below(rng, 15);
    return lt_rng_below(rng, span);
}

/* Fills, runs, moves and empties lanes at random. Without `fixed`, each run takes a random way. */
static void mix(const struct reference *r, uint64_t seed, const struct lane_way *fixed)
{
    uint64_t rng = seed;
    snprintf(check_note, sizeof check_note, "%s, %s, seed %llu", r->name,
             fixed ? fixed->name : "all", (unsigned long long)seed);
    struct lane_states states = { 0 };
    struct message m[LANE_MOST];
    uint32_t active = 0, ways = 0, most = fixed ? fixed->lanes : LANE_MOST;
    while (lane_way_at(r->d, ways))
        ways++;
    for (int left_over = 200; left_over > 0 || active > 0;) {
        while (left_over > 0 && active < most && lt_rng_below(&rng, 4) > 0) {
            const unsigned char *from = bytes + lt_rng_below(&rng, 64);
            size_t len = some_length(&rng);
            m[active] = message_of(r, from, len);
            digest(r, from, len, m[active].expected);
            lane_begin(r->d, &states, active++);
            left_over--;
        }
        if (active == 0)
            continue;
        const struct lane_way *way = fixed ? fixed : lane_way_at(r->d, lt_rng_below(&rng, ways));
        const struct lane_kernel *k = lane_kernel_for(way, active);
        unsigned n = k->lanes < active ? k->lanes : active;
        const unsigned char *in[LANE_MOST];
        size_t blocks = SIZE_MAX;
        for (unsigned lane = 0; lane < n; lane++) {
            size_t here = (m[lane].end - m[lane].at) / LANE_BLOCK;
            in[lane] = m[lane].buffer + m[lane].at;
            blocks = here < blocks ? here : blocks;
        }
        blocks -= lt_rng_below(&rng, (uint32_t)blocks);
        lane_run(k, &states, in, n, blocks);
        for (unsigned lane = n; lane-- > 0;) {
            m[lane].at += blocks * LANE_BLOCK;
            if (m[lane].at < m[lane].end)
                continue;
            check_end(r, &states, lane, &m[lane]);
            m[lane] = m[--active];
            lane_move(&states, lane, active);
        }
    }
}

static void digests_any_mix(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIGESTS; i++) {
        const struct reference *r = &references[i];
        for (uint64_t seed = 1; seed <= 100 / SCALE; seed++) {
            mix(r, seed, NULL);
            for (size_t w = 0; lane_way_at(r->d, w); w++)
                mix(r, seed, lane_way_at(r->d, w));
        }
    }
}

/* The length counts bits, in 64 bits. */
static void pads_what_is_long(void **state)
{
    (void)state;
    static const unsigned char length[2][8] = {
        { 0xd0, 0xc4, 0xb3, 0xa2, 0x91, 0, 0, 0 },
        { 0, 0, 0, 0x91, 0xa2, 0xb3, 0xc4, 0xd0 },
    };
    for (size_t i = 0; i < DIGESTS; i++) {
        const struct lane_digest *d = references[i].d;
        unsigned char tail[LANE_PAD] = { 0 };
        CHECK_IS(64, lane_pad(d, tail, 55, 55));
        CHECK_IS(128, lane_pad(d, tail, 56, 56));
        CHECK_IS(64, lane_pad(d, tail, 0, UINT64_C(0x123456789a)));
        CHECK(memcmp(tail + 56, length[d->big], 8) == 0);
    }
}

static void chooses_by_the_lanes_at_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIGESTS; i++) {
        const struct lane_digest *d = references[i].d;
        const struct lane_way *best = lane_way_best(d);
        CHECK(lane_way_at(d, 0));
        for (size_t w = 0; lane_way_at(d, w); w++) {
            const struct lane_way *way = lane_way_at(d, w);
            CHECK(way->lanes <= LANE_MOST && lane_way_worth(way) <= way->lanes);
            for (unsigned active = 1; active <= LANE_MOST; active++) {
                unsigned lanes = lane_kernel_for(way, active)->lanes;
                CHECK(lanes >= active || lanes == way->lanes);
            }
            print_message("%s, %s: %u lanes%s\n", references[i].name, way->name, way->lanes,
                          way == best ? ", chosen" : "");
        }
        CHECK(!best || lane_way_worth(best) > 0);
    }
    CHECK(lane_way_best(&lane_md5) == lane_way_at(&lane_md5, 0));
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
