/* link.h: an open link. It is constant, so it needs no lock. */
#pragma once

#include "url.h"

#include <leat/link.h>

#include <pthread.h>

enum {
    LK_MOST = 1000,          /* items in one call of a script: Lua unpacks 8,000 values at most */
    LK_MOST_BYTES = 1 << 20, /* from here on, a request or reply takes no more items */
    LK_MAX_BYTES = 1 << 20,  /* of an item or a result, if the user does not say */
    LK_BYTES_MOST = 64 << 20,
    LK_PREFIX = 64 /* bytes of a link's prefix at most */
};

struct leat_link {
    struct lk_url url;
    struct ssl_ctx_st *tls; /* NULL: without TLS */
    char prefix[LK_PREFIX + 1];
    int64_t lease, away;
    int trust;
    leat_link_tell_fn *tell;
    void *arg;
};

/* Reports a message to the user, by `tell`. */
void lk_report(const leat_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The scope calls `fn` with the pointer when it closes. 0; or -ENOMEM, and then it does not. */
typedef void lk_free_fn(void *pointer);
int lk_own(leat_scope *scope, void *pointer, lk_free_fn *fn);

/* Locks. In the seeded world all parties share a thread, and the holder of the lock may be
 * interrupted: then the others yield and try again. */
void lk_lock(pthread_mutex_t *lock);

static inline int64_t lk_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
