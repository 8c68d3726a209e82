#include "far.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int subscribe(struct lk_far *far)
{
    struct lk_keys keys;
    int error = lk_keys_make(&keys, far->link, far->spec.stage, "-");
    if (error)
        return error;
    lk_request_texts(&far->listener.request, "SUBSCRIBE", keys.channel, NULL);
    lk_keys_free(&keys);
    return lk_engine_send(&far->listener);
}

static bool is(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

/* ["message", channel, run], or another kind of news, which is none. */
static int pass_on(struct lk_far *far, const redisReply *reply)
{
    struct lk_news news = { 0 };
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return -EPROTO;
    if (is(reply->element[0], "subscribe"))
        return leat_send(far->bell, &news);
    if (reply->elements != 3 || !is(reply->element[0], "message") ||
        reply->element[2]->type != REDIS_REPLY_STRING || !lk_is_name(reply->element[2]->str))
        return 0;
    snprintf(news.run, sizeof news.run, "%s", reply->element[2]->str);
    return leat_send(far->bell, &news);
}

/* A connection without a word may be a dead one. */
static int hear(struct lk_far *far, redisReply **reply)
{
    struct lk_engine *engine = &far->listener;
    int error = lk_engine_reply(engine, reply, leat_after(far->link->lease));
    if (error != -ETIMEDOUT)
        return error;
    lk_request_texts(&engine->request, "PING", NULL);
    error = lk_engine_send(engine);
    return error ? error : lk_engine_reply(engine, reply, leat_after(far->link->lease));
}

static int listen_once(struct lk_far *far)
{
    int error = subscribe(far);
    while (!error) {
        redisReply *reply;
        error = hear(far, &reply);
        if (error)
            break;
        lk_engine_is_there(&far->listener);
        error = pass_on(far, reply);
        freeReplyObject(reply);
    }
    return error;
}

int lk_listen(void *arg)
{
    struct lk_far *far = arg;
    int error = lk_engine_return(&far->listener, far->stop);
    while (!error) {
        error = listen_once(far);
        if (lk_engine_may_return(error))
            error = lk_engine_return(&far->listener, far->stop);
    }
    lk_engine_leave(&far->listener);
    /* At the end the bell is closed, or nobody answers it any more. */
    if (error != -ESHUTDOWN)
        leat_send(far->bell, &(struct lk_news){ .error = error });
    return 0;
}
