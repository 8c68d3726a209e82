/* link_stage.h: a test of stages over an engine, which takes the far ends' part, or the near end's,
 * by requests of its own. */
#pragma once

#include "link_engine.h"

static struct test_engine engine;
static redisContext *own; /* the test's connection */
static _Atomic int away;  /* how often "is away" was reported */

static inline void count_away(void *arg, const char *message)
{
    (void)arg;
    if (strstr(message, " is away"))
        atomic_fetch_add(&away, 1);
}

/* Long enough for what comes soon, unless it never comes. */
static inline int64_t a_minute(void)
{
    return leat_after(60 * LEAT_S);
}

static inline redisReply *ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline redisReply *ask(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = redisvCommand(own, format, values);
    va_end(values);
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    return reply;
}

static inline void done(redisReply *reply)
{
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* A number that the engine has of a run of the stage "s". */
static inline long long field(const char *run, const char *name)
{
    redisReply *reply = ask("HGET leat:{s}:%s:run %s", run, name);
    long long value = reply->type == REDIS_REPLY_STRING ? atoll(reply->str) : 0;
    freeReplyObject(reply);
    return value;
}

static inline void receive(leat_chan *out)
{
    CHECK_IS(0, leat_recv_until(out, &(int){ 0 }, a_minute()));
}

static inline void cancel_and_close(leat_scope *scope)
{
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
}

static inline void on_workers(leat_fn *body)
{
    CHECK_IS(0, leat_main_with(body, NULL, &(leat_options){ .workers = 2 }));
}

/* Runs the tests; with an argument, those of that name, which may have a *. Returns what main does.
 */
#define RUN_WITH_ENGINE(tests, argc, argv) \
    (stage_begin(argc, argv) ? stage_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77)

static inline bool stage_begin(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    bool there = engine_start(&engine);
    own = there ? engine_ask(&engine) : NULL;
    return there;
}

static inline int stage_end(int failed)
{
    redisFree(own);
    engine_stop(&engine);
    return failed;
}
