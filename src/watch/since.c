#include "watch/since.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/table.h"
#include "base/util.h"

#ifdef LEAT_HARSH
enum { SHARDS = 2 };
#else
enum { SHARDS = 64 };
#endif

static struct shard {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_table since; /* by the address of the party */
} shards[SHARDS];

static uint64_t key_of(const struct lt_party *party)
{
    return (uint64_t)(uintptr_t)party;
}

/* With its lock held. */
static struct shard *lock_shard(const struct lt_party *party)
{
    struct shard *shard = &shards[key_of(party) / sizeof *party % SHARDS];
    lt_lock(&shard->lock);
    return shard;
}

void lt_since_wait(const struct lt_party *party)
{
    uint64_t now = (uint64_t)lt_clock_now();
    struct shard *shard = lock_shard(party);
    lt_table_put(&shard->since, key_of(party), now);
    lt_unlock(&shard->lock);
}

void lt_since_wait_over(const struct lt_party *party)
{
    struct shard *shard = lock_shard(party);
    lt_table_remove(&shard->since, key_of(party));
    lt_unlock(&shard->lock);
}

int64_t lt_since(const struct lt_party *party)
{
    struct shard *shard = lock_shard(party);
    const struct lt_entry *found = lt_table_find(&shard->since, key_of(party));
    int64_t since = found ? (int64_t)found->value : 0;
    lt_unlock(&shard->lock);
    return since;
}

size_t lt_since_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        lt_lock(&shards[i].lock);
        count += shards[i].since.count;
        lt_unlock(&shards[i].lock);
    }
    return count;
}

void lt_since_end(void)
{
    for (size_t i = 0; i < SHARDS; i++) {
        lt_lock(&shards[i].lock);
        lt_table_free(&shards[i].since);
        lt_unlock(&shards[i].lock);
    }
}
