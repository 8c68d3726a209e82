/* test_link_scripts.c: the scripts in an engine and what link_scripts.h has in C do the same: the
 * same calls, chosen by a seed, get the same replies and leave the same data. Skipped where there
 * is no redis-server.
 *
 * The engine's clock cannot be set. So leases are long, or have ended long ago, each at a time of
 * its own. */
#include "link_pair.h"

enum { ROUNDS = 40, CALLS = 150, LEASE = 1000000000, MOST_INDEX = 100 };

static const char *const far_ends[] = { "f0", "f1", "f2" };

/* ---- calls ---- */

static void begin(struct pair *pair, enum lk_script script, size_t n)
{
    lk_request_empty(&pair->link.request);
    lk_engine_call(&pair->link, script, &pair->keys, n);
}

static void add_text(struct pair *pair, const char *text)
{
    lk_request_text(&pair->link.request, text);
}

static void add_number(struct pair *pair, int64_t number)
{
    lk_request_number(&pair->link.request, number);
}

static redisReply *read_bytes(const struct lk_request *bytes)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    CHECK(reader);
    CHECK_IS(REDIS_OK, redisReaderFeed(reader, bytes->bytes.data, bytes->bytes.size));
    CHECK_IS(REDIS_OK, redisReaderGetReply(reader, &reply));
    redisReaderFree(reader);
    CHECK(reply);
    return reply;
}

static redisReply *call_script(struct pair *pair)
{
    void *reply = NULL;
    CHECK_IS(REDIS_OK, redisAppendFormattedCommand(pair->redis, pair->link.request.bytes.data,
                                                   (size_t)pair->link.request.bytes.size));
    CHECK_IS(REDIS_OK, redisGetReply(pair->redis, &reply));
    return reply;
}

static redisReply *call_double(struct pair *pair, enum lk_script script)
{
    struct lk_request out = { 0 };
    redisReply *request = read_bytes(&pair->link.request);
    const struct call call = { .engine = &pair->engine,
                               .run = pair->run,
                               .words = request->element + 12,
                               .n = request->elements - 12,
                               .reply = &out };
    run_script(&call, script);
    redisReply *reply = read_bytes(&out);
    lk_request_free(&out);
    freeReplyObject(request);
    return reply;
}

static void set_clock(struct pair *pair)
{
    redisReply *time = redisCommand(pair->redis, "TIME");
    pair->engine.us = strtoll(time->element[0]->str, NULL, 10) * 1000000 +
                      strtoll(time->element[1]->str, NULL, 10);
    freeReplyObject(time);
}

/* Whether it waits as before. */
static bool stays(const struct pair *pair, const struct waiter *waiter)
{
    char word[64];
    word_of(waiter, word);
    for (size_t i = 0; i < pair->stay->elements; i += 2)
        if (strcmp(pair->stay->element[i]->str, waiter->far_end) == 0)
            return strcmp(pair->stay->element[i + 1]->str, word) == 0;
    return false;
}

/* The last of the names is that of a far end that is gone. */
static bool is_heard(const struct engine *engine, const char *channel)
{
    (void)engine;
    return strcmp(strrchr(channel, ':') + 1, far_ends[2]) != 0;
}

/* The engine notifies far ends by chance, so the double notifies the same: the gone one, which
 * hears nothing, if the engine has come upon it, and then the one that got the next message. */
static size_t choose(const struct engine *engine, const struct run_keys *run)
{
    const struct pair *pair =
        (const struct pair *)((const char *)engine - offsetof(struct pair, engine));
    for (size_t i = 0; i < run->waiting_count; i++)
        if (strcmp(run->waiting[i].far_end, far_ends[2]) == 0 && !stays(pair, &run->waiting[i]))
            return i;
    CHECK(engine->message_count < pair->message_count);
    const char *channel = pair->messages[engine->message_count]->element[1]->str;
    size_t chosen = 0;
    while (chosen < run->waiting_count &&
           strcmp(run->waiting[chosen].far_end, strrchr(channel, ':') + 1) != 0)
        chosen++;
    CHECK(chosen < run->waiting_count);
    return chosen;
}

