#include "sched/global_queue.h"

#include "base/lock.h"

static struct {
    struct lt_lock lock;
    struct lt_party *head, **end;
    _Atomic size_t count; /* written under the lock; read without it, as a hint, so relaxed */
} queue;

/* Under the lock. */
static void add_to_count(size_t n)
{
    size_t now = atomic_load_explicit(&queue.count, memory_order_relaxed);
    atomic_store_explicit(&queue.count, now + n, memory_order_relaxed);
}

void lt_global_queue_push(struct lt_worker *worker, struct lt_party *party)
{
    if (worker)
        worker->magazine.credits -= lt_needs_credit(party);
    party->next = NULL;
    lt_lock(&queue.lock);
    if (!queue.head)
        queue.end = &queue.head;
    *queue.end = party;
    queue.end = &party->next;
    add_to_count(1);
    lt_unlock(&queue.lock);
}

/* Prefetches a party some places further on. Many parties mostly lie in an array, so its address is
 * probably as many steps away. */
LT_FETCHES void prefetch_later(const struct lt_party *party, const struct lt_party *next)
{
    enum { AHEAD = 16 };
    uintptr_t step = (uintptr_t)next - (uintptr_t)party;
    __builtin_prefetch((const void *)((uintptr_t)next + AHEAD * step), 1);
}

bool lt_global_queue_take(struct lt_worker *worker)
{
    if (!lt_global_queue_any())
        return false;
    size_t taken = 0;
    lt_lock(&queue.lock);
    while (queue.head && taken < LT_LOCAL_QUEUE_SIZE / 2) {
        struct lt_party *party = queue.head, *next = party->next;
        prefetch_later(party, next);
        bool brings_credit = lt_needs_credit(party);
        if (!lt_local_queue_push(&worker->local_queue, party)) /* from now on a thief may take it */
            break;
        worker->magazine.credits += brings_credit;
        queue.head = next;
        taken++;
    }
    add_to_count(-taken);
    lt_unlock(&queue.lock);
    if (taken)
        lt_worker_notify(worker);
    return taken;
}

void lt_global_queue_each(bool (*fn)(void *arg, struct lt_party *party), void *arg)
{
    lt_lock(&queue.lock);
    for (struct lt_party *party = queue.head; party && fn(arg, party); party = party->next)
        continue;
    lt_unlock(&queue.lock);
}

bool lt_global_queue_any(void)
{
    return atomic_load_explicit(&queue.count, memory_order_relaxed) != 0;
}
