#define _GNU_SOURCE
#include "link.h"

#include "engine.h"

#include <leat/leat.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LEASE (5 * LEAT_S)
#define SHORTEST_LEASE (100 * LEAT_MS)
#define LONGEST_LEASE (24 * 3600 * LEAT_S)

enum { PREFIX_MOST = 64 };

void lk_tell(const leat_link *link, const char *format, ...)
{
    char message[512];
    if (!link->tell)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    link->tell(link->arg, message);
}

/* A scope drops what is left in its channels after its last task has ended. */
int lk_own(leat_scope *scope, void *pointer, leat_drop_fn *drop)
{
    leat_chan *owner = leat_chan_open(
        scope, &(leat_chan_spec){
                   .item_size = sizeof pointer, .capacity = 1, .drop = drop, .name = "owner" });
    return owner && leat_try_send(owner, &pointer) == 0 ? 0 : -ENOMEM;
}

int lk_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-+";
    size_t n = text ? strspn(text, allowed) : 0;
    return n > 0 && n <= LK_NAME && text[n] == '\0';
}

/* ---- keys ---- */

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
    keys->words = words.bytes;
    keys->size = words.size;
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

/* ---- opening ---- */

static void free_link(leat_link *link)
{
    lk_url_free(&link->url);
    free(link->prefix);
    free(link);
}

static void drop_link(void *pointer)
{
    free_link(*(leat_link **)pointer);
}

static int replace(char **text, const char *by)
{
    if (!by)
        return 0;
    lk_wipe(*text);
    *text = strdup(by);
    return *text ? 0 : -ENOMEM;
}

/* The description wins over the address, and the address over the environment. */
static int find_password(leat_link *link, const leat_link_spec *spec)
{
    int error = 0;
    if (spec->user || spec->password) {
        error = replace(&link->url.user, spec->user);
        error = error ? error : replace(&link->url.password, spec->password);
    } else if (!link->url.user && !link->url.password) {
        error = replace(&link->url.user, getenv("LEAT_LINK_USER"));
        error = error ? error : replace(&link->url.password, getenv("LEAT_LINK_PASSWORD"));
    }
    return error;
}

static int check(const char *url, const leat_link_spec *spec, leat_link **link)
{
    if (!url || !link || spec->away < 0)
        return -EINVAL;
    if (spec->lease && (spec->lease < SHORTEST_LEASE || spec->lease > LONGEST_LEASE))
        return -EINVAL;
    if (spec->prefix && (strlen(spec->prefix) > PREFIX_MOST || strpbrk(spec->prefix, "{}")))
        return -EINVAL;
    return 0;
}

static int make(leat_link *link, const char *url, const leat_link_spec *spec)
{
    *link = (leat_link){ .lease = spec->lease ? spec->lease : DEFAULT_LEASE,
                         .away = spec->away ? spec->away : LEAT_NEVER,
                         .trust = spec->trust,
                         .tell = spec->tell,
                         .arg = spec->arg };
    int error = lk_url_parse(&link->url, url);
    if (error == -ENOTSUP)
        lk_tell(link, "leat does not encrypt the connection to an engine: use a tunnel");
    if (error)
        return error;
    link->prefix = strdup(spec->prefix ? spec->prefix : "leat:");
    return link->prefix ? find_password(link, spec) : -ENOMEM;
}

/* Connects once, and has that done with the engine; `then` may be NULL. A connection has a large
 * buffer, and the stack of a task may be small. */
static int connect_once(const leat_link *link, const struct lk_keys *keys,
                        int then(struct lk_engine *, const struct lk_keys *))
{
    struct lk_engine *engine = malloc(sizeof *engine);
    if (!engine)
        return -ENOMEM;
    lk_engine_init(engine, link);
    int error = lk_engine_connect(engine, leat_after(5 * LEAT_S));
    if (!error && then)
        error = then(engine, keys);
    lk_engine_free(engine);
    free(engine);
    return error;
}

int leat_link_open(leat_scope *scope, const char *url, const leat_link_spec *spec, leat_link **to)
{
    static const leat_link_spec all_defaults;
    spec = spec ? spec : &all_defaults;
    int error = scope ? check(url, spec, to) : -EINVAL;
    if (error)
        return error;
    leat_link *link = malloc(sizeof *link);
    if (!link)
        return -ENOMEM;
    error = make(link, url, spec);
    error = error ? error : connect_once(link, NULL, NULL);
    error = error ? error : lk_own(scope, link, drop_link);
    if (error)
        free_link(link);
    else
        *to = link;
    return error;
}

/* ---- forgetting ---- */

static int forget(struct lk_engine *engine, const struct lk_keys *keys)
{
    redisReply *reply;
    lk_engine_call(engine, LK_FORGET, keys, 1);
    lk_request_text(&engine->request, keys->run);
    int error = lk_engine_send(engine);
    error = error ? error : lk_engine_reply(engine, &reply, leat_after(5 * LEAT_S));
    if (error)
        return error;
    error = reply->type != REDIS_REPLY_INTEGER ? -EPROTO : reply->integer ? 0 : -ENOENT;
    freeReplyObject(reply);
    return error;
}

int leat_link_forget(leat_link *link, const char *stage, const char *run)
{
    struct lk_keys keys;
    if (!link || !lk_is_name(stage) || !lk_is_name(run))
        return -EINVAL;
    int error = lk_keys_make(&keys, link, stage, run);
    if (error)
        return error;
    error = connect_once(link, &keys, forget);
    lk_keys_free(&keys);
    return error;
}
