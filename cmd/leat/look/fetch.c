#define _GNU_SOURCE
#include "look/fetch.h"

#include "look/reply.h"

#include <errno.h>
#include <leat/leat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer head is refused. */
enum { HEAD_MOST = 64 << 10, PIECE = 64 << 10 };

static void send_request(leat_io *to, const struct address *a, const char *target, int64_t limit,
                         struct trouble *why)
{
    char *request = NULL;
    int len = asprintf(&request,
                       "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nConnection: close\r\n"
                       "%s%s%s\r\n",
                       target, a->host, *a->token ? "Authorization: Bearer " : "", a->token,
                       *a->token ? "\r\n" : "");
    int64_t n = len < 0 ? -ENOMEM : leat_write_until(to, request, (size_t)len, limit);
    if (n < 0)
        trouble_error(why, (int)n);
    if (len >= 0)
        free(request);
}

/* Whether all needed bytes of the answer have come. */
static bool is_whole(const struct text *got, struct reply *r, size_t most, struct trouble *why)
{
    if (!r->head) {
        int error = reply_read(r, got->bytes, got->len);
        if (error == -EBADMSG || (error && got->len > HEAD_MOST))
            trouble_say(why, "it does not answer in HTTP");
        if (error)
            return false;
        if (r->coded)
            trouble_say(why, "its answer is encoded, which no leat does");
    }
    if (r->has_length ? r->length > most : got->len - r->head > most)
        trouble_say(why, "its answer is longer than %zu MiB", most >> 20);
    return r->has_length && got->len - r->head >= r->length;
}

static void read_answer(leat_io *from, struct text *got, struct reply *r, size_t most,
                        int64_t limit, struct trouble *why)
{
    int64_t n = 0;
    do {
        if (!text_reserve(got, PIECE)) {
            trouble_error(why, -ENOMEM);
            return;
        }
        n = leat_read_until(from, got->bytes + got->len, PIECE, limit);
        if (n <= 0)
            break;
        got->len += (size_t)n;
        limit = leat_after(FETCH_PATIENCE);
    } while (!is_whole(got, r, most, why) && !is_trouble(why));
    if (n < 0)
        trouble_error(why, (int)n);
    else if (n == 0 && got->len == 0)
        trouble_say(why, "it closed the connection without an answer");
    else if (!r->head)
        trouble_say(why, "its answer was cut off in the head");
    else if (r->has_length && got->len - r->head < r->length)
        trouble_say(why, "its answer was cut off after %zu of %zu bytes", got->len - r->head,
                    (size_t)r->length);
}

/* Leaves the body. If the status is not 200, its first line is the trouble. */
static void take_body(struct text *got, const struct reply *r, struct trouble *why)
{
    const char *body = got->bytes + r->head;
    size_t len = got->len - r->head;
    if (r->has_length && len > r->length)
        len = (size_t)r->length;
    if (r->status != 200) {
        const char *end = memchr(body, '\n', len);
        size_t line = end ? (size_t)(end - body) : len;
        if (line && body[line - 1] == '\r')
            line--;
        bool has_line = line > 0;
        trouble_say(why, "%u: %.*s", r->status, (int)(has_line ? line : r->reason_len),
                    has_line ? body : got->bytes + r->reason);
        return;
    }
    memmove(got->bytes, body, len);
    got->len = len;
}

static void converse(leat_scope *scope, const struct address *from, const struct wanted *wanted,
                     struct text *to, struct trouble *why)
{
    leat_io *io;
    struct reply r = { 0 };
    int64_t limit = leat_after(wanted->time + FETCH_PATIENCE);
    int error = leat_connect(scope, from->connect, &io, limit);
    if (error == -EINVAL)
        trouble_say(why, "this is no address");
    else if (error == -ENOENT && strncmp(from->connect, "unix:", 5) != 0)
        trouble_say(why, "this host or service is not known");
    else if (error)
        trouble_error(why, error);
    why->gone = error != 0;
    if (!is_trouble(why))
        send_request(io, from, wanted->target, limit, why);
    if (!is_trouble(why))
        read_answer(io, to, &r, wanted->most, limit, why);
    if (!is_trouble(why))
        take_body(to, &r, why);
}

void fetch(const struct address *from, const struct wanted *wanted, struct text *to,
           struct trouble *why)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope) {
        trouble_error(why, -ENOMEM);
        return;
    }
    converse(scope, from, wanted, to, why);
    leat_scope_close(scope);
}
