#include "single.h"

#include "crypto.h"

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

const struct lane_kernel single_sha1 = { 1, run_sha1 }, single_sha256 = { 1, run_sha256 };
