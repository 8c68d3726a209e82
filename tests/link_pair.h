/* link_pair.h: a real engine beside its double of link_scripts.h, and whether the keys of the two
 * are the same. */
#pragma once

#include "link_engine.h"
#include "link_scripts.h"

struct pair {
    uint64_t chance;
    redisContext *redis, *listener;
    struct lk_engine link; /* for its requests, and the names of the scripts */
    struct lk_keys keys;
    struct engine engine;
    struct run_keys *run;           /* the engine's */
    redisReply *stay;               /* far ends that wait after the call */
    redisReply *messages[MESSAGES]; /* that the engine's call has published, in order */
    size_t message_count;
    int64_t leases; /* how many have ended */
};

static inline void check_same(const redisReply *a, const redisReply *b)
{
    CHECK_IS(a->type, b->type);
    CHECK_IS(a->integer, b->integer);
    CHECK_IS(a->elements, b->elements);
    if (a->type == REDIS_REPLY_STRING || a->type == REDIS_REPLY_ERROR) {
        CHECK_IS(a->len, b->len);
        CHECK(memcmp(a->str, b->str, (size_t)a->len) == 0);
    }
    for (size_t i = 0; i < a->elements; i++)
        check_same(a->element[i], b->element[i]);
}

static inline redisReply *ask(struct pair *pair, const char *command, const char *key,
                              const char *more)
{
    char name[64];
    snprintf(name, sizeof name, "t:{s}:r:%s", key);
    redisReply *reply = more ? redisCommand(pair->redis, "%s %s %s", command, name, more)
                             : redisCommand(pair->redis, "%s %s", command, name);
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    return reply;
}

/* The value of a field, or -1. */
static inline int64_t field_of(struct pair *pair, const char *key, const char *field)
{
    redisReply *reply = ask(pair, "HGET", key, field);
    int64_t value = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : -1;
    freeReplyObject(reply);
    return value;
}

static inline int64_t size_of(struct pair *pair, const char *command, const char *key)
{
    redisReply *reply = ask(pair, command, key, NULL);
    int64_t size = reply->integer;
    freeReplyObject(reply);
    return size;
}

static inline void check_run(struct pair *pair)
{
    const struct run_keys *run = pair->run;
    redisReply *listed = redisCommand(pair->redis, "SISMEMBER t:{s}:runs r");
    CHECK_IS(run->listed, listed->integer);
    freeReplyObject(listed);
    CHECK_IS(run->exists ? run->epoch : -1, field_of(pair, "run", "epoch"));
    CHECK_IS(run->open ? run->n : -1, field_of(pair, "run", "n"));
    CHECK_IS(run->open ? run->limit : -1, field_of(pair, "run", "tries"));
    CHECK_IS(run->published ? run->published : -1, field_of(pair, "run", "published"));
    int64_t delivered = field_of(pair, "run", "delivered");
    CHECK_IS(run->delivered, delivered < 0 ? 0 : delivered);
    CHECK_IS(run->exists ? run->expires : false, size_of(pair, "PTTL", "run") > 0);
}

static inline void word_of(const struct waiter *waiter, char word[64])
{
    snprintf(word, 64, "%" PRId64 " %" PRId64 " %" PRId64, waiter->lease, waiter->number,
             waiter->places);
}

static inline void check_waiting(struct pair *pair)
{
    const struct run_keys *run = pair->run;
    CHECK_IS(run->waiting_count, size_of(pair, "HLEN", "waiting"));
    for (size_t i = 0; i < run->waiting_count; i++) {
        char word[64];
        const struct waiter *waiter = &run->waiting[i];
        redisReply *reply = ask(pair, "HGET", "waiting", waiter->far_end);
        word_of(waiter, word);
        CHECK(reply->type == REDIS_REPLY_STRING && strcmp(reply->str, word) == 0);
        freeReplyObject(reply);
    }
    for (size_t i = 0; i < run->handed_count; i++) {
        char field[NAME_ROOM + 8];
        snprintf(field, sizeof field, "handed %s", run->handed[i].far_end);
        CHECK_IS(run->handed[i].count ? run->handed[i].count : -1, field_of(pair, "run", field));
    }
}

static inline void check_cell(struct pair *pair, uint64_t index)
{
    char name[24];
    const struct cell *cell = cell_of(pair->run, index);
    snprintf(name, sizeof name, "%" PRIu64, index);
    CHECK_IS(cell->tries ? cell->tries : -1, field_of(pair, "tries", name));
    redisReply *item = ask(pair, "HGET", "items", name);
    CHECK_IS(cell->item != NULL, item->type == REDIS_REPLY_STRING);
    CHECK(!cell->item ||
          ((size_t)item->len == cell->size && memcmp(item->str, cell->item, cell->size) == 0));
    freeReplyObject(item);
    redisReply *owner = ask(pair, "HGET", "owners", name);
    CHECK(strcmp(cell->owner, owner->str ? owner->str : "") == 0);
    freeReplyObject(owner);
    redisReply *lease = ask(pair, "ZSCORE", "leases", name);
    CHECK_IS(cell->leased, lease->type == REDIS_REPLY_STRING);
    if (cell->leased)
        CHECK_IS(cell->ends_at > ms_of(&pair->engine),
                 strtod(lease->str, NULL) > (double)ms_of(&pair->engine));
    freeReplyObject(lease);
}

static inline void check_queue(struct pair *pair)
{
    redisReply *queue = redisCommand(pair->redis, "LRANGE t:{s}:r:queue 0 -1");
    CHECK_IS(pair->run->queue_count, queue->elements);
    for (size_t i = 0; i < queue->elements; i++)
        CHECK_IS(pair->run->queue[i], strtoull(queue->element[i]->str, NULL, 10));
    freeReplyObject(queue);
}

static inline void check_fields(const struct entry *entry, const redisReply *fields)
{
    CHECK_IS(2 * entry->n, fields->elements);
    for (size_t i = 0; i < entry->n; i++) {
        const redisReply *bytes = fields->element[2 * i + 1];
        CHECK(strcmp(entry->fields[i].name, fields->element[2 * i]->str) == 0);
        CHECK_IS(entry->fields[i].size, bytes->len);
        CHECK(memcmp(entry->fields[i].data, bytes->str, entry->fields[i].size) == 0);
    }
}

static inline redisReply *results(struct pair *pair)
{
    redisReply *reply = redisCommand(pair->redis, "XRANGE t:{s}:r:results - +");
    CHECK(reply && reply->type == REDIS_REPLY_ARRAY);
    return reply;
}

static inline void check_results(struct pair *pair)
{
    redisReply *entries = results(pair);
    CHECK_IS(pair->run->entry_count, entries->elements);
    for (size_t i = 0; i < entries->elements; i++)
        check_fields(&pair->run->entries[i], entries->element[i]->element[1]);
    freeReplyObject(entries);
}

static inline void check_all(struct pair *pair)
{
    check_run(pair);
    check_waiting(pair);
    check_queue(pair);
    check_results(pair);
    if (below(&pair->chance, 10))
        return;
    for (uint64_t i = 0; i < pair->run->cell_count && i < (uint64_t)pair->run->published; i++)
        check_cell(pair, i);
}
