#define _GNU_SOURCE /* open_memstream */
#include "look/answer.h"

#include "base/alloc.h"
#include "look/document.h"
#include "look/page.h"
#include "watch/graph.h"
#include "watch/tell.h"
#include "watch/trace.h"

#include <errno.h>
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
static void put_head(struct lt_text *to, int status, const char *type, const char *file, size_t n)
{
    lt_text_add(to,
                "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                "Referrer-Policy: no-referrer\r\n"
                "Content-Security-Policy: frame-ancestors 'none'\r\nConnection: close\r\n",
                status, find_status(status)->reason, type, n);
    if (status == 401)
        lt_text_add(to, "WWW-Authenticate: Bearer\r\n");
    if (status == 405)
        lt_text_add(to, "Allow: GET\r\n");
    if (file)
        lt_text_add(to, "Content-Disposition: attachment; filename=\"leat-%s\"\r\n", file);
    lt_text_put(to, "\r\n", 2);
}

void lt_answer_status(struct lt_text *to, int status)
{
    const char *line = find_status(status)->line;
    to->length = 0;
    put_head(to, status, "text/plain", NULL, strlen(line) + 1);
    lt_text_add(to, "%s\n", line);
}

static void put_body(struct lt_text *to, const char *type, const char *file, struct lt_text *body)
{
    put_head(to, 200, type, file, body->length);
    lt_text_put(to, body->bytes, body->length);
    to->failed |= body->failed;
    lt_text_free(body);
}

static void put_error(struct lt_text *to, int error)
{
    lt_answer_status(to, error == -EINVAL ? 503 : error == -EBUSY ? 409 : 500);
}

/* ---- the answers ---- */

typedef int64_t answers(struct lt_text *to, const struct lt_request *request);

static int64_t answer_page(struct lt_text *to, const struct lt_request *request)
{
    (void)request;
    size_t n = (size_t)(lt_page_end - lt_page);
    put_head(to, 200, "text/html", NULL, n);
    lt_text_put(to, lt_page, n);
    return 0;
}

/* Call stacks come from this address on in the thread that looks; it runs no task, so none does. */
static const void *caller(const struct lt_request *request)
{
    char value[8];
    bool wanted = lt_frames_wanted() && lt_request_query(request, "stacks", value, sizeof value) &&
                  strcmp(value, "1") == 0;
    return wanted ? __builtin_return_address(0) : NULL;
}

static int64_t answer_document(struct lt_text *to, const struct lt_request *request)
{
    struct lt_text body = { 0 };
    int error = lt_document(&body, caller(request));
    if (error) {
        lt_text_free(&body);
        put_error(to, error);
    } else {
        put_body(to, "application/json", NULL, &body);
    }
    return 0;
}

static void look_at_all(struct lt_text *to, const void *stacks, const char *file,
                        void (*tell)(struct lt_text *text, const struct lt_look *look))
{
    struct lt_look look;
    struct lt_text body = { 0 };
    int error = lt_look_begin(&look, stacks, NULL);
    if (error) {
        put_error(to, error);
        return;
    }
    tell(&body, &look);
    lt_look_end(&look);
    put_body(to, "text/plain", file, &body);
}

static int64_t answer_dump(struct lt_text *to, const struct lt_request *request)
{
    (void)request;
    look_at_all(to, lt_frames_wanted() ? __builtin_return_address(0) : NULL, "dump.txt", lt_tell);
    return 0;
}

static int64_t answer_graph(struct lt_text *to, const struct lt_request *request)
{
    (void)request;
    look_at_all(to, NULL, "graph.dot", lt_draw);
    return 0;
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

static int64_t answer_record(struct lt_text *to, const struct lt_request *request)
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

void lt_answer_trace(struct lt_text *to)
{
    struct lt_text body = { 0 };
    int saved = errno, error;
    FILE *file = open_memstream(&body.bytes, &body.length);
    error = lt_trace_end_record(file);
    bool whole = file && fclose(file) == 0;
    errno = saved;
    if (error || !whole) {
        lt_text_free(&body);
        put_error(to, -ENOMEM);
    } else {
        put_body(to, "application/json", "trace.json", &body);
    }
}

void lt_answer_no_trace(void)
{
    lt_trace_end_record(NULL);
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

int64_t lt_answer(struct lt_text *to, const struct lt_asker *asker,
                  const struct lt_request *request)
{
    static const struct {
        const char *path;
        answers *answer;
    } routes[] = { { "/", answer_page },
                   { "/json", answer_document },
                   { "/dump", answer_dump },
                   { "/graph", answer_graph },
                   { "/trace", answer_record } };
    int status = refusal(asker, request);
    for (size_t i = 0; !status && i < sizeof routes / sizeof *routes; i++)
        if (strcmp(request->path, routes[i].path) == 0)
            return routes[i].answer(to, request);
    lt_answer_status(to, status ? status : 404);
    return 0;
}
