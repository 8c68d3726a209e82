/* open.c: leat_link_open and leat_link_forget. */
#include "engine.h"
#include "tls.h"

#include <leat/leat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LEASE (5 * LEAT_S)
#define SHORTEST_LEASE (100 * LEAT_MS)
#define LONGEST_LEASE (24 * 3600 * LEAT_S)

/* ---- opening ---- */

static void free_link(void *pointer)
{
    leat_link *link = pointer;
    lk_tls_free(link->tls);
    lk_url_free(&link->url);
    free(link);
}

static int replace(char **text, const char *by)
{
    if (!by)
        return 0;
    lk_wipe(*text);
    *text = strdup(by);
    return *text ? 0 : -ENOMEM;
}

static const char *from_environment(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* `spec` wins over the address, and the address over the environment. */
static int find_password(leat_link *link, const leat_link_spec *spec)
{
    int error = 0;
    if (spec->user || spec->password) {
        error = replace(&link->url.user, spec->user);
        error = error ? error : replace(&link->url.password, spec->password);
    } else if (!link->url.user && !link->url.password) {
        error = replace(&link->url.user, from_environment("LEAT_LINK_USER"));
        error =
            error ? error : replace(&link->url.password, from_environment("LEAT_LINK_PASSWORD"));
    }
    return error;
}

static int check(const char *url, const leat_link_spec *spec, leat_link **link)
{
    if (!url || !link || spec->away < 0)
        return -EINVAL;
    if (spec->lease && (spec->lease < SHORTEST_LEASE || spec->lease > LONGEST_LEASE))
        return -EINVAL;
    if (spec->prefix && (strlen(spec->prefix) > LK_PREFIX || strpbrk(spec->prefix, "{}")))
        return -EINVAL;
    return !spec->cert == !spec->key ? 0 : -EINVAL;
}

static int make_tls(leat_link *link, const leat_link_spec *spec)
{
    const char *ca = spec->ca ? spec->ca : from_environment("LEAT_LINK_CA");
    const char *cert = spec->cert ? spec->cert : from_environment("LEAT_LINK_CERT");
    const char *key = spec->key ? spec->key : from_environment("LEAT_LINK_KEY");
    if (!cert == !key)
        return lk_tls_make(link, ca, cert, key);
    lk_report(link, "a certificate needs its key: set both LEAT_LINK_CERT and LEAT_LINK_KEY, or "
                    "neither");
    return -EINVAL;
}

static int make(leat_link *link, const char *url, const leat_link_spec *spec)
{
    *link = (leat_link){ .lease = spec->lease ? spec->lease : DEFAULT_LEASE,
                         .away = spec->away ? spec->away : LEAT_NEVER,
                         .trust = spec->trust,
                         .tell = spec->tell,
                         .arg = spec->arg };
    snprintf(link->prefix, sizeof link->prefix, "%s", spec->prefix ? spec->prefix : "leat:");
    int error = lk_url_parse(&link->url, url);
    if (!error && link->url.tls)
        error = make_tls(link, spec);
    return error ? error : find_password(link, spec);
}

/* A port with TLS often gives no answer to a request without TLS, and the other way round. */
static void guess(const leat_link *link, int error)
{
    const struct lk_url *url = &link->url;
    if (url->tls && error == -ETIMEDOUT)
        lk_report(link, "the engine at %s does not answer: does its port have TLS?", url->address);
    else if (url->host && !url->tls && (error == -ECONNRESET || error == -EPIPE))
        lk_report(link, "the engine at %s closes the connection: a port with TLS needs rediss://",
                  url->address);
}

/* Connects once, and calls `then`, which may be NULL. The engine is allocated: it has a large
 * buffer, and a task's stack may be small. */
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
    guess(link, error);
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
    error = error ? error : lk_own(scope, link, free_link);
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
    int error = lk_engine_ask(engine, &reply, leat_after(5 * LEAT_S));
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
