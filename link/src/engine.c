#define _GNU_SOURCE
#include "engine.h"

#include <leat/leat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAUSE (50 * LEAT_MS)
#define LONGEST_PAUSE (2 * LEAT_S)
#define CONNECT_TIME (5 * LEAT_S)

enum { PARTS_MOST = 1 << 20 };

void lk_engine_init(struct lk_engine *engine, const leat_link *link)
{
    memset(engine, 0, offsetof(struct lk_engine, bytes)); /* the buffer is large */
    engine->link = link;
    pthread_mutex_init(&engine->lock, NULL);
}

void lk_engine_leave(struct lk_engine *engine)
{
    lk_lock(&engine->lock);
    struct lk_line line = engine->line;
    engine->line = (struct lk_line){ 0 };
    pthread_mutex_unlock(&engine->lock);
    lk_line_close(&line);
    if (engine->reader)
        redisReaderFree(engine->reader);
    engine->reader = NULL;
}

void lk_engine_free(struct lk_engine *engine)
{
    lk_engine_leave(engine);
    lk_request_free(&engine->request);
    pthread_mutex_destroy(&engine->lock);
}

void lk_engine_shut(struct lk_engine *engine)
{
    lk_lock(&engine->lock);
    engine->shut = true;
    lk_line_shut(&engine->line);
    if (engine->connecting)
        leat_scope_cancel(engine->connecting);
    pthread_mutex_unlock(&engine->lock);
}

static bool is_shut(struct lk_engine *engine)
{
    lk_lock(&engine->lock);
    bool shut = engine->shut;
    pthread_mutex_unlock(&engine->lock);
    return shut;
}

/* ---- replies ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Within a script, an engine before 7.0 puts the reason behind other words: "ERR Error running
 * script (call to f_…): @user_script:9: @user_script: 9: -OOM command not allowed …". */
static const char *reason_of(const char *text)
{
    const char *reason = text;
    if (begins(text, "ERR Error running script"))
        for (const char *at = text; (at = strstr(at, ": -")); at += 3)
            reason = at + 3;
    return reason;
}

/* Hides the password: some services repeat a command that they do not know. */
static const char *without_password(const struct lk_engine *engine, const char *text)
{
    const char *password = engine->link->url.password;
    return password && *password && strstr(text, password) ? "(a text with the password)" : text;
}

/* An engine's texts are ASCII: another byte, such as 0x9b, could be a command to a terminal. */
static const char *cleaned(char *text)
{
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
    return text;
}

/* What an engine's error means. */
static int error_of(struct lk_engine *engine, const char *text)
{
    static const char *const later[] = { "LOADING",
                                         "BUSY",
                                         "TRYAGAIN",
                                         "MASTERDOWN",
                                         "READONLY",
                                         "OOM",
                                         "CLUSTERDOWN",
                                         "MISCONF",
                                         "NOREPLICAS",
                                         "NOSCRIPT",
                                         "UNKILLABLE",
                                         "UNBLOCKED",
                                         "ERR max number of clients" };
    static const char *const denied[] = { "NOAUTH", "WRONGPASS", "NOPERM", "ERR invalid password" };
    if (begins(text, "STALE"))
        return -ESTALE;
    text = without_password(engine, reason_of(text));
    if (begins(text, "LOST")) {
        lk_report(engine->link, "the engine at %s: %s", engine->link->url.address, text);
        return -EIO;
    }
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (begins(text, later[i])) {
            snprintf(engine->why, sizeof engine->why, "%s", text);
            return -EAGAIN;
        }
    lk_report(engine->link, "the engine at %s: %s", engine->link->url.address, text);
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        if (begins(text, denied[i]))
            return -EACCES;
    return -EPROTO;
}

static int read_more(struct lk_engine *engine, int64_t deadline)
{
    int64_t n = lk_line_read(&engine->line, engine->bytes, sizeof engine->bytes, deadline);
    if (n <= 0)
        return is_shut(engine) ? -ESHUTDOWN : n ? (int)n : -ECONNRESET;
    engine->received += (size_t)n;
    if (engine->received > LK_REPLY_MOST)
        return -EMSGSIZE;
    return redisReaderFeed(engine->reader, engine->bytes, (size_t)n) == REDIS_OK ? 0 : -ENOMEM;
}

