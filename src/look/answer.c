#define _GNU_SOURCE /* open_memstream, memmem */
#include "look/answer.h"

#include "trace/trace.h"
#include "watch/frames.h"

#include <leat/watch.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_TRACE = 60, LONGEST_TOKEN = 8192 /* no head is longer */ };

/* ---- the request: HTTP/1.1 (RFC 9112); a body is never read ---- */

struct request {
    const char *path;  /* "/json" */
    const char *query; /* the part after the '?', or "" */
    const char *host;  /* the header's value, or NULL */
    const char *token; /* of "Authorization: Bearer TOKEN", or NULL */
    bool cross_site;   /* a page of another site made the browser ask */
};

size_t lt_head_length(const char *request, size_t n)
{
    const char *end = memmem(request, n, "\r\n\r\n", 4);
    return end ? (size_t)(end - request) + 4 : 0;
}

/* Ends the line at its CRLF. Returns the rest. */
static char *end_line(char *line)
{
    char *end = strstr(line, "\r\n");
    *end = 0;
    return end + 2;
}

static void cut_blanks(char *line)
{
    for (size_t n = strlen(line); n && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
        line[n - 1] = 0;
}

/* The header's value, if the line has that name. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

static void take_header(struct request *to, const char *line)
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
static int take_target(struct request *to, char *line)
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

/* Takes a head apart, in place; `head[n]` is writable. 0, or an HTTP status: 400, 405. */
static int parse(struct request *to, char *head, size_t n)
{
    *to = (struct request){ 0 };
    head[n] = 0;
    if (strlen(head) != n)
        return 400;
    char *line = end_line(head);
    int status = take_target(to, head);
    for (char *next; !status && *line; line = next) {
        next = end_line(line);
        cut_blanks(line);
        take_header(to, line);
    }
    return status;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies the value of the query's parameter `name` to `value`, cut off where it does not fit, with
 * %XX decoded. False: there is none. */
static bool query_of(const struct request *request, const char *name, char *value, size_t size)
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

/* Whether the host is this machine by a number or as localhost, or not given. A page of another
 * site whose name resolves to this machine (DNS rebinding) sends that name. */
static bool is_for_loopback(const struct request *request)
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

/* Compares in a time that reveals only the length of `wanted`. */
static bool token_is(const char *token, const char *wanted)
{
    size_t n = strlen(wanted);
    unsigned char differs = strlen(token) != n;
    for (size_t i = 0; i < n && token[i]; i++)
        differs |= (unsigned char)(token[i] ^ wanted[i]);
    return !differs;
}

/* ---- the parts of an answer ---- */

static const struct status {
    int number;
    const char *reason, *line; /* the message for the user */
} statuses[] = {
    { 200, "OK", "" },
    { 400, "Bad Request", "the request is none that a look knows; a trace has 60 seconds at most" },
    { 401, "Unauthorized", "the token is missing or wrong" },
    { 403, "Forbidden", "asked by another user, or by way of another site" },
    { 404, "Not Found", "there are /, /json, /dump, /graph and /trace" },
    { 405, "Method Not Allowed", "a look only answers GET" },
    { 409, "Conflict", "a trace is being recorded already" },
    { 503, "Service Unavailable", "the runtime is starting or stopping" },
    { 500, "Internal Server Error", "no memory" }, /* the last: for all other errors */
};

static const struct status *find_status(int number)
{
    const struct status *status = statuses;
    while (status->number != number && status->number != 500)
        status++;
    return status;
}

/* `file`: the name under which a browser saves it; or NULL. */
static void put(struct lt_answer *to, int status, const char *type, const char *file,
                const char *body, size_t n)
{
    FILE *out = open_memstream(&to->bytes, &to->length);
    if (!out)
        return;
    fprintf(out,
            "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
            "Referrer-Policy: no-referrer\r\n"
            "Content-Security-Policy: frame-ancestors 'none'\r\nConnection: close\r\n",
            status, find_status(status)->reason, type, n);
    if (status == 401)
        fputs("WWW-Authenticate: Bearer\r\n", out);
    if (status == 405)
        fputs("Allow: GET\r\n", out);
    if (file)
        fprintf(out, "Content-Disposition: attachment; filename=\"leat-%s\"\r\n", file);
    fputs("\r\n", out);
    fwrite(body, 1, n, out);
    if (fclose(out) == 0)
        return;
    free(to->bytes);
    to->bytes = NULL;
}

void lt_answer_status(struct lt_answer *to, int status)
{
    char line[128];
    int n = snprintf(line, sizeof line, "%s\n", find_status(status)->line);
    put(to, status, "text/plain", NULL, line, (size_t)n);
}

static void put_error(struct lt_answer *to, int error)
{
    lt_answer_status(to, error == -EINVAL ? 503 : error == -EBUSY ? 409 : 500);
}

/* ---- the answers ---- */

static int write_page(FILE *body)
{
    fwrite(lt_page, 1, (size_t)(lt_page_end - lt_page), body);
    return 0;
}

static int write_document(FILE *body)
{
    return lt_document(body, NULL);
}

static int write_stacks(FILE *body)
{
    /* In the thread that looks, call stacks would begin at this address; but it runs no task. */
    return lt_document(body, lt_frames_wanted() ? __builtin_return_address(0) : NULL);
}

static const struct route {
    const char *path, *type, *file;
    int (*write)(FILE *body);
} routes[] = { { "/", "text/html", NULL, write_page },
               { "/json", "application/json", NULL, write_document },
               { "/dump", "text/plain", "dump.txt", leat_dump },
               { "/graph", "text/plain", "graph.dot", leat_dump_graph },
               { "/trace", "application/json", "trace.json", lt_trace_end_record } },
  with_stacks = { "/json", "application/json", NULL, write_stacks };

enum { ROUTES = sizeof routes / sizeof *routes, JSON = 1, TRACE = ROUTES - 1 };

static void follow(const struct route *route, struct lt_answer *to)
{
    char *bytes = NULL;
    size_t n = 0;
    int saved = errno;
    FILE *body = open_memstream(&bytes, &n);
    int error = body ? route->write(body) : -ENOMEM;
    if (!body && route == &routes[TRACE])
        lt_trace_end_record(NULL);
    if (body && fclose(body) != 0)
        error = error ? error : -ENOMEM;
    errno = saved;
    if (error)
        put_error(to, error);
    else
        put(to, 200, route->type, route->file, bytes, n);
    free(bytes);
}

void lt_answer_trace(struct lt_answer *to)
{
    follow(&routes[TRACE], to);
}

/* Seconds with a fraction, as nanoseconds; 0: not a number. Not by strtod, which depends on the
 * program's locale. */
static int64_t parse_seconds(const char *text)
{
    int64_t ns = 0, unit = LEAT_S;
    bool fraction = false;
    for (; *text && ns <= LONGEST_TRACE * LEAT_S; text++) {
        if (*text == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            return 0;
        if (fraction)
            unit /= 10;
        ns = fraction ? ns + (*text - '0') * unit : 10 * ns + (*text - '0') * LEAT_S;
    }
    return ns <= LONGEST_TRACE * LEAT_S ? ns : 0;
}

static int64_t record(struct lt_answer *to, const struct request *request)
{
    char value[32] = "2";
    query_of(request, "seconds", value, sizeof value);
    int64_t ns = parse_seconds(value);
    int error = ns ? lt_trace_record() : 0;
    if (!ns)
        lt_answer_status(to, 400);
    else if (error)
        put_error(to, error);
    return error ? 0 : ns;
}

/* ---- choosing the answer ---- */

static bool wants_stacks(const struct request *request)
{
    char value[8];
    return query_of(request, "stacks", value, sizeof value) && strcmp(value, "1") == 0;
}

/* 0, or the status with which the request is refused. */
static int refusal(const struct lt_asker *asker, const struct request *request)
{
    char token[LONGEST_TOKEN] = "";
    const char *given = request->token ? request->token : token;
    if (request->cross_site)
        return 403;
    if (!asker->token)
        return asker->stranger || !is_for_loopback(request) ? 403 : 0;
    query_of(request, "token", token, sizeof token);
    return token_is(given, asker->token) ? 0 : 401;
}

int64_t lt_answer(struct lt_answer *to, const struct lt_asker *asker, char *head, size_t n)
{
    struct request request;
    int status = parse(&request, head, n);
    if (!status)
        status = refusal(asker, &request);
    const struct route *route = routes;
    while (!status && route < routes + ROUTES && strcmp(request.path, route->path) != 0)
        route++;
    if (status || route == routes + ROUTES)
        lt_answer_status(to, status ? status : 404);
    else if (route == &routes[TRACE])
        return record(to, &request);
    else
        follow(route == &routes[JSON] && wants_stacks(&request) ? &with_stacks : route, to);
    return 0;
}
