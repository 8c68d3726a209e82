/* link_liar.h: an engine that greets as a Redis does, and then lies. It runs in a task of the test,
 * at a socket in its own folder. Each connection has its own chance, from the liar's seed. */
#pragma once

#include "support.h"

#include "src/engine.h"

#include <leat/link.h>
#include <unistd.h>

struct liar;
struct liar_line;

/* Answers a request that is no greeting. Not 0: the connection ends. */
typedef int liar_fn(struct liar_line *line, const redisReply *request);

struct liar {
    char folder[32], path[64], url[96];
    uint64_t seed;
    liar_fn *answer;
    leat_io *listener;
    _Atomic int requests; /* that were no greeting */
    _Atomic int lines;    /* connections so far */
    _Atomic bool honest;  /* it ends each connection after its greeting */
    int (*greet)(struct liar_line *line, const redisReply *request); /* NULL: as a Redis does */
};

/* A connection, and what is to be written to it. */
struct liar_line {
    struct liar *liar;
    leat_io *io;
    uint64_t chance;
    int scripts; /* that it has loaded */
    struct lk_request out;
};

__attribute__((format(printf, 2, 3))) static inline void say(struct liar_line *line,
                                                             const char *format, ...)
{
    char text[600];
    va_list values;
    va_start(values, format);
    int n = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    CHECK(n >= 0 && (size_t)n < sizeof text);
    lk_request_raw(&line->out, text, (size_t)n);
}

static inline void say_bulk(struct liar_line *line, const char *text, size_t n)
{
    lk_request_word(&line->out, text, n);
}

static inline bool asks(const redisReply *request, const char *command)
{
    return strcasecmp(request->element[0]->str, command) == 0;
}

/* Answers as a Redis would: true if this was a greeting. The "digest" of a script is its number. */
static inline bool greeted(struct liar_line *line, const redisReply *request)
{
    if (asks(request, "AUTH") || asks(request, "SELECT"))
        say(line, "+OK\r\n");
    else if (asks(request, "INFO"))
        say_bulk(line, "redis_version:7.0.1", 19);
    else if (asks(request, "CONFIG"))
        say(line, "*2\r\n$4\r\nname\r\n%s\r\n",
            strstr(request->element[2]->str, "policy") ? "$10\r\nnoeviction" : "$3\r\nyes");
    else if (asks(request, "SCRIPT"))
        say(line, "$40\r\n%040d\r\n", line->scripts++);
    else
        return false;
    return true;
}

/* Which script is called, or -1. */
static inline int script_of(const redisReply *request)
{
    return asks(request, "EVALSHA") ? atoi(request->element[1]->str) : -1;
}

static inline int liar_answer(struct liar_line *line, const redisReply *request)
{
    struct liar *liar = line->liar;
    if (liar->greet ? liar->greet(line, request) : greeted(line, request))
        return 0;
    if (atomic_load(&liar->honest))
        return -1;
    atomic_fetch_add(&liar->requests, 1);
    return liar->answer(line, request);
}

/* Writes what there is to say. */
static inline int liar_speak(struct liar_line *line)
{
    int64_t n =
        line->out.bytes.size ? leat_write(line->io, line->out.bytes.data, line->out.bytes.size) : 0;
    bool whole = n == (int64_t)line->out.bytes.size;
    lk_request_empty(&line->out);
    return whole ? 0 : -1;
}

static inline int liar_serve(leat_io *io, void *arg)
{
    struct liar *liar = arg;
    struct liar_line line = { .liar = liar, .io = io };
    line.chance = liar->seed + (uint64_t)atomic_fetch_add(&liar->lines, 1) * 7919;
    redisReader *reader = redisReaderCreate();
    char bytes[4096];
    int64_t n;
    int end = 0;
    while (!end && (n = leat_read(io, bytes, sizeof bytes)) > 0) {
        CHECK_IS(REDIS_OK, redisReaderFeed(reader, bytes, (size_t)n));
        for (void *got = NULL; !end; freeReplyObject(got)) {
            CHECK_IS(REDIS_OK, redisReaderGetReply(reader, &got));
            if (!got)
                break;
            end = liar_answer(&line, got);
        }
        if (liar_speak(&line))
            break;
    }
    redisReaderFree(reader);
    lk_request_free(&line.out);
    return 0;
}

static inline int liar_run(void *arg)
{
    struct liar *liar = arg;
    leat_serve(liar->listener, liar_serve, liar, &(leat_serve_options){ .grace = LEAT_MS });
    return 0;
}

/* In a scope of the test's, which is cancelled in the end. */
static inline void liar_start(struct liar *liar, leat_scope *scope, liar_fn *answer, uint64_t seed)
{
    char address[80];
    strcpy(liar->folder, "/tmp/leat-liar-XXXXXX");
    CHECK(mkdtemp(liar->folder));
    snprintf(liar->path, sizeof liar->path, "%s/socket", liar->folder);
    snprintf(liar->url, sizeof liar->url, "redis+unix:%s", liar->path);
    snprintf(address, sizeof address, "unix:%s", liar->path);
    liar->answer = answer;
    liar->seed = seed;
    CHECK_IS(0, leat_listen(scope, address, 0, &liar->listener));
    CHECK_IS(0, leat_go(scope, liar_run, liar));
}

static inline void liar_end(const struct liar *liar)
{
    unlink(liar->path);
    rmdir(liar->folder);
}
