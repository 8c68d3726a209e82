#include "map/tally.h"

enum { ENOUGH = 10 }; /* jobs needed for a meaningful median or percentage */

/* The class of a duration: its highest bit, and the four bits below it. */
static unsigned class_of(int64_t duration)
{
    uint64_t d = duration < 16 ? 16 : (uint64_t)duration;
    unsigned high = 63 - (unsigned)__builtin_clzll(d);
    return 16 * high + (unsigned)(d >> (high - 4) & 15);
}

/* The shortest duration of the class above. */
static int64_t end_of(unsigned class)
{
    return (int64_t)((uint64_t)(16 + class % 16 + 1) << (class / 16 - 4));
}

void tally_succeeded(struct tally *t, int64_t duration)
{
    t->succeeded++;
    t->durations[class_of(duration)]++;
}

int64_t tally_median(const struct tally *t)
{
    if (t->succeeded < ENOUGH)
        return 0;
    uint64_t below = 0;
    for (unsigned i = 16 * 4; i < TALLY_CLASSES; i++) {
        below += t->durations[i];
        if (2 * below >= t->succeeded)
            return end_of(i);
    }
    return 0;
}

bool tally_reached(const struct tally *t, const struct halt *h)
{
    uint64_t ended = t->succeeded + t->failed;
    if (h->percent)
        return ended >= ENOUGH && 100 * t->failed >= h->count * ended;
    uint64_t n = h->what == HALT_FAIL ? t->failed : h->what == HALT_SUCCESS ? t->succeeded : ended;
    return n >= h->count;
}
