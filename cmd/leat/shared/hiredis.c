#include "shared/hiredis.h"

#include <dlfcn.h>
#include <hiredis/hiredis.h>
#include <string.h>

#define TEXT_OF(version) #version
#define LIBRARY(version) "libhiredis.so." TEXT_OF(version)

/* The functions that libleat-link calls: X(name). */
#define HIREDIS_FUNCTIONS(X) \
    X(redisReaderCreate) \
    X(redisReaderFeed) \
    X(redisReaderGetReply) \
    X(redisReaderFree) \
    X(freeReplyObject)

static struct {
#define HIREDIS_MEMBER(name) __typeof__(name) *name;
    HIREDIS_FUNCTIONS(HIREDIS_MEMBER)
#undef HIREDIS_MEMBER
} loaded;

static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found;
}

bool hiredis_load(void)
{
    static void *library; /* stays until the program ends */
    if (library)
        return true;
    void *opened = dlopen(LIBRARY(HIREDIS_SONAME), RTLD_LAZY);
    bool complete = opened;
#define FIND(name) complete = complete && find(opened, #name, &loaded.name);
    HIREDIS_FUNCTIONS(FIND)
#undef FIND
    if (complete)
        library = opened;
    else if (opened)
        dlclose(opened);
    return complete;
}

redisReader *redisReaderCreate(void)
{
    return loaded.redisReaderCreate();
}

int redisReaderFeed(redisReader *reader, const char *bytes, size_t n)
{
    return loaded.redisReaderFeed(reader, bytes, n);
}

int redisReaderGetReply(redisReader *reader, void **reply)
{
    return loaded.redisReaderGetReply(reader, reply);
}

void redisReaderFree(redisReader *reader)
{
    loaded.redisReaderFree(reader);
}

void freeReplyObject(void *reply)
{
    loaded.freeReplyObject(reply);
}
