#define _GNU_SOURCE
#include "look/reply.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* HTTP/1.1 200 OK */
static int read_status(struct reply *r, const char *line, size_t len)
{
    static const char begin[] = "HTTP/1.";
    size_t at = sizeof begin - 1;
    if (len < at + 5 || memcmp(line, begin, at) != 0 || !is_digit(line[at]) || line[at + 1] != ' ')
        return -EBADMSG;
    for (at += 2; at < sizeof begin + 4; at++) {
        if (!is_digit(line[at]))
            return -EBADMSG;
        r->status = r->status * 10 + (unsigned)(line[at] - '0');
    }
    while (at < len && line[at] == ' ')
        at++;
    r->reason = at; /* this is the first line */
    r->reason_len = len - at;
    return 0;
}

static int read_length(struct reply *r, const char *value, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(value[i]) || n > UINT64_MAX / 10 - 1)
            return -EBADMSG;
        n = n * 10 + (uint64_t)(value[i] - '0');
    }
    if (len == 0 || (r->has_length && r->length != n))
        return -EBADMSG;
    r->has_length = true;
    r->length = n;
    return 0;
}

static bool is_named(const char *line, size_t name_len, const char *name)
{
    return name_len == strlen(name) && strncasecmp(line, name, name_len) == 0;
}

static int read_field(struct reply *r, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    if (!colon)
        return -EBADMSG;
    size_t name = (size_t)(colon - line);
    const char *value = colon + 1, *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (is_named(line, name, "Content-Length"))
        return read_length(r, value, (size_t)(end - value));
    if (is_named(line, name, "Transfer-Encoding") || is_named(line, name, "Content-Encoding"))
        r->coded = true;
    return 0;
}

int reply_read(struct reply *r, const char *bytes, size_t len)
{
    *r = (struct reply){ 0 };
    const char *line = bytes, *end = bytes + len, *next;
    for (; (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1) {
        size_t size = (size_t)(next - line);
        if (size && line[size - 1] == '\r')
            size--;
        if (line == bytes ? read_status(r, line, size) : size && read_field(r, line, size))
            return -EBADMSG;
        if (size == 0) {
            r->head = (size_t)(next + 1 - bytes);
            return 0;
        }
    }
    return -EAGAIN;
}
