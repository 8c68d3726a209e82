#include "libssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct lk_libssl lk_ssl;

static bool loaded;

static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found;
}

static void load(void)
{
    void *opened = dlopen(LK_SSL_LIBRARY, RTLD_LAZY);
    bool complete = opened;
#define FIND(name) complete = complete && find(opened, #name, &lk_ssl.name);
    LK_SSL_FUNCTIONS(FIND)
#undef FIND
    /* A program may exit while its workers still use a link: so nothing is freed at exit. */
    loaded = complete && lk_ssl.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
    if (opened && !complete)
        dlclose(opened);
}

bool lk_libssl_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded;
}
