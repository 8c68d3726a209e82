#define _GNU_SOURCE /* open_memstream */
#include "look/answer.h"

#include "watch/tell.h"
#include "watch/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TRACE = 60 };

/* ---- the parts of an answer ---- */

static const struct status {
    int number;
    const char *reason, *line; /* what is told to the user */
} statuses[] = {
    { 200, "OK", "" },
    { 400, "Bad Request", "the request is none that a look knows; a trace has 0.1 to 60 seconds" },
    { 401, "Unauthorized", "the token is missing or wrong" },
    { 403, "Forbidden", "asked by another user, or by way of another site" },
    { 404, "Not Found", "there are /, /json, /dump, /graph and /trace" },
    { 405, "Method Not Allowed", "a look only answers GET" },
    { 409, "Conflict", "a trace is being recorded already" },
    { 503, "Service Unavailable", "the runtime is starting or stopping" },
    { 500, "Internal Server Error", "no memory" }, /* the last: for all others */
};

static const struct status *find_status(int number)
{
    const struct status *status = statuses;
    while (status->number != number && status->number != 500)
        status++;
    return status;
}

/* `file`: what a browser saves it as; or NULL. */
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

typedef int writes(FILE *body, const struct lt_request *request);

static int write_page(FILE *body, const struct lt_request *request)
{
    (void)request;
    fwrite(lt_page, 1, (size_t)(lt_page_end - lt_page), body);
    return 0;
}

/* Call stacks come from this address on in the thread that looks; it runs no task, so none does. */
static const void *caller(void)
{
    return lt_frames_wanted() ? __builtin_return_address(0) : NULL;
}

static int write_document(FILE *body, const struct lt_request *request)
{
    char value[8];
    bool stacks = lt_request_query(request, "stacks", value, sizeof value) && !strcmp(value, "1");
    return lt_document(body, stacks ? caller() : NULL);
}

static int look_at_all(FILE *body, const void *stacks,
                       void (*tell)(FILE *to, const struct lt_look *look))
{
    struct lt_look look;
    int error = lt_look_begin(&look, stacks, NULL);
    if (error)
        return error;
    tell(body, &look);
    lt_look_end(&look);
    return 0;
}

static int write_dump(FILE *body, const struct lt_request *request)
{
    (void)request;
    return look_at_all(body, caller(), lt_tell);
}

static int write_graph(FILE *body, const struct lt_request *request)
{
    (void)request;
    return look_at_all(body, NULL, lt_draw);
}

static int write_trace(FILE *body, const struct lt_request *request)
{
    (void)request;
    return lt_trace_end_record(body);
}

static const struct route {
    const char *path, *type, *file;
    writes *write;
} routes[] = { { "/", "text/html", NULL, write_page },
               { "/json", "application/json", NULL, write_document },
               { "/dump", "text/plain", "dump.txt", write_dump },
               { "/graph", "text/plain", "graph.dot", write_graph },
               { "/trace", "application/json", "trace.json", write_trace } };

enum { ROUTES = sizeof routes / sizeof *routes, TRACE = ROUTES - 1 };

static void follow(const struct route *route, struct lt_answer *to,
                   const struct lt_request *request)
{
    char *bytes = NULL;
    size_t n = 0;
    int saved = errno;
    FILE *body = open_memstream(&bytes, &n);
    int error = body ? route->write(body, request) : -ENOMEM;
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
    follow(&routes[TRACE], to, NULL);
}

/* Seconds with a fraction, as nanoseconds; 0: they are none. Not by strtod, which goes by the
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

static int64_t record(struct lt_answer *to, const struct lt_request *request)
{
    char value[32] = "2";
    lt_request_query(request, "seconds", value, sizeof value);
    int64_t ns = parse_seconds(value);
    int error = ns ? lt_trace_record() : 0;
    if (!ns)
        lt_answer_status(to, 400);
    else if (error)
        put_error(to, error);
    return error ? 0 : ns;
}

/* ---- which one ---- */

/* 0, or the status with which the asker is refused. */
static int refusal(const struct lt_asker *asker, const struct lt_request *request)
{
    char token[256] = "";
    if (request->cross_site)
        return 403;
    if (!asker->token)
        return asker->stranger || !lt_request_is_for_loopback(request) ? 403 : 0;
    if (request->token)
        return lt_token_is(request->token, asker->token) ? 0 : 401;
    lt_request_query(request, "token", token, sizeof token);
    return lt_token_is(token, asker->token) ? 0 : 401;
}

int64_t lt_answer(struct lt_answer *to, const struct lt_asker *asker,
                  const struct lt_request *request)
{
    int status = refusal(asker, request);
    const struct route *route = routes;
    while (route < routes + ROUTES && strcmp(request->path, route->path) != 0)
        route++;
    if (status || route == routes + ROUTES)
        lt_answer_status(to, status ? status : 404);
    else if (route == &routes[TRACE])
        return record(to, request);
    else
        follow(route, to, request);
    return 0;
}
