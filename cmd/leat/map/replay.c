#include "map/replay.h"

#include <xxhash.h>

bool replay_open(struct replay *r)
{
    if (!r->state) {
        r->state = XXH3_createState();
        if (r->state)
            XXH3_64bits_reset(r->state);
    }
    return r->state != NULL;
}

void replay_free(struct replay *r)
{
    XXH3_freeState(r->state);
}

void replay_begin(struct replay *r, bool printed)
{
    if (!printed) {
        r->owed = 0;
    } else if (r->taken > r->owed && !r->differs) {
        r->owed = r->taken;
        r->digest = XXH3_64bits_digest(r->state);
    }
    r->taken = 0;
    XXH3_64bits_reset(r->state);
}

static void add(struct replay *r, const char *bytes, size_t n)
{
    XXH3_64bits_update(r->state, bytes, n);
    r->taken += n;
}

size_t replay_take(struct replay *r, const char *bytes, size_t n)
{
    uint64_t due = r->taken < r->owed ? r->owed - r->taken : 0;
    size_t again = due < n ? (size_t)due : n;
    if (!r->state)
        return 0;
    add(r, bytes, again);
    if (again && r->taken == r->owed)
        r->differs = XXH3_64bits_digest(r->state) != r->digest;
    add(r, bytes + again, n - again);
    return again;
}

bool replay_is_whole(const struct replay *r)
{
    return !r->differs && r->taken >= r->owed;
}
