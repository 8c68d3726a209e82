/* link.h: what is known of an engine, and the names of what it has. All of it is constant once it
 * is made, so no lock is needed. */
#ifndef LK_LINK_H
#define LK_LINK_H

#include "request.h"
#include "url.h"

#include <leat/link.h>

enum {
    LK_NAME = 128,           /* bytes of a stage's or run's name at most */
    LK_MOST = 1000,          /* items in one call of a script: Lua unpacks 8,000 values at most */
    LK_MOST_BYTES = 1 << 20, /* after so many, a request or reply takes no more items */
    LK_MAX_BYTES = 1 << 20
};

struct leat_link {
    struct lk_url url;
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

/* Whether a text may name a stage or a run. */
int lk_is_name(const char *text);

/* The names of a run's keys, as words of a request, in the order of common.lua; the ninth is the
 * set of the stage's runs. All have the stage in braces: so a cluster keeps them together. */
struct lk_keys {
    char *words;
    size_t size;
    char *channel; /* where far ends hear of items; also the beginning of all keys */
    char *runs, *results;
    char run[LK_NAME + 1];
};

/* 0 or -ENOMEM. */
int lk_keys_make(struct lk_keys *keys, const leat_link *link, const char *stage, const char *run);
void lk_keys_free(struct lk_keys *keys);

#endif
