#define _GNU_SOURCE
#include "url.h"

#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TCP "redis://"
#define TLS "rediss://"
#define UNIX "redis+unix:"
#define DATABASE "?db="

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies a part, with %XX as the byte that it means. 0, -EINVAL or -ENOMEM. */
static int decode(char **to, const char *from, size_t n)
{
    char *text = malloc(n + 1), *end = text;
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char c = from[i];
        if (c == '%') {
            int high = i + 2 < n ? digit(from[i + 1]) : -1;
            int low = i + 2 < n ? digit(from[i + 2]) : -1;
            c = (char)(high * 16 + low);
            if (high < 0 || low < 0 || !c) {
                *end = '\0'; /* lk_wipe looks for it */
                lk_wipe(text);
                return -EINVAL;
            }
            i += 2;
        }
        *end++ = c;
    }
    *end = '\0';
    *to = text;
    return 0;
}

static int take_database(struct lk_url *to, const char *text)
{
    if (!*text)
        return 0;
    if (!lk_is_number(text, 5))
        return -EINVAL;
    to->database = strdup(text);
    return to->database ? 0 : -ENOMEM;
}

/* USER:PASSWORD, USER, or :PASSWORD */
static int take_user(struct lk_url *to, const char *from, size_t n)
{
    const char *colon = memchr(from, ':', n);
    size_t name = colon ? (size_t)(colon - from) : n;
    int error = name ? decode(&to->user, from, name) : 0;
    if (!error && colon)
        error = decode(&to->password, colon + 1, n - name - 1);
    return error;
}

/* Whether leat_connect would take "HOST:PORT" for something else. */
static bool is_other(const char *text, size_t n, size_t host)
{
    bool kind =
        (host == 3 && memcmp(text, "udp", 3) == 0) || (host == 4 && memcmp(text, "unix", 4) == 0);
    return kind || (host < n && memchr(text + host + 1, ':', n - host - 1));
}

static int take_host(struct lk_url *to, const char *text, size_t n)
{
    to->host = *text == '[' ? strndup(text + 1, strcspn(text + 1, "%]")) : strndup(text, n);
    return to->host ? 0 : -ENOMEM;
}

static int parse_tcp(struct lk_url *to, const char *text)
{
    size_t n = strcspn(text, "/?#");
    const char *rest = text + n, *at = memrchr(text, '@', n);
    if (at) {
        int error = take_user(to, text, (size_t)(at - text));
        if (error)
            return error;
        n -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    const char *bracket = memchr(text, ']', n);
    const char *after = bracket ? bracket : text;
    const char *port = memchr(after, ':', n - (size_t)(after - text));
    if (n == 0 || text[0] == ':' || (port && port + 1 == text + n))
        return -EINVAL;
    if (!bracket && is_other(text, n, port ? (size_t)(port - text) : n))
        return -EINVAL;
    if (asprintf(&to->address, "%.*s%s", (int)n, text, port ? "" : ":6379") < 0) {
        to->address = NULL;
        return -ENOMEM;
    }
    if (*rest && *rest != '/')
        return -EINVAL;
    int error = take_host(to, text, port ? (size_t)(port - text) : n);
    return error ? error : take_database(to, *rest ? rest + 1 : rest);
}

static int parse_unix(struct lk_url *to, const char *text)
{
    const char *query = strstr(text, DATABASE);
    int n = (int)(query ? (size_t)(query - text) : strlen(text));
    if (text[0] != '/')
        return -EINVAL;
    if (asprintf(&to->address, "unix:%.*s", n, text) < 0) {
        to->address = NULL;
        return -ENOMEM;
    }
    return query ? take_database(to, query + strlen(DATABASE)) : 0;
}

int lk_url_parse(struct lk_url *to, const char *text)
{
    *to = (struct lk_url){ 0 };
    int error = -EINVAL;
    if (strncmp(text, TCP, strlen(TCP)) == 0)
        error = parse_tcp(to, text + strlen(TCP));
    else if (strncmp(text, UNIX, strlen(UNIX)) == 0)
        error = parse_unix(to, text + strlen(UNIX));
    else if ((to->tls = strncmp(text, TLS, strlen(TLS)) == 0))
        error = parse_tcp(to, text + strlen(TLS));
    if (error)
        lk_url_free(to);
    return error;
}

void lk_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void lk_url_free(struct lk_url *url)
{
    free(url->address);
    free(url->host);
    free(url->database);
    lk_wipe(url->user);
    lk_wipe(url->password);
    *url = (struct lk_url){ 0 };
}
