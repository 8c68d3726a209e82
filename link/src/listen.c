#include "far.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int subscribe(struct lk_far *far)
{
    char own[LK_CHANNEL + 1 + LK_FAR_ID];
    snprintf(own, sizeof own, "%s:%s", far->keys.channel, far->id);
    lk_request_texts(&far->listener.request, "SUBSCRIBE", far->keys.channel, own, NULL);
    return lk_engine_send(&far->listener);
}

static bool is(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

/* The far end's own channel ends with its id. */
static bool is_own(const struct lk_far *far, const redisReply *channel)
{
    size_t n = strlen(far->id);
    return channel->type == REDIS_REPLY_STRING && (size_t)channel->len > n &&
           strcmp(channel->str + channel->len - n, far->id) == 0;
}

/* Reads up to the next space, or the end. False: the word is too long. */
static bool read_word(const char **at, const char *end, char *to, size_t room)
{
    const char *space = memchr(*at, ' ', (size_t)(end - *at));
    size_t n = (size_t)((space ? space : end) - *at);
    if (n >= room)
        return false;
    memcpy(to, *at, n);
    to[n] = '\0';
    *at = space ? space + 1 : end;
    return true;
}

/* "run", or "run number index bytes". 1: there is news; 0: none; or an error. */
static int read_message(const redisReply *text, struct lk_news *news)
{
    const char *at = text->str, *end = at + text->len;
    char number[12];
    if (!read_word(&at, end, news->run, sizeof news->run) || !lk_is_name(news->run))
        return 0;
    if (at == end)
        return 1;
    if (!read_word(&at, end, number, sizeof number) ||
        !read_word(&at, end, news->index, sizeof news->index) ||
        !lk_is_number(number, sizeof number) || !lk_is_number(news->index, LK_INDEX))
        return -EPROTO;
    news->number = (unsigned)strtoul(number, NULL, 10);
    news->size = (size_t)(end - at);
    news->data = malloc(news->size + 1);
    if (!news->data)
        return -ENOMEM;
    memcpy(news->data, at, news->size);
    return 1;
}

/* ["message", channel, text], or another kind of reply, which is no news. */
static int read_news(const struct lk_far *far, const redisReply *reply, struct lk_news *news)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return -EPROTO;
    if (is(reply->element[0], "subscribe"))
        return 1;
    if (reply->elements != 3 || !is(reply->element[0], "message") ||
        reply->element[2]->type != REDIS_REPLY_STRING)
        return 0;
    news->is_own = is_own(far, reply->element[1]);
    return read_message(reply->element[2], news);
}

/* A silent connection may be dead: asks for a reply. */
static int receive(struct lk_far *far, redisReply **reply)
{
    struct lk_engine *engine = &far->listener;
    int error = lk_engine_reply(engine, reply, leat_after(far->link->lease));
    if (error != -ETIMEDOUT)
        return error;
    lk_request_texts(&engine->request, "PING", NULL);
    return lk_engine_ask(engine, reply, leat_after(far->link->lease));
}

/* Waits for news, and passes on all that has come. 0 or an error. */
static int pass_on(struct lk_far *far)
{
    for (;;) {
        redisReply *reply;
        struct lk_news news = { 0 };
        int error = receive(far, &reply);
        if (error)
            return error;
        lk_engine_is_there(&far->listener);
        int got = read_news(far, reply, &news);
        freeReplyObject(reply);
        news.is_last = !lk_engine_has_more(&far->listener);
        error = got > 0 ? leat_send(far->bell, &news) : got;
        if (error)
            free(news.data);
        if (error || (got > 0 && news.is_last))
            return error;
    }
}

int lk_listen(void *arg)
{
    struct lk_far *far = arg;
    int error = far->listener.line.io ? pass_on(far) : -ENOTCONN;
    while (error && lk_engine_may_return(error)) {
        error = lk_engine_return(&far->listener, far->stop);
        if (error)
            break;
        error = subscribe(far);
        error = error ? error : pass_on(far);
    }
    if (!error)
        return 0;
    lk_engine_leave(&far->listener);
    /* -ESHUTDOWN: the far end stops, and reads no more news. */
    if (error != -ESHUTDOWN)
        leat_send(far->bell, &(struct lk_news){ .error = error });
    return 0;
}