int lk_engine_reply(struct lk_engine *engine, redisReply **reply, int64_t deadline)
{
    void *got = NULL;
    if (!engine->line.io)
        return -ENOTCONN;
    for (;;) {
        if (redisReaderGetReply(engine->reader, &got) != REDIS_OK) {
            bool no_memory = engine->reader->err == REDIS_ERR_OOM && !engine->refused;
            int error = no_memory ? -ENOMEM : -EPROTO;
            lk_report(engine->link, "the engine at %s: %s", engine->link->url.address,
                      engine->reader->errstr);
            return error;
        }
        if (got)
            break;
        int error = read_more(engine, deadline);
        if (error)
            return error;
        int64_t more = engine->greeted ? leat_after(engine->link->lease) : deadline;
        if (more > deadline)
            deadline = more;
    }
    engine->reply_size = engine->received;
    engine->received = engine->parts = 0;
    *reply = got;
    if ((*reply)->type != REDIS_REPLY_ERROR)
        return 0;
    int error = error_of(engine, cleaned((*reply)->str));
    freeReplyObject(*reply);
    return error;
}

bool lk_engine_has_more(const struct lk_engine *engine)
{
    return engine->reader && engine->reader->pos < engine->reader->len;
}

int lk_engine_send(struct lk_engine *engine)
{
    struct lk_request *request = &engine->request;
    if (request->failed)
        return -ENOMEM;
    if (!engine->line.io)
        return -ENOTCONN;
    if (!request->bytes.size)
        return 0;
    int64_t n = 0;
    for (size_t done = 0; n >= 0 && done<request->bytes.size; done += n> 0 ? (size_t)n : 0)
        n = lk_line_write(&engine->line, request->bytes.data + done, request->bytes.size - done,
                          leat_after(engine->link->lease + CONNECT_TIME));
    lk_request_empty(request);
    return n >= 0 ? 0 : is_shut(engine) ? -ESHUTDOWN : (int)n;
}

int lk_engine_ask(struct lk_engine *engine, redisReply **reply, int64_t deadline)
{
    int error = lk_engine_send(engine);
    return error ? error : lk_engine_reply(engine, reply, deadline);
}

int lk_engine_expect_number(struct lk_engine *engine)
{
    redisReply *reply;
    int error = lk_engine_reply(engine, &reply, leat_after(engine->link->lease));
    if (error)
        return error;
    error = reply->type == REDIS_REPLY_INTEGER ? 0 : -EPROTO;
    freeReplyObject(reply);
    return error;
}

void lk_engine_call(struct lk_engine *engine, enum lk_script script, const struct lk_keys *keys,
                    size_t n)
{
    lk_request_begin(&engine->request, 3 + 9 + n);
    lk_request_word(&engine->request, "EVALSHA", 7);
    lk_request_word(&engine->request, engine->sha[script], 40);
    lk_request_word(&engine->request, "9", 1);
    lk_request_raw(&engine->request, keys->words.bytes.data, keys->words.bytes.size);
}

/* ---- connecting ---- */

static void *make_array(const redisReadTask *task, lk_elements n)
{
    struct lk_engine *engine = task->privdata;
    engine->parts += (size_t)n;
    engine->refused = engine->parts > PARTS_MOST;
    return engine->refused ? NULL : engine->array(task, n);
}

static redisReader *make_reader(struct lk_engine *engine)
{
    redisReader *reader = redisReaderCreate();
    engine->received = engine->parts = 0;
    engine->refused = engine->greeted = false;
    if (!reader)
        return NULL;
    engine->functions = *reader->fn;
    engine->array = engine->functions.createArray;
    engine->functions.createArray = make_array;
    reader->fn = &engine->functions;
    reader->privdata = engine;
    return reader;
}

static int expect(struct lk_engine *engine, int64_t deadline)
{
    redisReply *reply;
    int error = lk_engine_ask(engine, &reply, deadline);
    if (!error)
        freeReplyObject(reply);
    return error;
}