/* Up to a separate message, which comes after all of the call. */
static void read_messages(struct pair *pair)
{
    freeReplyObject(redisCommand(pair->redis, "PUBLISH end end"));
    for (pair->message_count = 0;; pair->message_count++) {
        void *got;
        CHECK_IS(REDIS_OK, redisGetReply(pair->listener, &got));
        redisReply *reply = got;
        CHECK_IS(3, reply->elements);
        if (strcmp(reply->element[1]->str, "end") == 0) {
            freeReplyObject(reply);
            return;
        }
        CHECK(pair->message_count < MESSAGES);
        pair->messages[pair->message_count] = reply;
    }
}

static void check_messages(struct pair *pair)
{
    CHECK_IS(pair->message_count, pair->engine.message_count);
    for (size_t i = 0; i < pair->message_count; i++) {
        redisReply *reply = pair->messages[i];
        const struct message *message = &pair->engine.messages[i];
        CHECK(strcmp(reply->element[1]->str, message->channel) == 0);
        CHECK_IS(message->size, reply->element[2]->len);
        CHECK(memcmp(reply->element[2]->str, message->text, message->size) == 0);
        freeReplyObject(reply);
    }
}

/* Calls both with the request. */
static void call_both(struct pair *pair, enum lk_script script)
{
    set_clock(pair);
    redisReply *a = call_script(pair);
    if (script == LK_OPEN && a->elements) /* the epoch comes from the engine's clock */
        pair->engine.us = a->element[0]->integer;
    pair->stay = ask(pair, "HGETALL", "waiting", NULL);
    read_messages(pair);
    redisReply *b = call_double(pair, script);
    freeReplyObject(pair->stay);
    check_same(a, b);
    freeReplyObject(a);
    freeReplyObject(b);
    check_messages(pair);
    check_all(pair);
}

/* ---- calls by chance ---- */

static int64_t some_epoch(struct pair *pair)
{
    return pair->run->epoch - (below(&pair->chance, 8) == 0);
}

static int64_t some_lease(struct pair *pair)
{
    if (below(&pair->chance, 2))
        return LEASE;
    return -1000000 * (1 + (int64_t)below(&pair->chance, 100)) - 1000 * ++pair->leases;
}

static const char *some_far_end(struct pair *pair)
{
    return far_ends[below(&pair->chance, 3)];
}

static void add_names(struct pair *pair)
{
    add_text(pair, pair->keys.channel);
    add_text(pair, "r");
}

static void call_open(struct pair *pair)
{
    begin(pair, LK_OPEN, 5);
    add_names(pair);
    add_number(pair, 1 + below(&pair->chance, 6));
    add_number(pair, 1 + below(&pair->chance, 4));
    add_number(pair, some_epoch(pair));
    call_both(pair, LK_OPEN);
}

static void call_publish(struct pair *pair)
{
    bool fails = below(&pair->chance, 6) == 0;
    unsigned n = fails ? 1 : 1 + below(&pair->chance, 5);
    int64_t first = pair->run->published + 1 - below(&pair->chance, 4);
    if (first > MOST_INDEX)
        return;
    begin(pair, LK_PUBLISH, 5 + n);
    add_names(pair);
    add_number(pair, some_epoch(pair));
    add_number(pair, first < 0 ? 0 : first);
    add_number(pair, fails ? -EDOM : 0);
    for (unsigned i = 0; i < n; i++)
        lk_request_word(&pair->link.request, "some\0bytes", below(&pair->chance, 11));
    call_both(pair, LK_PUBLISH);
}

/* An entry's name is the engine's own, so the double gets another word. */
static void call_confirm(struct pair *pair)
{
    redisReply *entries = results(pair);
    size_t at = below(&pair->chance, (unsigned)entries->elements + 1);
    bool named = at < entries->elements;
    int64_t delivered = below(&pair->chance, (unsigned)pair->run->published + 1);
    int64_t epoch = some_epoch(pair);
    int64_t given = pair->run->published + (below(&pair->chance, 8) == 0);
    char own[64] = "";
    if (named)
        snprintf(own, sizeof own, "%" PRId64 "-%" PRIu64, pair->run->entries[at].ms,
                 pair->run->entries[at].number);
    const char *const words[] = { named ? entries->element[at]->element[0]->str : "", own };
    bool reads = below(&pair->chance, 4) == 0;
    redisReply *replies[2];
    for (int i = 0; i < 2; i++) {
        begin(pair, LK_CONFIRM, reads ? 5 : 4);
        add_number(pair, epoch);
        add_number(pair, given);
        add_number(pair, delivered);
        add_text(pair, words[i]);
        if (reads)
            add_text(pair, named ? words[i] : "1-1");
        replies[i] = i ? call_double(pair, LK_CONFIRM) : call_script(pair);
    }
    check_same(replies[0], replies[1]);
    freeReplyObject(replies[0]);
    freeReplyObject(replies[1]);
    freeReplyObject(entries);
    check_all(pair);
}

