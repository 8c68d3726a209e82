#include "shared/hiredis.h"

#include "shared/library.h"

#include <hiredis/hiredis.h>

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

bool hiredis_load(void)
{
#define HIREDIS_NAME(name) #name,
    static const char *const names[] = { HIREDIS_FUNCTIONS(HIREDIS_NAME) };
#undef HIREDIS_NAME
    return library_load(LIBRARY_FILE("libhiredis", HIREDIS_SONAME), names,
                        sizeof names / sizeof *names, &loaded);
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
