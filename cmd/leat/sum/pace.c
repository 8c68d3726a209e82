#include "pace.h"

#include <leat/base.h>

static const int64_t window = 50 * LEAT_MS, first_pause = 500 * LEAT_MS, last_pause = 64 * LEAT_S;

/* After a longer gap between reads the disk was idle, not slow. */
static const int64_t idle = LEAT_S;

enum { LIMIT_MOST = 1024 };

/* No rotational disk reads this many bytes per nanosecond. */
static const double quick = 0.3;

void pace_open(struct pace *p)
{
    *p = (struct pace){ .limit = 1, .pause = first_pause };
}

static void restart_count(struct pace *p, int64_t now)
{
    p->since = now;
    p->bytes = 0;
}

static void begin_trial(struct pace *p, unsigned limit, double rate)
{
    p->before = p->limit;
    p->limit = limit;
    p->rate = rate;
}

/* A higher limit must gain clearly, since seeks wear a disk. But on a disk that is faster than any
 * rotational one, a higher limit stays if it loses nothing, and a lower one must gain: a trial is
 * too short to show the whole gain of several readers. */
static void end_trial(struct pace *p, int64_t now, double rate, unsigned busy)
{
    const double clearly = 1.1;
    bool up = p->limit > p->before, has_to_gain = up != (p->rate > quick);
    bool good = (!up || busy > p->before) &&
                (has_to_gain ? rate >= clearly * p->rate : clearly * rate >= p->rate);
    if (good) {
        p->pause = first_pause;
    } else {
        p->limit = p->before;
        p->lowers = up;
        if (p->pause < last_pause)
            p->pause *= 2;
    }
    p->climbs = up && good;
    p->before = 0;
    p->next = now + p->pause;
}

static void consider_trial(struct pace *p, int64_t now, double rate, unsigned busy,
                           unsigned waiting)
{
    bool may_climb =
        waiting > 0 && p->limit<LIMIT_MOST, may_lower = p->limit> 1 && busy == p->limit;
    bool untried = p->pause == first_pause && p->limit == 1;
    if (may_climb && (p->climbs || (untried && rate > quick))) {
        begin_trial(p, 2 * p->limit, rate);
    } else if (now >= p->next) {
        if (may_climb && !(p->lowers && may_lower))
            begin_trial(p, 2 * p->limit, rate);
        else if (may_lower)
            begin_trial(p, p->limit / 2, rate);
    }
}

void pace_read(struct pace *p, int64_t now, size_t bytes, unsigned busy, unsigned waiting)
{
    if (!p->started)
        p->next = now + p->pause;
    if (!p->started || now - p->last > idle)
        restart_count(p, now);
    else
        p->bytes += bytes;
    p->started = true;
    p->last = now;
    if (now - p->since < window)
        return;
    double rate = (double)p->bytes / (double)(now - p->since);
    if (p->before > 0)
        end_trial(p, now, rate, busy);
    else
        consider_trial(p, now, rate, busy, waiting);
    restart_count(p, now);
}
