/* semaphore.c: permits with weights, and latches.
 *
 * `turn` holds one item: who has received it is at the head of the line, and only there permits are taken, so the
 * channel's own order makes the line fair, and its waits bring deadlines and cancelling along. The head
 * waits for `freed`, into which every release puts a word that is not lost: it sends after it has added, and
 * the head looks after it has received. */
#include "flow/flow.h"

#include <leat/sync.h>

struct leat_semaphore {
    struct lt_flow flow; /* without its block */
    leat_chan *turn, *freed;
    int64_t total;
    _Atomic int64_t permits;
};

leat_semaphore *leat_semaphore_open(leat_scope *scope, int64_t permits)
{
    leat_semaphore *s = permits > 0 ? lt_flow_make(scope, sizeof *s, NULL) : NULL;
    if (!s)
        return NULL;
    s->turn = leat_chan_open(scope, &(leat_chan_spec){ .capacity = 1, .name = "semaphore" });
    s->freed = leat_chan_open(
        scope, &(leat_chan_spec){ .capacity = 1, .buffer = LEAT_DROPPING, .name = "permits" });
    if (!s->turn || !s->freed)
        return NULL;
    s->total = permits;
    atomic_store_explicit(&s->permits, permits, memory_order_relaxed);
    leat_try_send(s->turn, NULL);
    return s;
}

/* Only at the head of the line, so nobody else takes any at the same time. */
static bool take(leat_semaphore *s, int64_t n)
{
    /* Acquire: what was done under the permits before they were given back is seen. */
    if (atomic_load_explicit(&s->permits, memory_order_acquire) < n)
        return false;
    atomic_fetch_sub_explicit(&s->permits, n, memory_order_relaxed);
    return true;
}

int leat_acquire_until(leat_semaphore *s, int64_t n, int64_t deadline)
{
    if (!s || n <= 0 || n > s->total)
        return -EINVAL;
    int error = leat_recv_until(s->turn, NULL, deadline);
    if (error)
        return error;
    while (!error && !take(s, n))
        error = leat_recv_until(s->freed, NULL, deadline);
    leat_try_send(s->turn, NULL);
    return error;
}

int leat_acquire(leat_semaphore *s, int64_t n)
{
    return leat_acquire_until(s, n, LEAT_NEVER);
}

int leat_try_acquire(leat_semaphore *s, int64_t n)
{
    if (!s || n <= 0 || n > s->total)
        return -EINVAL;
    if (leat_try_recv(s->turn, NULL) != 0)
        return -EAGAIN;
    bool taken = take(s, n);
    leat_try_send(s->turn, NULL);
    return taken ? 0 : -EAGAIN;
}

int leat_release(leat_semaphore *s, int64_t n)
{
    if (!s || n <= 0)
        return -EINVAL;
    int64_t before = atomic_load_explicit(&s->permits, memory_order_relaxed);
    do
        if (n > s->total - before)
            return -EINVAL;
    while (!atomic_compare_exchange_weak_explicit(
        /* Release: see take. */
        &s->permits, &before, before + n, memory_order_release, memory_order_relaxed));
    leat_try_send(s->freed, NULL);
    return 0;
}

int64_t leat_permits(const leat_semaphore *s)
{
    return s ? atomic_load_explicit(&s->permits, memory_order_relaxed) : 0;
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
    do /* somebody may send to it, which means nothing */
        status = leat_recv_until(latch, NULL, deadline);
    while (!status);
    return status == -EPIPE ? 0 : status;
}
