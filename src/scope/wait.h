/* wait.h: waiting, and the three ways a wait ends: a partner, the deadline, the scope.
 *
 * Who waits puts an lt_wait on its stack, leaves pointers to it wherever partners will look (a
 * channel's queue), and parks. Exactly one of the three must end the wait:
 *
 *  - A partner claims the waiter: by taking it off the queue under the channel's lock, and for a
 *    select by winning its claim as well. It then calls lt_ready, and touches nothing after.
 *  - The deadline and the scope act only at the waiter's home: for a task inside its home worker (sched/worker.h), be it
 *    that worker or a thief, while the task does not run; for a thread in the thread itself. There the kind's
 *    `withdraw` takes the waiter out of everything, under the same locks. If it succeeds, no partner will ever come, and
 *    the home ends the wait; if not, a partner has claimed it and its lt_ready is on the way. A task changes its home
 *    only when its wait is over, and its timer is taken out of the wheel then.
 *
 * So a wake-up is claimed by whoever unlinks the waiter, and no word is fought over by all three. */
#ifndef LT_SCOPE_WAIT_H
#define LT_SCOPE_WAIT_H

#include "base/gap.h"
#include "base/util.h"
#include "base/wheel.h"
#include "sched/current.h"
#include "sched/party.h"
#include "sched/runtime.h"
#include "scope/scope.h"

struct lt_wait;

/* What a wait is for. */
enum lt_aim { LT_TO_RECEIVE, LT_TO_SEND, LT_FOR_SCOPE, LT_FOR_BLOCK, LT_FOR_CALL };

/* Who wants to know what somebody waits for: told once for each aim, with the channel, scope, block or
 * function. */
struct lt_listener {
    void (*hear)(struct lt_listener *listener, enum lt_aim aim, const void *object);
};

struct lt_wait_kind {
    /* Takes the waiter out of every place a partner could find it; false when one has claimed it.
     * NULL: nothing but a partner ends this wait. */
    bool (*withdraw)(struct lt_wait *wait);
    /* Tells what it is for, at home; locks may be held. NULL: for a time. */
    void (*describe)(const struct lt_wait *wait, struct lt_listener *listener);
};

struct lt_wait {
    struct lt_party *party;
    const struct lt_wait_kind *kind;
    struct lt_timer timer;
    int result; /* 0 when a partner ended it, -ETIMEDOUT, -ECANCELED */
    bool over;  /* withdrawn; known at home only */
};

/* Before an operation that may wait. 0, or -ECANCELED. */
static inline int lt_wait_allowed(const struct lt_party *self)
{
    /* Relaxed is enough: a cancel that is missed here is told of later, see scope.h. */
    if (LT_UNLIKELY(self->scope && lt_scope_is_cancelled(self->scope)) && !self->shields)
        return -ECANCELED;
    return 0;
}

/* What a waiting operation is told when all that happened is that its channel is closed: -ECANCELED in a cancelled
 * scope, else -EPIPE. There, whoever closed the channel may have done so only because of the cancel. A scope around
 * the caller's may be marked some time before the caller's is: so all of them count. */
int lt_wait_closed(const struct lt_party *self);

static inline int lt_wait_told(const struct lt_party *self, int status)
{
    return LT_LIKELY(status != -EPIPE) ? status : lt_wait_closed(self);
}

/* Makes sure that the scope can find the party when it waits, and says whether it may; to be called
 * before waiters are put into queues, with no lock held. 0, -ECANCELED, or -EDEADLK: blocks and callbacks
 * do not wait this way. */
static inline int lt_wait_prepare(struct lt_party *self)
{
    int error = self->enlisted ? 0 : lt_scope_enlist(self);
    return error ? error : lt_wait_allowed(self);
}

/* From here on somebody may claim the party. Sequentially consistent for a stackless party, see below; else a
 * release, so that the claimer sees the rest. */
static inline void lt_claim_open(struct lt_party *party)
{
    lt_gap();
    if (party->kind == LT_TASK || party->kind == LT_THREAD)
        atomic_store_explicit(&party->unclaimed, true, memory_order_release);
    else
        atomic_exchange_explicit(&party->unclaimed, true, memory_order_seq_cst);
}

/* A task is told of a cancel at home, when it has parked; a thread looks for itself. A stackless party looks once
 * more after it can be claimed: either it sees the mark, or the canceller sees that it can be claimed.
 * True: it has ended itself. The caller sees to it that it cannot be settled elsewhere meanwhile. */
static inline bool lt_claim_recheck(struct lt_party *party, const leat_scope *scope)
{
    return (party->kind == LT_BLOCK || party->kind == LT_CALLBACK) && scope &&
           atomic_load_explicit(&scope->cancelled, memory_order_seq_cst) && lt_claim(party);
}

/* Begins a wait: to be called before the waiters go into their queues. */
static inline void lt_wait_begin(struct lt_wait *wait, struct lt_party *self,
                                 const struct lt_wait_kind *kind)
{
    wait->party = self;
    wait->kind = kind;
    wait->timer.node.next = NULL;
    wait->result = 0;
    wait->over = false;
    if (self->kind == LT_THREAD)
        /* Acquire: when this wipes out a nudge, what it was about is seen by lt_wait_allowed. */
        atomic_exchange_explicit(&LT_CONTAINER(self, struct lt_thread, party)->word, 0,
                                 memory_order_acquire);
}

static inline int lt_wait_park_task(struct lt_wait *wait, struct lt_task *task)
{
    task->party.wait = wait;
    lt_task_park(task);
    task->party.wait = NULL;
    return wait->result;
}
int lt_wait_park_until(struct lt_wait *wait, struct lt_task *task, int64_t deadline);
int lt_wait_park_thread(struct lt_wait *wait, struct lt_thread *thread, int64_t deadline);

/* Parks until the wait ends, and returns its result. The waiters are in their queues; `deadline` is not
 * LEAT_NOW. */
static inline int lt_wait_park(struct lt_wait *wait, int64_t deadline)
{
    struct lt_party *self = wait->party;
    if (LT_UNLIKELY(self->kind != LT_TASK))
        return lt_wait_park_thread(wait, LT_CONTAINER(self, struct lt_thread, party), deadline);
    struct lt_task *task = LT_CONTAINER(self, struct lt_task, party);
    return LT_LIKELY(deadline == LEAT_NEVER) ? lt_wait_park_task(wait, task)
                                             : lt_wait_park_until(wait, task, deadline);
}

/* Ends a task's wait, inside its home worker; false when it is over, or about to be. The caller then
 * makes the task ready. */
bool lt_wait_end(struct lt_wait *wait, int result);

#endif