static int log_in(struct lk_engine *engine, int64_t deadline)
{
    const struct lk_url *url = &engine->link->url;
    int error = 0;
    if (url->user || url->password) {
        const char *password = url->password ? url->password : "";
        if (url->user)
            lk_request_texts(&engine->request, "AUTH", url->user, password, NULL);
        else
            lk_request_texts(&engine->request, "AUTH", password, NULL);
        error = expect(engine, deadline);
        if (error == -EPROTO) /* "ERR AUTH … without any password configured" */
            error = -EACCES;
    }
    if (!error && url->database) {
        lk_request_texts(&engine->request, "SELECT", url->database, NULL);
        error = expect(engine, deadline);
        if (error == -EPROTO) /* "ERR DB index is out of range" */
            error = -EINVAL;
    }
    return error;
}

static int check_version(struct lk_engine *engine, int64_t deadline)
{
    redisReply *reply;
    int major = 0, minor = 0;
    lk_request_texts(&engine->request, "INFO", "server", NULL);
    int error = lk_engine_ask(engine, &reply, deadline);
    if (error)
        return error;
    const char *at =
        reply->type == REDIS_REPLY_STRING ? strstr(reply->str, "redis_version:") : NULL;
    if (at) {
        char *end;
        major = (int)strtol(at + strlen("redis_version:"), &end, 10);
        minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
    }
    freeReplyObject(reply);
    if (!at)
        return -EPROTO;
    if (major > 6 || (major == 6 && minor >= 2))
        return 0;
    lk_report(engine->link, "the engine at %s has version %d.%d; leat needs 6.2 or later",
              engine->link->url.address, major, minor);
    return -ENOTSUP;
}

/* A setting, the value that it must have or must not have, and why. */
static const struct setting {
    const char *name, *value;
    bool must;
    const char *reason;
} settings[] = {
    { "appendonly", "yes", true, "a restart would lose everything" },
    { "appendfsync", "no", false, "a loss of power would lose what was answered" },
    { "maxmemory-policy", "noeviction", true,
      "it would remove items or results when its memory is full" },
};

static int check_setting(struct lk_engine *engine, const struct setting *setting, int64_t deadline)
{
    redisReply *reply;
    lk_request_texts(&engine->request, "CONFIG", "GET", setting->name, NULL);
    int error = lk_engine_ask(engine, &reply, deadline);
    if (error == -EACCES || error == -EPROTO) {
        lk_report(engine->link,
                  "the engine at %s refuses to show its settings, so leat does not know whether it "
                  "may lose items",
                  engine->link->url.address);
        return -ENOTSUP;
    }
    if (error)
        return error;
    bool known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[1]->type == REDIS_REPLY_STRING;
    const char *value = known ? cleaned(reply->element[1]->str) : "unknown";
    if (!known || setting->must != (strcmp(value, setting->value) == 0)) {
        lk_report(engine->link, "the engine at %s has the setting %s %s: %s",
                  engine->link->url.address, setting->name, value, setting->reason);
        error = -ENOTSUP;
    }
    freeReplyObject(reply);
    return error;
}

static int load_script(struct lk_engine *engine, enum lk_script script, int64_t deadline)
{
    redisReply *reply;
    char *whole;
    if (asprintf(&whole, "%s%s", lk_script_common, lk_script_text(script)) < 0)
        return -ENOMEM;
    lk_request_texts(&engine->request, "SCRIPT", "LOAD", whole, NULL);
    free(whole);
    int error = lk_engine_ask(engine, &reply, deadline);
    if (error)
        return error;
    if (reply->type == REDIS_REPLY_STRING && reply->len == 40)
        memcpy(engine->sha[script], reply->str, 41);
    else
        error = -EPROTO;
    freeReplyObject(reply);
    return error;
}

static int greet(struct lk_engine *engine, int64_t deadline)
{
    int error = log_in(engine, deadline);
    error = error ? error : check_version(engine, deadline);
    for (size_t i = 0; !error && !engine->link->trust && i < sizeof settings / sizeof *settings;
         i++)
        error = check_setting(engine, &settings[i], deadline);
    for (int i = 0; !error && i < LK_SCRIPTS; i++)
        error = load_script(engine, (enum lk_script)i, deadline);
    return error;
}

