/* raw.c: the same work as leat.c, by a program that drives the engine itself, in the plainest way
 * that is fast: a stream of items with a consumer group, a stream of results, one script that
 * acknowledges and stores a batch. It has no window, no bound n, no order and no leases, and does
 * not survive the loss of a connection.
 *
 *     raw setup PORT
 *     raw publish PORT ITEMS BATCH     raw work PORT NAME BATCH     raw collect PORT ITEMS
 *     raw turn PORT ITEMS              one item there and back at a time */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 100, BATCH_MOST = 1000 };

static redisContext *engine;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static redisReply *must(redisReply *reply)
{
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "raw: %s\n", reply ? reply->str : engine->errstr);
        exit(1);
    }
    return reply;
}

static redisReply *next_reply(void)
{
    void *reply = NULL;
    redisGetReply(engine, &reply);
    return must(reply);
}

static void ask(const char *request)
{
    freeReplyObject(must(redisCommand(engine, request)));
}

static void publish(long first, long n)
{
    static const char item[SIZE];
    for (long i = first; i < first + n; i++)
        redisAppendCommand(engine, "XADD work %ld-1 d %b", i + 1, item, (size_t)SIZE);
    while (n--)
        freeReplyObject(next_reply());
}

static const redisReply *entries_of(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY ? reply->element[0]->element[1] : NULL;
}

/* Gives each item of a batch back. */
static void answer(const redisReply *entries)
{
    static const char script[] =
        "for i=1,#ARGV,2 do if redis.call('XACK','work','g',ARGV[i])==1 then "
        "redis.call('XADD','results','*','i',ARGV[i],'d',ARGV[i+1]) "
        "redis.call('XDEL','work',ARGV[i]) end end return 0";
    static const char *words[3 + 2 * BATCH_MOST] = { "EVAL", script, "0" };
    static size_t sizes[3 + 2 * BATCH_MOST] = { 4, sizeof script - 1, 1 };
    size_t n = 3;
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *id = entries->element[i]->element[0];
        const redisReply *bytes = entries->element[i]->element[1]->element[1];
        words[n] = id->str;
        sizes[n++] = id->len;
        words[n] = bytes->str;
        sizes[n++] = bytes->len;
    }
    freeReplyObject(must(redisCommandArgv(engine, (int)n, words, sizes)));
}

/* Until it is killed. */
static void work(const char *name, int batch)
{
    for (;;) {
        redisReply *reply = must(redisCommand(
            engine, "XREADGROUP GROUP g %s COUNT %d BLOCK 0 STREAMS work >", name, batch));
        if (entries_of(reply))
            answer(entries_of(reply));
        freeReplyObject(reply);
    }
}

static void collect_next(char *last, size_t size, long *n)
{
    redisReply *reply =
        must(redisCommand(engine, "XREAD COUNT 256 BLOCK 0 STREAMS results %s", last));
    const redisReply *entries = entries_of(reply);
    for (size_t i = 0; entries && i < entries->elements; i++, ++*n)
        snprintf(last, size, "%s", entries->element[i]->element[0]->str);
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    if (argc < 3 || !(engine = redisConnect("127.0.0.1", atoi(argv[2]))) || engine->err)
        return 2;
    long items = argc > 3 ? atol(argv[3]) : 0, n = 0;
    char last[64] = "0";
    double begun = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (strcmp(argv[1], "setup") == 0) {
        ask("FLUSHALL");
        ask("XGROUP CREATE work g 0 MKSTREAM");
    } else if (strcmp(argv[1], "publish") == 0) {
        for (long batch = atol(argv[4]); n < items; n += batch)
            publish(n, batch < items - n ? batch : items - n);
    } else if (strcmp(argv[1], "work") == 0) {
        work(argv[3], atoi(argv[4]));
    } else if (strcmp(argv[1], "collect") == 0) {
        while (n < items)
            collect_next(last, sizeof last, &n);
    } else {
        while (n < items) {
            publish(n, 1);
            collect_next(last, sizeof last, &n);
        }
    }
    printf("SAMPLE\t%ld\t%f\t%f\n", items, seconds(CLOCK_MONOTONIC) - begun,
           seconds(CLOCK_PROCESS_CPUTIME_ID) - used);
    return 0;
}
