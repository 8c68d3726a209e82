/* later.h: files whose first bytes have to come from the disk, put off.
 *
 * The disk has been asked for them (reading_begin), and others are digested first. So it has several
 * requests at a time, and a digester seldom waits for one. The order is that in which they were put off. */
#ifndef LEAT_CMD_LATER_H
#define LEAT_CMD_LATER_H

#include "reading.h"

/* So many at most, and for so many rounds of their digester. */
enum { LATER_MOST = 8, LATER_ROUNDS = 16 };

struct later {
    struct reading ring[LATER_MOST];
    unsigned first, count;
    unsigned most;   /* LATER_MOST, or fewer */
    unsigned rounds; /* since one was taken, or since there are any */
};

static inline bool later_has_room(const struct later *l)
{
    return l->count < l->most;
}

/* There is room. */
static inline void later_add(struct later *l, const struct reading *r)
{
    if (l->count == 0)
        l->rounds = 0;
    l->ring[(l->first + l->count++) % LATER_MOST] = *r;
}

/* It is time for the first, though its bytes may not have come. */
static inline bool later_is_due(const struct later *l)
{
    return l->count > 0 && (l->count == l->most || l->rounds > LATER_ROUNDS);
}

/* There are some. */
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

#endif
