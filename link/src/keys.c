#define _GNU_SOURCE
#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lk_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-+";
    size_t n = text ? strspn(text, allowed) : 0;
    return n > 0 && n <= LK_NAME && text[n] == '\0';
}

int lk_keys_make(struct lk_keys *keys, const leat_link *link, const char *stage, const char *run)
{
    static const char *const names[] = { "run",    "items", "queue",   "leases",
                                         "owners", "tries", "results", "waiting" };
    struct lk_request words = { 0 };
    int made = 0;
    *keys = (struct lk_keys){ 0 };
    snprintf(keys->run, sizeof keys->run, "%s", run);
    made |= asprintf(&keys->channel, "%s{%s}", link->prefix, stage) < 0;
    made |= !made && asprintf(&keys->runs, "%s:runs", keys->channel) < 0;
    for (size_t i = 0; !made && i < sizeof names / sizeof *names; i++) {
        char *key;
        made |= asprintf(&key, "%s:%s:%s", keys->channel, run, names[i]) < 0;
        if (made)
            break;
        lk_request_text(&words, key);
        if (strcmp(names[i], "results") == 0)
            keys->results = key;
        else
            free(key);
    }
    if (!made)
        lk_request_text(&words, keys->runs);
    keys->words = words.bytes.data;
    keys->size = words.bytes.size;
    if (!made && !words.failed)
        return 0;
    lk_keys_free(keys);
    return -ENOMEM;
}

void lk_keys_free(struct lk_keys *keys)
{
    free(keys->words);
    free(keys->channel);
    free(keys->runs);
    free(keys->results);
    *keys = (struct lk_keys){ 0 };
}
