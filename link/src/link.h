/* link.h: what is known of an engine. All of it is constant once it is made: no lock is needed. */
#ifndef LK_LINK_H
#define LK_LINK_H

#include "url.h"

#include <leat/link.h>

#include <pthread.h>

enum {
    LK_MOST = 1000,          /* items in one call of a script: Lua unpacks 8,000 values at most */
    LK_MOST_BYTES = 1 << 20, /* from here on, a request or reply takes no more items */
    LK_MAX_BYTES = 1 << 20
};

struct leat_link {
    struct lk_url url;
    struct ssl_ctx_st *tls; /* NULL: without TLS */
    char *prefix;
    int64_t lease, away;
    int trust;
    leat_link_tell_fn *tell;
    void *arg;
};

/* Tells the user, if there is anybody to tell. */
void lk_tell(const leat_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lets the scope free something: `drop` gets the address of the pointer when the scope closes. 0 or
 * -ENOMEM, and then drop is not called. */
int lk_own(leat_scope *scope, void *pointer, leat_drop_fn *drop);

/* Locks. In the seeded world all parties share a thread, and one that holds the lock may be
 * interrupted: then the others ask again. */
void lk_lock(pthread_mutex_t *lock);

#endif
