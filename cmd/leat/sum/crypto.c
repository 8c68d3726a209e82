#include "crypto.h"

#include "shared/library.h"

struct crypto libcrypto;

bool crypto_load(void)
{
#define CRYPTO_NAME(name) #name,
    static const char *const names[] = { CRYPTO_FUNCTIONS(CRYPTO_NAME) };
#undef CRYPTO_NAME
    return library_load(LIBRARY_FILE("libcrypto", OPENSSL_SHLIB_VERSION), names,
                        sizeof names / sizeof *names, &libcrypto);
}
