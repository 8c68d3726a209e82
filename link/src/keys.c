#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool lk_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-+";
    size_t n = text ? strspn(text, allowed) : 0;
    return n > 0 && n <= LK_NAME && text[n] == '\0';
}

bool lk_is_number(const char *text, size_t most)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= most && text[n] == '\0';
}

int lk_keys_make(struct lk_keys *keys, const leat_link *link, const char *stage, const char *run)
{
    static const char *const names[] = { "run",    "items", "queue",   "leases",
                                         "owners", "tries", "results", "waiting" };
    char key[LK_KEY];
    *keys = (struct lk_keys){ 0 };
    snprintf(keys->run, sizeof keys->run, "%s", run);
    snprintf(keys->channel, sizeof keys->channel, "%s{%s}", link->prefix, stage);
    snprintf(keys->runs, sizeof keys->runs, "%s:runs", keys->channel);
    snprintf(keys->results, sizeof keys->results, "%s:%s:results", keys->channel, keys->run);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(key, sizeof key, "%s:%s:%s", keys->channel, keys->run, names[i]);
        lk_request_text(&keys->words, key);
    }
    lk_request_text(&keys->words, keys->runs);
    if (!keys->words.failed)
        return 0;
    lk_keys_free(keys);
    return -ENOMEM;
}

void lk_keys_free(struct lk_keys *keys)
{
    lk_request_free(&keys->words);
}
