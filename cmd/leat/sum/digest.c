#include "digest.h"

#include "blake2b.h"
#include "blake3.h"
#include "crc32c.h"
#include "crypto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#ifdef LEAT_XXHASH_CHOOSES
#include <xxh_x86dispatch.h> /* puts its functions in place of some of those above */
#endif

static void *crypto_open(const struct algorithm *a);

static void crypto_close(void *state)
{
    libcrypto.EVP_MD_CTX_free(state);
}

static int crypto_begin(void *state, size_t size)
{
    (void)size;
    /* NULL: the algorithm does not change. */
    return libcrypto.EVP_DigestInit_ex2(state, NULL, NULL) ? 0 : -EIO;
}

static int crypto_add(void *state, const void *bytes, size_t len)
{
    return libcrypto.EVP_DigestUpdate(state, bytes, len) ? 0 : -EIO;
}

static int crypto_end(void *state, unsigned char *digest)
{
    return libcrypto.EVP_DigestFinal_ex(state, digest, NULL) ? 0 : -EIO;
}

static void *xxh64_open(const struct algorithm *a)
{
    (void)a;
    return XXH64_createState();
}

static void xxh64_close(void *state)
{
    XXH64_freeState(state);
}

static void *xxh3_open(const struct algorithm *a)
{
    (void)a;
    return XXH3_createState();
}

static void xxh3_close(void *state)
{
    XXH3_freeState(state);
}

/* `type`: XXH64 or XXH128, from whose name libxxhash derives that of a digest's bytes. */
#define XXHASH(name, type, reset, update, digest_of) \
    static int name##_begin(void *state, size_t size) \
    { \
        (void)size; \
        return (reset) == XXH_OK ? 0 : -EIO; \
    } \
    static int name##_add(void *state, const void *bytes, size_t len) \
    { \
        return update(state, bytes, len) == XXH_OK ? 0 : -EIO; \
    } \
    static int name##_end(void *state, unsigned char *digest) \
    { \
        type##_canonical_t canonical; \
        type##_canonicalFromHash(&canonical, digest_of(state)); \
        memcpy(digest, canonical.digest, sizeof canonical.digest); \
        return 0; \
    }
XXHASH(xxh64, XXH64, XXH64_reset(state, 0), XXH64_update, XXH64_digest)
XXHASH(xxh3, XXH64, XXH3_64bits_reset(state), XXH3_64bits_update, XXH3_64bits_digest)
XXHASH(xxh128, XXH128, XXH3_128bits_reset(state), XXH3_128bits_update, XXH3_128bits_digest)
#undef XXHASH

/* For a CRC, and for BLAKE3. */
static void *plain_open(const struct algorithm *a)
{
    (void)a;
    return malloc(sizeof(struct blake3));
}

static int crc_begin(void *state, size_t size)
{
    (void)size;
    *(uint32_t *)state = 0;
    return 0;
}

static int crc_add(void *state, const void *bytes, size_t len)
{
    uint32_t *sum = state;
    *sum = crc32c_add(*sum, bytes, len);
    return 0;
}

static int crc_end(void *state, unsigned char *digest)
{
    uint32_t sum = *(const uint32_t *)state;
    for (int i = 0; i < 4; i++)
        digest[i] = (unsigned char)(sum >> (24 - 8 * i));
    return 0;
}

/* libcrypto computes the full length, faster than blake2b.h, which computes the others. */
struct either {
    void *full;
    bool is_full;
    struct blake2b other;
};

static void *either_open(const struct algorithm *a)
{
    struct either *e = malloc(sizeof *e);
    if (!e)
        return NULL;
    e->full = crypto_open(a);
    if (e->full)
        return e;
    free(e);
    return NULL;
}

static void either_close(void *state)
{
    struct either *e = state;
    crypto_close(e->full);
    free(e);
}

static int either_begin(void *state, size_t size)
{
    struct either *e = state;
    e->is_full = size == DIGEST_MAX;
    if (e->is_full)
        return crypto_begin(e->full, size);
    blake2b_begin(&e->other, size);
    return 0;
}

static int either_add(void *state, const void *bytes, size_t len)
{
    struct either *e = state;
    if (e->is_full)
        return crypto_add(e->full, bytes, len);
    blake2b_add(&e->other, bytes, len);
    return 0;
}

static int either_end(void *state, unsigned char *digest)
{
    struct either *e = state;
    if (e->is_full)
        return crypto_end(e->full, digest);
    blake2b_end(&e->other, digest);
    return 0;
}

static int tree_begin(void *state, size_t size)
{
    (void)size;
    blake3_begin(state, node_way_at(0));
    return 0;
}

static int tree_add(void *state, const void *bytes, size_t len)
{
    blake3_add(state, bytes, len);
    return 0;
}

static int tree_end(void *state, unsigned char *digest)
{
    blake3_end(state, digest);
    return 0;
}

/* ---- libcrypto's compression functions as kernels with one lane: for a few active lanes, whose
 * messages end sooner one after another ---- */

static void run_sha1(struct lane_states *states, const unsigned char *const *in, size_t blocks)
{
    SHA_CTX c;
    libcrypto.SHA1_Init(&c);
    SHA_LONG *word[] = { &c.h0, &c.h1, &c.h2, &c.h3, &c.h4 };
    for (int i = 0; i < 5; i++)
        *word[i] = states->word[i][0];
    libcrypto.SHA1_Update(&c, *in, blocks * LANE_BLOCK);
    for (int i = 0; i < 5; i++)
        states->word[i][0] = *word[i];
}

