/* later.h: files put off because their first bytes must come from the disk.
 *
 * reading_begin has asked the disk for them, and other files are digested first. So the disk has
 * several requests at a time, and a digester seldom waits for it. They are taken in order. */
#pragma once

#include "reading.h"

/* Files put off, at most; and the rounds of a digester after which the first of them is due. */
enum { LATER_MOST = 8, LATER_ROUNDS = 16 };

struct later {
    struct reading ring[LATER_MOST];
    unsigned first, count;
    unsigned most;   /* LATER_MOST, or fewer */
    unsigned rounds; /* rounds of the digester since one was taken or the first one was added */
};

static inline bool later_has_room(const struct later *l)
{
    return l->count < l->most;
}

/* There must be room. */
static inline void later_add(struct later *l, const struct reading *r)
{
    if (l->count == 0)
        l->rounds = 0;
    l->ring[(l->first + l->count++) % LATER_MOST] = *r;
}

/* Whether to take the first now, even if its bytes may not have come. */
static inline bool later_is_due(const struct later *l)
{
    return l->count > 0 && (l->count == l->most || l->rounds > LATER_ROUNDS);
}

/* There must be one. */
static inline struct reading later_take(struct later *l)
{
    struct reading r = l->ring[l->first];
    l->first = (l->first + 1) % LATER_MOST;
    l->count--;
    l->rounds = 0;
    return r;
}

static inline void later_close(struct later *l)
{
    while (l->count > 0) {
        struct reading r = later_take(l);
        reading_close(&r);
    }
}