static void call_finish(struct pair *pair)
{
    begin(pair, LK_FINISH, 3);
    add_number(pair, some_epoch(pair));
    add_text(pair, "r");
    add_number(pair, LEASE);
    call_both(pair, LK_FINISH);
}

static void call_forget(struct pair *pair)
{
    begin(pair, LK_FORGET, 1);
    add_text(pair, "r");
    call_both(pair, LK_FORGET);
}

static void call_take(struct pair *pair)
{
    begin(pair, LK_TAKE, 9);
    add_names(pair);
    add_text(pair, some_far_end(pair));
    add_number(pair, 1 + below(&pair->chance, 4));
    add_number(pair, some_lease(pair));
    add_number(pair, below(&pair->chance, 2));
    add_number(pair, 1 + below(&pair->chance, 24));
    add_number(pair, below(&pair->chance, 3));
    add_number(pair, below(&pair->chance, 4));
    call_both(pair, LK_TAKE);
}

/* Up to three indexes that differ. */
static unsigned some_indexes(struct pair *pair, int64_t indexes[3])
{
    unsigned n = 0, most = 1 + below(&pair->chance, 3);
    while (n < most && (int64_t)n < pair->run->published) {
        indexes[n] = below(&pair->chance, (unsigned)pair->run->published);
        if ((n < 1 || indexes[n] != indexes[0]) && (n < 2 || indexes[n] != indexes[1]))
            n++;
    }
    return n;
}

/* Only while the run is open can there be owners. A far end may have two results of an item. */
static void call_done(struct pair *pair)
{
    int64_t indexes[3];
    unsigned n = some_indexes(pair, indexes);
    if (n > 1 && below(&pair->chance, 4) == 0)
        indexes[n - 1] = indexes[0];
    if (!n || !pair->run->open)
        return;
    begin(pair, LK_DONE, 4 + 3 * n);
    add_names(pair);
    add_text(pair, some_far_end(pair));
    add_number(pair, below(&pair->chance, 2));
    for (unsigned i = 0; i < n; i++) {
        bool fails = below(&pair->chance, 3) == 0;
        add_number(pair, indexes[i]);
        add_number(pair, fails ? -EIO : 0);
        lk_request_word(&pair->link.request, "a\r\nresult", fails ? 0 : below(&pair->chance, 10));
    }
    call_both(pair, LK_DONE);
}

static void call_renew(struct pair *pair)
{
    int64_t indexes[3];
    unsigned n = some_indexes(pair, indexes);
    begin(pair, LK_RENEW, 5 + n);
    add_names(pair);
    add_text(pair, some_far_end(pair));
    add_number(pair, LEASE);
    add_number(pair, below(&pair->chance, 3) == 0);
    for (unsigned i = 0; i < n; i++)
        add_number(pair, indexes[i]);
    call_both(pair, LK_RENEW);
}

static void call_something(struct pair *pair)
{
    switch (below(&pair->chance, 16)) {
    case 0: call_open(pair); break;
    case 1: call_confirm(pair); break;
    case 2: call_renew(pair); break;
    case 3: (below(&pair->chance, 8) ? call_renew : call_finish)(pair); break;
    case 4: (below(&pair->chance, 8) ? call_confirm : call_forget)(pair); break;
    case 5:
    case 6:
    case 7: call_publish(pair); break;
    case 8:
    case 9:
    case 10:
    case 11: call_take(pair); break;
    default: call_done(pair);
    }
}

/* ---- the test ---- */

