#include "crypto.h"

#include <dlfcn.h>
#include <string.h>

#define TEXT_OF(number) #number
#define LIBRARY(version) "libcrypto.so." TEXT_OF(version)

struct crypto libcrypto;

static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found;
}

bool crypto_load(void)
{
    static void *library; /* stays until the program ends */
    if (library)
        return true;
    void *opened = dlopen(LIBRARY(OPENSSL_SHLIB_VERSION), RTLD_LAZY);
    bool complete = opened;
#define FIND(name) complete = complete && find(opened, #name, &libcrypto.name);
    CRYPTO_FUNCTIONS(FIND)
#undef FIND
    if (complete)
        library = opened;
    else if (opened)
        dlclose(opened);
    return complete;
}