static void run_sha256(struct lane_states *states, const unsigned char *const *in, size_t blocks)
{
    SHA256_CTX c;
    libcrypto.SHA256_Init(&c);
    for (int i = 0; i < 8; i++)
        c.h[i] = states->word[i][0];
    libcrypto.SHA256_Update(&c, *in, blocks * LANE_BLOCK);
    for (int i = 0; i < 8; i++)
        states->word[i][0] = c.h[i];
}

static const struct lane_kernel single_sha1 = { 1, run_sha1 }, single_sha256 = { 1, run_sha256 };

static const struct hashing either = { either_open, either_close, either_begin, either_add,
                                       either_end };
static const struct hashing crypto = { crypto_open, crypto_close, crypto_begin, crypto_add,
                                       crypto_end };
static const struct hashing xxh64 = { xxh64_open, xxh64_close, xxh64_begin, xxh64_add, xxh64_end };
static const struct hashing xxh3 = { xxh3_open, xxh3_close, xxh3_begin, xxh3_add, xxh3_end };
static const struct hashing xxh128 = { xxh3_open, xxh3_close, xxh128_begin, xxh128_add,
                                       xxh128_end };
static const struct hashing tree = { plain_open, free, tree_begin, tree_add, tree_end };
static const struct hashing crc = { plain_open, free, crc_begin, crc_add, crc_end };

static const struct algorithm algorithms[] = {
    { "md5", "MD5", 16, &crypto, "MD5", false, false, false, &lane_md5, NULL },
    { "sha1", "SHA1", 20, &crypto, "SHA1", false, false, false, &lane_sha1, &single_sha1 },
    { "sha224", "SHA224", 28, &crypto, "SHA2-224", false, false, false, &lane_sha224,
      &single_sha256 },
    { "sha256", "SHA256", 32, &crypto, "SHA2-256", false, false, false, &lane_sha256,
      &single_sha256 },
    { "sha384", "SHA384", 48, &crypto, "SHA2-384", false, false, false, NULL, NULL },
    { "sha512", "SHA512", 64, &crypto, "SHA2-512", false, false, false, NULL, NULL },
    { "sha512-256", "SHA512-256", 32, &crypto, "SHA2-512/256", false, false, false, NULL, NULL },
    { "sha3-224", "SHA3-224", 28, &crypto, "SHA3-224", false, false, true, NULL, NULL },
    { "sha3-256", "SHA3-256", 32, &crypto, "SHA3-256", false, false, false, NULL, NULL },
    { "sha3-384", "SHA3-384", 48, &crypto, "SHA3-384", false, false, true, NULL, NULL },
    { "sha3-512", "SHA3-512", 64, &crypto, "SHA3-512", false, false, true, NULL, NULL },
    { "blake2b", "BLAKE2b", 64, &either, "BLAKE2B-512", true, false, false, NULL, NULL },
    { "blake3", "BLAKE3", 32, &tree, NULL, false, false, true, NULL, NULL },
    { "xxh64", "XXH64", 8, &xxh64, NULL, false, false, false, NULL, NULL },
    { "xxh3", "XXH3", 8, &xxh3, NULL, false, true, false, NULL, NULL },
    { "xxh128", "XXH128", 16, &xxh128, NULL, false, false, false, NULL, NULL },
    { "crc32c", "CRC32C", 4, &crc, NULL, false, false, false, NULL, NULL },
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* Fetching an algorithm costs more than hashing a small file, so each is fetched once. */
static EVP_MD *fetched[ALGORITHMS];

static void *crypto_open(const struct algorithm *a)
{
    EVP_MD_CTX *state = libcrypto.EVP_MD_CTX_new();
    if (state && libcrypto.EVP_DigestInit_ex2(state, fetched[a - algorithms], NULL))
        return state;
    libcrypto.EVP_MD_CTX_free(state);
    return NULL;
}

const struct algorithm *algorithm_at(size_t i)
{
    return i < ALGORITHMS ? &algorithms[i] : NULL;
}

const struct algorithm *algorithm_find(const char *name)
{
    for (size_t i = 0; i < ALGORITHMS; i++)
        if (strcmp(algorithms[i].name, name) == 0)
            return &algorithms[i];
    return NULL;
}

int algorithm_load(const struct algorithm *a)
{
    if (!a->library_name)
        return 0;
    if (!crypto_load())
        return -ENOTSUP;
    EVP_MD *digest = libcrypto.EVP_MD_fetch(NULL, a->library_name, NULL);
    if (!digest || (size_t)libcrypto.EVP_MD_get_size(digest) != a->size) {
        libcrypto.EVP_MD_free(digest);
        return -ENOTSUP;
    }
    fetched[a - algorithms] = digest;
    return 0;
}

void algorithms_unload(void)
{
    for (size_t i = 0; i < ALGORITHMS; i++)
        if (fetched[i])
            libcrypto.EVP_MD_free(fetched[i]);
}

bool algorithm_is_tree(const struct algorithm *a)
{
    return a->hashing == &tree;
}
