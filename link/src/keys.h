/* keys.h: the names of a run's keys in the engine. */
#pragma once

#include "link.h"
#include "request.h"

enum {
    LK_NAME = 128, /* bytes of a stage's or run's name at most */
    LK_CHANNEL = LK_PREFIX + LK_NAME + sizeof "{}",
    LK_KEY = LK_CHANNEL + LK_NAME + sizeof "::results"
};

/* Whether a text may name a stage or a run. */
bool lk_is_name(const char *text);

/* Whether a text has only digits, from 1 to `most`. */
bool lk_is_number(const char *text, size_t most);

/* The names of a run's keys, as words of a request, in the order of common.lua; the ninth is the
 * set of the stage's runs. All have the stage in braces, so a cluster keeps them together. */
struct lk_keys {
    struct lk_request words;
    char channel[LK_CHANNEL]; /* where far ends listen for items; also the beginning of all keys */
    char runs[LK_KEY], results[LK_KEY];
    char run[LK_NAME + 1];
};

/* 0 or -ENOMEM. */
int lk_keys_make(struct lk_keys *keys, const leat_link *link, const char *stage, const char *run);
void lk_keys_free(struct lk_keys *keys);
