/* crypto.h: libcrypto, loaded (shared/library.h) when a digest needs it. */
#pragma once

/* digest.c uses the old interface of OpenSSL, since OpenSSL 3's cannot begin from a state in the
 * middle of a message. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdbool.h>

/* The functions of libcrypto that are used here: X(name). */
#define CRYPTO_FUNCTIONS(X) \
    X(EVP_MD_fetch) \
    X(EVP_MD_free) \
    X(EVP_MD_get_size) \
    X(EVP_MD_CTX_new) \
    X(EVP_MD_CTX_free) \
    X(EVP_DigestInit_ex2) \
    X(EVP_DigestUpdate) \
    X(EVP_DigestFinal_ex) \
    X(SHA1_Init) \
    X(SHA1_Update) \
    X(SHA256_Init) \
    X(SHA256_Update)

struct crypto {
#define CRYPTO_MEMBER(name) __typeof__(name) *name;
    CRYPTO_FUNCTIONS(CRYPTO_MEMBER)
#undef CRYPTO_MEMBER
};

/* Not to be used before crypto_load has returned true. */
extern struct crypto libcrypto;

/* Loads the library, once. Only one thread at a time may call it. False: the system does not have
 * it. */
bool crypto_load(void);
