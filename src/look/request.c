#define _GNU_SOURCE /* memmem */
#include "look/request.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool lt_request_is_whole(const char *head, size_t n)
{
    return memmem(head, n, "\r\n\r\n", 4) != NULL;
}

/* Ends the line at its CRLF. What follows it, or NULL. */
static char *end_line(char *line)
{
    char *end = strstr(line, "\r\n");
    if (!end)
        return NULL;
    *end = 0;
    return end + 2;
}

/* The header's value, if the line has that name. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

static void take_header(struct lt_request *to, const char *line)
{
    const char *value;
    if ((value = value_of(line, "Host")))
        to->host = value;
    else if ((value = value_of(line, "Authorization")) && strncasecmp(value, "Bearer ", 7) == 0)
        to->token = value + 7;
    else if ((value = value_of(line, "Sec-Fetch-Site")))
        to->cross_site = strcmp(value, "cross-site") == 0;
}

/* "GET /path?query HTTP/1.1" */
static int take_target(struct lt_request *to, char *line)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || strncmp(version + 1, "HTTP/1.", 7) != 0 || target[1] != '/')
        return 400;
    *target++ = 0;
    *version = 0;
    if (strcmp(line, "GET") != 0)
        return 405;
    char *query = strchr(target, '?');
    if (query)
        *query++ = 0;
    to->path = target;
    to->query = query ? query : "";
    return 0;
}

int lt_request_parse(struct lt_request *to, char *head, size_t n)
{
    *to = (struct lt_request){ 0 };
    head[n] = 0;
    if (strlen(head) != n)
        return 400;
    char *line = end_line(head);
    int status = line ? take_target(to, head) : 400;
    for (char *next; !status && line && *line && (next = end_line(line)); line = next)
        take_header(to, line);
    return status;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool lt_request_query(const struct lt_request *request, const char *name, char *value, size_t size)
{
    size_t length = strlen(name), n = 0;
    const char *at = request->query;
    while (at && (strncmp(at, name, length) != 0 || at[length] != '=')) {
        at = strchr(at, '&');
        at += at != NULL;
    }
    if (!at)
        return false;
    for (at += length + 1; *at && *at != '&' && n + 1 < size; at++) {
        bool escape = at[0] == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0;
        value[n++] = escape ? (char)(16 * hex(at[1]) + hex(at[2])) : *at;
        at += escape ? 2 : 0;
    }
    value[n] = 0;
    return true;
}

bool lt_request_is_for_loopback(const struct lt_request *request)
{
    char name[64];
    struct in_addr four;
    if (!request->host)
        return true;
    size_t length =
        *request->host == '[' ? strcspn(request->host, "]") + 1 : strcspn(request->host, ":");
    if (length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, request->host);
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

bool lt_token_is(const char *token, const char *wanted)
{
    size_t n = strlen(wanted);
    unsigned char differs = strlen(token) != n;
    for (size_t i = 0; i < n && token[i]; i++)
        differs |= (unsigned char)(token[i] ^ wanted[i]);
    return !differs;
}
