#include "watch/since.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/util.h"
#include "sched/probe.h"

#include <string.h>

#ifdef LEAT_HARSH
enum { SHARDS = 2, FIRST_ROOM = 2 };
#else
enum { SHARDS = 64, FIRST_ROOM = 64 };
#endif

struct entry {
    const struct lt_party *party; /* NULL: free */
    int64_t since;
};

/* Open addressing, at most half full. An entry stands at its own place or after it, with no free
 * entry in between. */
static struct shard {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct entry *entries;
    size_t room, count; /* room: a power of two, or 0 */
} shards[SHARDS];

static uint64_t hash(const struct lt_party *party)
{
    return (uint64_t)(uintptr_t)party * UINT64_C(0x9e3779b97f4a7c15);
}

/* By the uppermost bits of the hash. The bits below give the place in the shard. */
static struct shard *shard_of(const struct lt_party *party)
{
    return &shards[(hash(party) >> 56) % SHARDS];
}

static size_t own_place(const struct shard *shard, const struct lt_party *party)
{
    return (size_t)(hash(party) >> 24) & (shard->room - 1);
}

/* The party's entry, or the free entry where it belongs. There is room. */
static size_t place_of(const struct shard *shard, const struct lt_party *party)
{
    size_t at = own_place(shard, party);
    while (shard->entries[at].party && shard->entries[at].party != party)
        at = (at + 1) & (shard->room - 1);
    return at;
}

static bool grow(struct shard *shard)
{
    struct shard grown = { .room = shard->room ? 2 * shard->room : FIRST_ROOM };
    grown.entries = lt_alloc(grown.room * sizeof(struct entry));
    if (!grown.entries)
        return false;
    for (size_t i = 0; i < shard->room; i++)
        if (shard->entries[i].party)
            grown.entries[place_of(&grown, shard->entries[i].party)] = shard->entries[i];
    lt_free(shard->entries);
    shard->entries = grown.entries;
    shard->room = grown.room;
    return true;
}

void lt_since_wait(const struct lt_party *party)
{
    struct entry entry = { party, lt_clock_now() };
    struct shard *shard = shard_of(party);
    lt_lock(&shard->lock);
    if (2 * (shard->count + 1) <= shard->room || grow(shard)) {
        struct entry *place = &shard->entries[place_of(shard, party)];
        shard->count += !place->party;
        *place = entry;
    }
    lt_unlock(&shard->lock);
}

/* Moves up the entries after a gap that would not be found any more. */
static void close_gap(struct shard *shard, size_t gap)
{
    size_t mask = shard->room - 1;
    for (size_t at = (gap + 1) & mask; shard->entries[at].party; at = (at + 1) & mask) {
        size_t own = own_place(shard, shard->entries[at].party);
        if (((at - own) & mask) < ((at - gap) & mask))
            continue;
        shard->entries[gap] = shard->entries[at];
        gap = at;
    }
    shard->entries[gap].party = NULL;
}

void lt_since_wait_over(const struct lt_party *party)
{
    struct shard *shard = shard_of(party);
    lt_lock(&shard->lock);
    size_t at = shard->count ? place_of(shard, party) : 0;
    if (shard->count && shard->entries[at].party) {
        close_gap(shard, at);
        shard->count--;
    }
    lt_unlock(&shard->lock);
}

int64_t lt_since(const struct lt_party *party)
{
    struct shard *shard = shard_of(party);
    lt_lock(&shard->lock);
    struct entry found = { 0 };
    if (shard->count)
        found = shard->entries[place_of(shard, party)];
    lt_unlock(&shard->lock);
    return found.party ? found.since : 0;
}

size_t lt_since_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        lt_lock(&shards[i].lock);
        count += shards[i].count;
        lt_unlock(&shards[i].lock);
    }
    return count;
}

void lt_since_end(void)
{
    for (size_t i = 0; i < SHARDS; i++) {
        lt_lock(&shards[i].lock);
        lt_free(shards[i].entries);
        shards[i].entries = NULL;
        shards[i].room = shards[i].count = 0;
        lt_unlock(&shards[i].lock);
    }
}
