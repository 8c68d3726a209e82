/* tick.c: channels that tick.
 *
 * A tick has two holders: its channel, and its shared timer while the timer is set or about to
 * fire. The scope frees the channel without waiting for the timer. So the worker that fires the
 * timer looks under the tick's lock whether the channel still exists, and the last holder frees the
 * tick. A stop is made under that lock, and nothing is sent after it: there is no late tick.
 *
 * Locking. A tick's lock comes before its channel's lock, and before the shared timers' locks. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/world.h"
#include "chan/special.h"
#include "sched/shared_timer.h"

#include <leat/time.h>
#include <leat/timeout.h>

struct tick {
    struct lt_keeper keeper;
    struct lt_shared_timer timer;
    struct lt_lock lock;
    leat_chan *ch;
    int64_t period, due;
    uint64_t vain; /* for the seeded world */
    bool stopped;
    uint8_t holders;
};

/* The first due time after `now`. */
static int64_t next_due(const struct tick *t, int64_t now)
{
    int64_t passed = now > t->due ? (now - t->due) / t->period : 0, ahead, next;
    if (__builtin_mul_overflow(passed + 1, t->period, &ahead) ||
        __builtin_add_overflow(t->due, ahead, &next))
        return LEAT_NEVER;
    return next;
}

static void fired(struct lt_shared_timer *timer)
{
    struct tick *t = LT_CONTAINER(timer, struct tick, timer);
    struct lt_party *woken = NULL;
    lt_lock(&t->lock);
    bool last = t->stopped && --t->holders == 0;
    if (!t->stopped) {
        lt_chan_lock(t->ch);
        if (LT_UNLIKELY(lt_world() != NULL) && lt_chan_count(t->ch))
            lt_world()->vain(&t->vain);
        lt_special_keeper_send(t->ch, &t->due, &woken);
        lt_chan_unlock(t->ch);
        t->due = next_due(t, lt_clock_now());
        lt_shared_timer_set(&t->timer, t->due); /* on a worker: no other one must be notified */
    }
    lt_unlock(&t->lock);
    lt_ready_all(woken);
    if (last)
        lt_free(t);
}

/* ---- the channel's keeper ---- */

static struct tick *tick_of(leat_chan *ch)
{
    return LT_CONTAINER(ch->keeper, struct tick, keeper);
}

/* With the lock held. */
static void stop(struct tick *t)
{
    if (!t->stopped && lt_shared_timer_stop(&t->timer))
        t->holders--;
    t->stopped = true;
}

static int close_tick(leat_chan *ch)
{
    struct tick *t = tick_of(ch);
    lt_lock(&t->lock);
    stop(t);
    lt_chan_lock(ch);
    lt_chan_set_count(ch, 0);
    struct lt_party *woken = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    lt_unlock(&t->lock);
    lt_ready_all(woken);
    return 0;
}

static void free_tick(leat_chan *ch)
{
    struct tick *t = tick_of(ch);
    lt_lock(&t->lock);
    stop(t);
    bool last = --t->holders == 0;
    lt_unlock(&t->lock);
    if (last)
        lt_free(t);
}

leat_chan *leat_tick(leat_scope *scope, int64_t ns)
{
    if (!scope || ns <= 0)
        return NULL;
    struct tick *t = lt_alloc(sizeof *t);
    leat_chan_spec spec = {
        .item_size = sizeof t->due, .capacity = 1, .buffer = LEAT_DROPPING, .name = "tick"
    };
    if (!t)
        return NULL;
    t->keeper = (struct lt_keeper){ .close = close_tick, .free = free_tick };
    leat_chan *ch = lt_chan_open_owned(scope, &spec, &t->keeper);
    if (!ch) {
        lt_free(t);
        return NULL;
    }
    t->timer.fire = fired;
    t->ch = ch;
    t->period = ns;
    t->due = leat_after(ns);
    t->holders = 2;
    lt_shared_timers_notify(lt_shared_timer_set(&t->timer, t->due));
    return ch;
}