static bool set_connecting(struct lk_engine *engine, leat_scope *scope)
{
    lk_lock(&engine->lock);
    engine->connecting = scope;
    bool shut = engine->shut;
    pthread_mutex_unlock(&engine->lock);
    return shut;
}

/* Connects in a scope of its own, which lk_engine_shut cancels; without memory for it, until the
 * deadline. */
static int reach(struct lk_engine *engine, struct lk_line *line, int64_t deadline)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    bool shut = set_connecting(engine, scope);
    int error = shut ? -ESHUTDOWN : lk_line_open(line, engine->link, deadline);
    shut = set_connecting(engine, NULL);
    if (scope)
        leat_scope_close(scope);
    return error && shut ? -ESHUTDOWN : error;
}

int lk_engine_connect(struct lk_engine *engine, int64_t deadline)
{
    struct lk_line line;
    lk_engine_leave(engine);
    int error = reach(engine, &line, deadline);
    if (error)
        return error;
    lk_lock(&engine->lock);
    engine->line = line;
    bool shut = engine->shut;
    pthread_mutex_unlock(&engine->lock);
    engine->reader = make_reader(engine);
    lk_request_empty(&engine->request);
    error = shut ? -ESHUTDOWN : engine->reader ? greet(engine, deadline) : -ENOMEM;
    engine->greeted = !error;
    if (error)
        lk_engine_leave(engine);
    return error;
}

/* ---- coming back ---- */

bool lk_engine_may_return(int error)
{
    switch (error) {
    case -EACCES:
    case -ENOTSUP:
    case -EPROTO:
    case -EINVAL:
    case -ENOMEM:
    case -ESTALE:
    case -EIO:
    case -ESHUTDOWN:
    case -ECANCELED:
    case -EDEADLK:
    case -ENAMETOOLONG: return false;
    default: return true;
    }
}

static int pause_for(int64_t pause, leat_chan *stop)
{
    int error = stop ? leat_recv_until(stop, NULL, leat_after(pause)) : leat_sleep(pause);
    return error == -EPIPE ? -ESHUTDOWN : error == -ETIMEDOUT ? 0 : error;
}

static void report_away(const struct lk_engine *engine, int error)
{
    lk_report(engine->link, "the engine at %s is away: %s", engine->link->url.address,
              error == -EAGAIN && engine->why[0] ? engine->why : strerror(-error));
}

/* A connection on which no request succeeds does not end the absence: the pauses go on growing. */
int lk_engine_return(struct lk_engine *engine, leat_chan *stop)
{
    const leat_link *link = engine->link;
    int error = engine->away_since ? -EAGAIN : 0; /* it came back, and no request succeeded */
    if (!engine->away_since) {
        engine->away_since = leat_now();
        engine->pause = FIRST_PAUSE;
    }
    for (;;) {
        int64_t away = leat_now() - engine->away_since;
        if (error && link->away != LEAT_NEVER && away >= link->away) {
            report_away(engine, error);
            return -EHOSTDOWN;
        }
        if (error && !engine->reported && away >= LEAT_S) {
            report_away(engine, error);
            engine->reported = true;
        }
        if (error) {
            int64_t pause = engine->pause;
            engine->pause = lk_earlier(2 * pause, LONGEST_PAUSE);
            if (link->away != LEAT_NEVER)
                pause = lk_earlier(pause, link->away - away);
            int stopped = pause_for(pause, stop);
            if (stopped)
                return stopped;
        }
        error = is_shut(engine) ? -ESHUTDOWN : lk_engine_connect(engine, leat_after(CONNECT_TIME));
        if (!error || !lk_engine_may_return(error))
            return error;
    }
}

void lk_engine_is_there(struct lk_engine *engine)
{
    engine->away_since = 0;
    if (engine->reported)
        lk_report(engine->link, "the engine at %s is there again", engine->link->url.address);
    engine->reported = false;
}
