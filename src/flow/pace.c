/* pace.c: operators that look at the clock: one block each, with an alarm.
 *
 * A receive takes an item that is ready even if the deadline has passed. So an operator also reads
 * the clock if a time must end something that a stream of items could prolong. */
#include "flow/flow.h"

#include "base/clock.h"
#include "base/rng.h"
#include "sched/party.h"

#include <leat/pace.h>
#include <leat/time.h>

#include <limits.h>

struct pace {
    struct lt_flow flow;
    leat_alarm alarm;
    size_t item_size;
    int64_t time, deadline;
    unsigned burst;
    int status;                   /* why it ends, for lt_flow_end */
    size_t has, most;             /* items held; the most that a window holds, else 0 */
    bool (*took)(struct pace *p); /* an item has come to `next`: whether to wait for more */
    unsigned char *held;          /* the item or the window's run that will be sent */
    unsigned char *next;          /* where the next item goes */
};

static struct pace *pace_of(leat_block *b)
{
    return LT_CONTAINER(b, struct pace, flow.block);
}

/* Holds the new item, and drops the one that was held. */
static void hold_next(struct pace *p)
{
    if (p->has)
        lt_flow_drop(p->flow.drop, p->held);
    unsigned char *next = p->next;
    p->next = p->held;
    p->held = next;
    p->has = 1;
}

static unsigned char *item_of_run(const struct pace *p, size_t i)
{
    return p->held + sizeof(leat_run) + i * p->item_size;
}

static bool sent(struct pace *p, int status)
{
    for (size_t i = 0; status && i < p->has; i++)
        lt_flow_drop(p->flow.drop, p->most ? item_of_run(p, i) : p->held);
    p->has = 0;
    if (p->most)
        p->next = item_of_run(p, 0);
    return lt_flow_goes_on(status);
}

/* The end of all operators: sends what is held, if that is still possible. This send may cut the
 * output short, but not make it whole. */
#define SEND_THE_REST(b, p) \
    do { \
        (p)->status = (b)->status; \
        if ((p)->has) { \
            LEAT_AWAIT_SEND(b, (p)->flow.out, (p)->held); \
            sent(p, (b)->status); \
            if ((b)->status) \
                (p)->status = (b)->status; \
        } \
        lt_flow_end((p)->flow.out, LEAT_ENDS_CLOSED, (p)->status); \
        LEAT_END(b); \
    } while (0)

static bool pass_seldom(struct pace *p);

/* Holds items until `took` returns false, or the deadline passes while something is held. */
static int gather(leat_block *b)
{
    struct pace *p = pace_of(b);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV_UNTIL(b, p->flow.in, p->next, p->has ? p->deadline : LEAT_NEVER, &p->alarm);
        if (b->status == 0) {
            if (p->took(p))
                continue;
        } else if (b->status != -ETIMEDOUT) {
            break;
        }
        LEAT_AWAIT_SEND(b, p->flow.out, p->held);
        if (!sent(p, b->status))
            break;
        if (p->took == pass_seldom)
            p->deadline = leat_after(p->time);
    }
    SEND_THE_REST(b, p);
}

static bool begin_quiet(struct pace *p)
{
    hold_next(p);
    p->deadline = leat_after(p->time);
    return true;
}

/* `deadline`: the time from which the next item may pass; `gather` sets it after each send. */
static bool pass_seldom(struct pace *p)
{
    if (lt_clock_now() < p->deadline) {
        lt_flow_drop(p->flow.drop, p->next);
        return true;
    }
    hold_next(p);
    return false;
}

/* The next time that is a whole number of intervals after the first one. */
static int64_t next_tick(const struct pace *p)
{
    int64_t now = lt_clock_now();
    return lt_clock_after(now, p->time - (now - p->deadline) % p->time);
}

static bool take_sample(struct pace *p)
{
    if (!p->has)
        p->deadline = next_tick(p);
    hold_next(p);
    return lt_clock_now() < p->deadline;
}

static bool add_to_window(struct pace *p)
{
    if (p->has++ == 0)
        p->deadline = leat_after(p->time);
    ((leat_run *)(void *)p->held)->count = p->has;
    p->next = item_of_run(p, p->has);
    return p->has < p->most && lt_clock_now() < p->deadline;
}

/* ---- rates, and their opposite ---- */

/* `deadline` is when the bucket would be full if no more were taken: the generic cell rate
 * algorithm (ITU-T I.371), which does not count tokens. */
static int64_t token_time(const struct pace *p)
{
    int64_t room = p->time * (p->burst - 1);
    return p->deadline > room ? p->deadline - room : 0;
}

static void take_token(struct pace *p)
{
    int64_t now = lt_clock_now();
    p->deadline = lt_clock_after(p->deadline > now ? p->deadline : now, p->time);
}

static int limit_rate(leat_block *b)
{
    struct pace *p = pace_of(b);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, p->flow.in, p->held);
        if (b->status)
            break;
        p->has = 1;
        if (token_time(p) > lt_clock_now()) {
            LEAT_AWAIT_SLEEP_UNTIL(b, token_time(p), &p->alarm);
            if (b->status)
                break;
        }
        take_token(p);
        LEAT_AWAIT_SEND(b, p->flow.out, p->held);
        if (!sent(p, b->status))
            break;
    }
    SEND_THE_REST(b, p);
}

