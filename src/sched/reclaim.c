#include "sched/reclaim.h"

#include "arch/stack.h"
#include "base/config.h"
#include "base/futex.h"
#include "sched/runtime.h"

static size_t kept(const struct lt_worker *worker)
{
    return lt_magazine_stacks(&worker->magazine) + worker->magazine.credits;
}

static void publish(struct lt_worker *worker)
{
    lt_tally_set(&worker->tally.magazine, lt_magazine_stacks(&worker->magazine));
    /* Sequentially consistent, against a thread that finds memory short and then reads this: one of
     * the two sees the other. */
    atomic_store_explicit(&worker->reclaim, (unsigned)kept(worker), memory_order_seq_cst);
}

void lt_reclaim_settle(struct lt_worker *worker)
{
    if (worker->magazine.credits > LT_CREDIT_BATCH) {
        lt_stack_credits_return(worker->magazine.credits - LT_CREDIT_BATCH);
        worker->magazine.credits = LT_CREDIT_BATCH;
    }
    publish(worker);
    if (LT_UNLIKELY(lt_stack_is_short()) && kept(worker)) {
        lt_magazine_close(&worker->magazine);
        publish(worker);
    }
}

/* Wakes the sleeping workers that keep something, so that they give it back. True if there are any:
 * a running worker has recorded that it keeps nothing. */
static bool wake_keepers(void)
{
    bool any = false;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        if (!atomic_load_explicit(&worker->reclaim, memory_order_seq_cst))
            continue;
        lt_worker_wake(worker);
        any = true;
    }
    return any;
}

bool lt_reclaim_get_one(void)
{
    enum { TRIES = 40 };
    bool got = false, more = true;
    for (int i = 0; i < TRIES && more && !got; i++) {
        more = wake_keepers();
        if (more)
            lt_nap(50 * LEAT_US);
        got = lt_stack_credits_get(1);
    }
    return got;
}
