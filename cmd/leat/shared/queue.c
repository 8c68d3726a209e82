#define _GNU_SOURCE
#include "shared/queue.h"
#include "shared/hiredis.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TCP "redis://"
#define TLS "rediss://"
#define UNIX "redis+unix:/"

_Static_assert(QUEUE_NAME == 124, "a message says it");

bool queue_is_meant(const char *text)
{
    return strncasecmp(text, "redis", 5) == 0 && strchr(text, ':');
}

/* Whether the text is a stage's name, by the rules of leat/link.h. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-+";
    size_t n = strspn(text, allowed);
    return n > 0 && !text[n] && n <= QUEUE_NAME;
}

const char *queue_read(struct queue *q, const char *text)
{
    const char *slash = strrchr(text, '/');
    size_t scheme = strncmp(text, TCP, strlen(TCP)) == 0     ? strlen(TCP)
                    : strncmp(text, TLS, strlen(TLS)) == 0   ? strlen(TLS)
                    : strncmp(text, UNIX, strlen(UNIX)) == 0 ? strlen(UNIX)
                                                             : 0;
#ifndef LEAT_CMD_LINK
    return "this leat is built without libleat-link, which a queue needs";
#endif
    if (!scheme)
        return "a queue is redis://HOST/QUEUE, rediss://HOST/QUEUE or redis+unix:/SOCKET/QUEUE";
    if (slash <= text + scheme || !is_name(slash + 1))
        return "after the last slash comes the name of a queue, of up to 124 letters, digits "
               "and . _ - +";
#ifdef LEAT_CMD_LOADS_HIREDIS
    if (!hiredis_load())
        return "a queue needs libhiredis, which this system does not have";
#endif
    *q = (struct queue){ .engine = strndup(text, (size_t)(slash - text)) };
    snprintf(q->stage, sizeof q->stage, "map-%s", slash + 1);
    return q->engine ? NULL : "memory exhausted";
}

void queue_free(struct queue *q)
{
    free(q->engine);
    q->engine = NULL;
}

const char *queue_error(const struct queue *q, int error)
{
    bool has_host = strncmp(q->engine, UNIX, strlen(UNIX)) != 0;
    return error == -ENOENT && has_host ? "this host is not known" : strerror(-error);
}

void queue_hide_password(void)
{
    char *password = getenv("LEAT_LINK_PASSWORD");
    if (password)
        explicit_bzero(password, strlen(password));
    unsetenv("LEAT_LINK_PASSWORD");
}