static int lapse(leat_block *b)
{
    struct pace *p = pace_of(b);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV_UNTIL(b, p->flow.in, p->flow.item, leat_after(p->time), &p->alarm);
        if (b->status)
            break;
        LEAT_AWAIT_SEND(b, p->flow.out, p->flow.item);
        if (!lt_flow_sent(&p->flow, b->status))
            break;
    }
    lt_flow_end(p->flow.out, LEAT_ENDS_CLOSED, b->status);
    LEAT_END(b);
}

/* ---- making one ---- */

/* `outs`: the size of an output in bytes. */
static struct pace *make(leat_scope *scope, leat_chan *in, int64_t time, size_t outs,
                         leat_drop_fn *drop, size_t capacity)
{
    if (!in || time <= 0 || outs > LT_ITEM_MAX)
        return NULL;
    size_t head = lt_flow_aligned(sizeof(struct pace));
    leat_chan_spec spec = { .item_size = outs, .capacity = capacity, .drop = drop };
    leat_chan *out = scope ? leat_chan_open(scope, &spec) : NULL;
    /* 16 bytes more: see leat_window. */
    struct pace *p = out ? lt_flow_make(scope, in, out, head + outs + 16, NULL) : NULL;
    if (!p)
        return NULL;
    p->item_size = leat_chan_item_size(in);
    p->time = time;
    p->held = (unsigned char *)p + head;
    p->next = p->flow.item;
    return p;
}

static struct pace *make_like(leat_scope *scope, leat_chan *in, int64_t time, size_t capacity)
{
    return in ? make(scope, in, time, leat_chan_item_size(in), lt_chan_drop_received(in), capacity)
              : NULL;
}

static leat_chan *start(struct pace *p, const char *what, const leat_block_type *type)
{
    if (!p)
        return NULL;
    lt_flow_go(&p->flow, what, type);
    return p->flow.out;
}

static leat_chan *start_gathering(struct pace *p, const char *what, bool (*took)(struct pace *p))
{
    if (p)
        p->took = took;
    return start(p, what, LEAT_BLOCK_TYPE_(gather));
}

leat_chan *leat_debounce(leat_scope *scope, leat_chan *in, int64_t quiet, size_t capacity)
{
    return start_gathering(make_like(scope, in, quiet, capacity), "debounce", begin_quiet);
}

leat_chan *leat_throttle(leat_scope *scope, leat_chan *in, int64_t interval, size_t capacity)
{
    return start_gathering(make_like(scope, in, interval, capacity), "throttle", pass_seldom);
}

leat_chan *leat_sample(leat_scope *scope, leat_chan *in, int64_t interval, size_t capacity)
{
    struct pace *p = make_like(scope, in, interval, capacity);
    if (p)
        p->deadline = lt_clock_now();
    return start_gathering(p, "sample", take_sample);
}

leat_chan *leat_lapse(leat_scope *scope, leat_chan *in, int64_t time, size_t capacity)
{
    return start(make_like(scope, in, time, capacity), "lapse", LEAT_BLOCK_TYPE_(lapse));
}

leat_chan *leat_window(leat_scope *scope, leat_chan *in, size_t n, int64_t time, size_t capacity,
                       leat_drop_fn *drop)
{
    if (!in || !n || n > LT_ITEM_MAX)
        return NULL;
    struct pace *p =
        make(scope, in, time, sizeof(leat_run) + n * leat_chan_item_size(in), drop, capacity);
    if (p) {
        p->most = n;
        p->held += 16 - sizeof(leat_run); /* aligns the items behind it */
        p->next = item_of_run(p, 0);
    }
    return start_gathering(p, "window", add_to_window);
}

leat_chan *leat_rate(leat_scope *scope, leat_chan *in, int64_t interval, unsigned burst,
                     size_t capacity)
{
    int64_t room;
    if (!burst || __builtin_mul_overflow(interval, (int64_t)burst, &room))
        return NULL;
    struct pace *p = make_like(scope, in, interval, capacity);
    if (p)
        p->burst = burst;
    return start(p, "rate", LEAT_BLOCK_TYPE_(limit_rate));
}

/* ---- trying again ---- */

/* A marked error is one of the numbers next to INT_MIN, and not INT_MIN itself, which a function
 * may return for other reasons. */
enum { ERRORS = 4096, FINAL = INT_MIN + ERRORS };

int leat_final(int error)
{
    return error > -ERRORS && error < ERRORS ? FINAL + error : error;
}

int leat_retry(leat_fn *fn, void *arg, const leat_retrying *how)
{
    leat_retrying h = how ? *how : (leat_retrying){ 0 };
    if (!fn || h.pause < 0 || h.most < 0)
        return -EINVAL;
    int64_t most = h.most ? h.most : 10 * LEAT_S, pause = h.pause ? h.pause : 10 * LEAT_MS;
    for (unsigned tries = 1;; tries++) {
        int error = fn(arg);
        if (error > FINAL - ERRORS && error < FINAL + ERRORS)
            return error - FINAL;
        /* Without a limit, `tries` may wrap around. */
        if (!error || (h.tries && tries == h.tries) ||
            (error == -ECANCELED && leat_cancelled(NULL)))
            return error;
        pause = pause < most ? pause : most;
        uint64_t off = h.exact ? 0 : lt_rng_next(lt_chance()) % ((uint64_t)pause / 2 + 1);
        error = leat_sleep(pause - (int64_t)off);
        if (error)
            return error;
        pause = pause < most / 2 ? 2 * pause : most;
    }
}
