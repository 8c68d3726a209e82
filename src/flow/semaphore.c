/* semaphore.c: permits with weights, and latches.
 *
 * If no caller waits and there are permits, a caller takes them by compare-and-swap. All other
 * callers are counted in `waiting` and form a line: `turn` has one item, and the party that has
 * received it is at the head. So the line has the channel's order, deadlines and cancelling. If the
 * head finds too few permits, it sets the mark WANTED in the same compare-and-swap, and waits for
 * `freed`. The release that clears the mark sends to `freed`. If the head gives up after that, it
 * still receives this item: only then has the release done with the semaphore, which may be freed.
 * Any other release touches the semaphore no more once it has added its permits: the party that
 * gets them may end the scope. */
#include "flow/flow.h"

#include "base/gap.h"
#include "sched/current.h"
#include "scope/wait.h"

#include <leat/sync.h>

struct leat_semaphore {
    struct lt_flow flow; /* has no block */
    leat_chan *turn, *freed;
    int64_t total;
    _Atomic int64_t permits; /* with the mark WANTED, or not */
    _Atomic uint64_t waiting;
};

#define WANTED INT64_MIN

static int64_t number(int64_t permits)
{
    return permits & ~WANTED;
}

leat_semaphore *leat_semaphore_open(leat_scope *scope, int64_t permits)
{
    leat_semaphore *s = permits > 0 ? lt_flow_make(scope, NULL, NULL, sizeof *s, NULL) : NULL;
    if (!s)
        return NULL;
    s->turn = leat_chan_open(scope, &(leat_chan_spec){ .capacity = 1, .name = "semaphore" });
    s->freed = leat_chan_open(scope, &(leat_chan_spec){ .capacity = 1, .name = "permits" });
    if (!s->turn || !s->freed)
        return NULL;
    s->total = permits;
    atomic_store_explicit(&s->permits, permits, memory_order_relaxed);
    leat_try_send(s->turn, NULL);
    return s;
}

/* If there are too few: adds `mark`, which is WANTED or 0. */
static bool take(leat_semaphore *s, int64_t n, int64_t mark)
{
    int64_t before = atomic_load_explicit(&s->permits, memory_order_relaxed);
    bool taken;
    do {
        taken = number(before) >= n;
        if (!taken && (before & mark) == mark)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        /* Acquire: sees what was done under the permits before they were released. */
        &s->permits, &before, taken ? before - n : before | mark, memory_order_acquire,
        memory_order_relaxed));
    return taken;
}

static bool take_at_once(leat_semaphore *s, int64_t n)
{
    /* Relaxed: a party that began to wait before this call is seen, and all others come later. */
    return atomic_load_explicit(&s->waiting, memory_order_relaxed) == 0 && take(s, n, 0);
}

/* The head gives up. */
static void stop_asking(leat_semaphore *s)
{
    /* Relaxed: it only asks no more. */
    if (atomic_fetch_and_explicit(&s->permits, ~WANTED, memory_order_relaxed) & WANTED)
        return;
    leat_shield();
    leat_recv(s->freed, NULL);
    leat_unshield();
}

static int take_in_turn(leat_semaphore *s, int64_t n, int64_t deadline)
{
    int error = lt_wait_prepare(lt_current_party());
    if (error)
        return error;
    atomic_fetch_add_explicit(&s->waiting, 1, memory_order_relaxed);
    error = leat_recv_until(s->turn, NULL, deadline);
    if (!error) {
        while (!error && !take(s, n, WANTED))
            error = leat_recv_until(s->freed, NULL, deadline);
        if (error)
            stop_asking(s);
        leat_try_send(s->turn, NULL);
    }
    atomic_fetch_sub_explicit(&s->waiting, 1, memory_order_relaxed);
    /* The scope closes: no party is left to release a permit. */
    return error == -EPIPE ? -EDEADLK : error;
}

int leat_acquire_until(leat_semaphore *s, int64_t n, int64_t deadline)
{
    if (!s || n <= 0 || n > s->total || deadline < 0)
        return -EINVAL;
    int error = lt_wait_allowed(lt_current_party());
    if (error)
        return error;
    bool taken = take_at_once(s, n);
    if (!taken && deadline != LEAT_NOW)
        return take_in_turn(s, n, deadline);
    lt_task_spend(lt_current_worker(), deadline);
    return taken ? 0 : -EAGAIN;
}

int leat_acquire(leat_semaphore *s, int64_t n)
{
    return leat_acquire_until(s, n, LEAT_NEVER);
}

int leat_try_acquire(leat_semaphore *s, int64_t n)
{
    if (!s || n <= 0 || n > s->total)
        return -EINVAL;
    bool taken = take_at_once(s, n);
    lt_point();
    return taken ? 0 : -EAGAIN;
}

int leat_release(leat_semaphore *s, int64_t n)
{
    if (!s || n <= 0)
        return -EINVAL;
    int64_t before = atomic_load_explicit(&s->permits, memory_order_relaxed);
    do
        if (n > s->total - number(before))
            return -EINVAL;
    while (!atomic_compare_exchange_weak_explicit(
        /* Release: see take. */
        &s->permits, &before, number(before) + n, memory_order_release, memory_order_relaxed));
    if (!(before & WANTED)) {
        lt_point();
        return 0;
    }
    lt_gap();
    leat_try_send(s->freed, NULL);
    return 0;
}

int64_t leat_permits(const leat_semaphore *s)
{
    return s ? number(atomic_load_explicit(&s->permits, memory_order_relaxed)) : 0;
}

/* ---- latches ---- */

leat_chan *leat_latch(leat_scope *scope, unsigned n)
{
    leat_chan *latch = leat_chan_open(scope, &(leat_chan_spec){ .name = "latch" });
    if (latch && n)
        leat_chan_senders(latch, n);
    else if (latch)
        leat_close(latch);
    return latch;
}

int leat_latch_wait(leat_chan *latch, int64_t deadline)
{
    int status;
    do /* an item that the user sends means nothing */
        status = leat_recv_until(latch, NULL, deadline);
    while (!status);
    return status == -EPIPE ? 0 : status;
}