static void load_scripts(struct pair *pair)
{
    for (int i = 0; i < LK_SCRIPTS; i++) {
        redisReply *reply = redisCommand(pair->redis, "SCRIPT LOAD %s%s", lk_script_common,
                                         lk_script_text((enum lk_script)i));
        CHECK(reply && reply->type == REDIS_REPLY_STRING);
        snprintf(pair->link.sha[i], sizeof pair->link.sha[i], "%s", reply->str);
        freeReplyObject(reply);
    }
}

static struct test_engine engine;

/* Two far ends listen, and one is gone. */
static void listen_to_messages(struct pair *pair)
{
    pair->listener = engine_ask(&engine);
    pair->engine.is_heard = is_heard;
    pair->engine.choose = choose;
    const char *channel = pair->keys.channel;
    redisReply *reply = redisCommand(pair->listener, "SUBSCRIBE %s %s:%s %s:%s end", channel,
                                     channel, far_ends[0], channel, far_ends[1]);
    for (int i = 0; i < 4; i++) {
        void *next = NULL;
        CHECK(reply && reply->type == REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
        CHECK(i == 3 || redisGetReply(pair->listener, &next) == REDIS_OK);
        reply = next;
    }
}

static void both_do_the_same(void **state)
{
    static struct pair pair;
    const leat_link link = { .prefix = "t:" };
    (void)state;
    pair.chance = seed_of_test();
    pair.redis = engine_ask(&engine);
    pair.run = run_named(&pair.engine, "r");
    CHECK_IS(0, lk_keys_make(&pair.keys, &link, "s", "r"));
    load_scripts(&pair);
    listen_to_messages(&pair);
    for (int round = 0; round < ROUNDS / SCALE; round++) {
        for (int i = 0; i < CALLS; i++)
            call_something(&pair);
        call_forget(&pair);
    }
    lk_keys_free(&pair.keys);
    lk_request_free(&pair.link.request);
    free_run(pair.run);
    redisFree(pair.redis);
    redisFree(pair.listener);
}

static int64_t peak_memory(struct pair *pair)
{
    static const char name[] = "used_memory_peak:";
    redisReply *reply = redisCommand(pair->redis, "INFO memory");
    const char *at = strstr(reply->str, name);
    CHECK(at);
    int64_t peak = strtoll(at + strlen(name), NULL, 10);
    freeReplyObject(reply);
    return peak;
}

/* The engine needs no memory for items that a far end has room for, but that it does not take. */
static void large_items_stay(void **state)
{
    enum { ITEMS = 32, SIZE = 1 << 20 };
    static struct pair pair;
    char *item = calloc(1, SIZE);
    const leat_link link = { .prefix = "t:" };
    (void)state;
    CHECK(item);
    pair.redis = engine_ask(&engine);
    CHECK_IS(0, lk_keys_make(&pair.keys, &link, "s", "r"));
    load_scripts(&pair);
    begin(&pair, LK_OPEN, 5);
    add_names(&pair);
    for (int i = 0; i < 3; i++)
        add_number(&pair, i < 2 ? ITEMS : 0);
    redisReply *reply = call_script(&pair);
    int64_t epoch = reply->element[0]->integer;
    for (int i = 0; i < ITEMS; i++) {
        freeReplyObject(reply);
        begin(&pair, LK_PUBLISH, 6);
        add_names(&pair);
        add_number(&pair, epoch);
        add_number(&pair, i);
        add_number(&pair, 0);
        lk_request_word(&pair.link.request, item, SIZE);
        reply = call_script(&pair);
        CHECK_IS(i + 1, reply->integer);
    }
    int64_t before = peak_memory(&pair);
    const int64_t words[] = { ITEMS, LEASE, 0, SIZE, 0, 0 };
    freeReplyObject(reply);
    begin(&pair, LK_TAKE, 9);
    add_names(&pair);
    add_text(&pair, far_ends[0]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add_number(&pair, words[i]);
    reply = call_script(&pair);
    CHECK_IS(3, reply->elements);
    CHECK_IS(SIZE, reply->element[2]->len);
    CHECK(peak_memory(&pair) - before < ITEMS / 2 * SIZE);
    freeReplyObject(reply);
    lk_keys_free(&pair.keys);
    lk_request_free(&pair.link.request);
    redisFree(pair.redis);
    free(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_do_the_same),
                                        cmocka_unit_test(large_items_stay) };
    if (!engine_start(&engine))
        return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    engine_stop(&engine);
    return failed;
}
