/* wait.h: how tasks and threads wait, and the three ways a wait ends: a partner, the deadline, the
 * scope. (Blocks and callbacks: block/machine.h.)
 *
 * A party that waits puts an lt_wait on its stack, leaves pointers to it where partners will look
 * (a channel's queue), and parks. Exactly one of the three ends the wait:
 *
 *  - A partner claims the waiter: it takes the waiter off the queue under the channel's lock, and
 *    for a select also wins the select's claim. It then calls lt_ready, and touches nothing after.
 *  - The deadline and the scope act only at the waiter's home. For a task, the worker or a thief
 *    acts inside the home worker (sched/worker.h), while the task does not run; a thread acts for
 *    itself. There the kind's `withdraw` takes the waiter out of every queue, under the same locks.
 *    If that succeeds, no partner will come, and the home ends the wait. If not, a partner has
 *    claimed the waiter, and its lt_ready is on the way. A task changes its home only when its wait
 *    is over; then its timer is taken out of the wheel.
 *
 * So unlinking the waiter claims the wake-up: the three do not compete for one word. */
#pragma once

#include "base/gap.h"
#include "base/util.h"
#include "base/wheel.h"
#include "sched/current.h"
#include "sched/host.h"
#include "sched/party.h"
#include "sched/runtime.h"
#include "scope/scope.h"

struct lt_wait;

/* The purpose of a wait. Only looks use the last two, in place of a descriptor's channels. */
enum lt_aim {
    LT_TO_RECEIVE,
    LT_TO_SEND,
    LT_FOR_SCOPE,
    LT_FOR_BLOCK,
    LT_FOR_CALL,
    LT_TO_READ,
    LT_TO_WRITE
};

/* Is called with what a party waits for: once for each aim, with a channel, scope, block or
 * function. */
struct lt_listener {
    void (*hear)(struct lt_listener *listener, enum lt_aim aim, const void *object);
};

struct lt_wait_kind {
    /* Takes the waiter from where partners find it. False: a partner has claimed it. NULL: only a
     * partner ends this wait. */
    bool (*withdraw)(struct lt_wait *wait);
    /* Checks whether the wait has another reason to end, when a task was nudged. Called at home.
     * NULL: there is none. */
    void (*look)(struct lt_wait *wait);
    /* Reports what the wait is for. Called at home, perhaps with locks held. NULL: it waits for a
     * time. */
    void (*describe)(const struct lt_wait *wait, struct lt_listener *listener);
};

struct lt_wait {
    struct lt_party *party;
    const struct lt_wait_kind *kind;
    struct lt_timer timer;
    int result; /* 0: a partner ended it; or -ETIMEDOUT, -ECANCELED */
    bool over;  /* the deadline and the scope do not end it any more; used at home only */
};

/* Called before an operation that may wait. 0, or -ECANCELED. */
static inline int lt_wait_allowed(const struct lt_party *self)
{
    /* Relaxed: a cancel that is missed here ends the wait later, see scope.h. */
    if (LT_UNLIKELY(self->scope && lt_scope_is_cancelled(self->scope)) && !self->shields)
        return -ECANCELED;
    return 0;
}

/* The result of a waiting operation that has only found its channel closed: -EPIPE, but -ECANCELED
 * in a cancelled scope, where the cancel may have caused the close. All parents count: a parent may
 * be marked some time before the caller's own scope. */
int lt_wait_closed(const struct lt_party *self);

static inline int lt_wait_outcome(const struct lt_party *self, int status)
{
    return LT_LIKELY(status != -EPIPE) ? status : lt_wait_closed(self);
}

/* The result of a read that has found the end of its stream: 0; or -ECANCELED in a cancelled scope,
 * where the cancel may have caused that end. */
static inline int lt_wait_ended(const struct lt_party *self)
{
    return lt_wait_closed(self) == -EPIPE ? 0 : -ECANCELED;
}

/* Lets the scope find the party when it waits, and returns whether the party may wait. Called with
 * no lock held, before waiters go into queues. 0, -ECANCELED, or -EDEADLK for blocks and
 * callbacks. */
static inline int lt_wait_prepare(struct lt_party *self)
{
    int error = self->enlisted ? 0 : lt_scope_enlist(self);
    return error ? error : lt_wait_allowed(self);
}

/* From here on the party may be claimed. Sequentially consistent for a stackless party, see
 * lt_claim_recheck; else release, so that the claimer sees what the party wrote before. */
static inline void lt_claim_open(struct lt_party *party)
{
    lt_gap();
    if (party->kind == LT_TASK || party->kind == LT_THREAD)
        atomic_store_explicit(&party->unclaimed, true, memory_order_release);
    else
        atomic_exchange_explicit(&party->unclaimed, true, memory_order_seq_cst);
}

/* A task learns of a cancel at home, once it has parked; a thread looks itself. A stackless party
 * looks once more after it can be claimed: either it sees the mark, or the canceller sees that it
 * can be claimed. True: the wait has been ended here. Meanwhile the caller keeps the party from
 * being settled elsewhere. */
static inline bool lt_claim_recheck(struct lt_party *party, const leat_scope *scope)
{
    return (party->kind == LT_BLOCK || party->kind == LT_CALLBACK) && scope &&
           atomic_load_explicit(&scope->cancelled, memory_order_seq_cst) && lt_claim(party);
}

/* Begins a wait. Called before the waiters go into their queues. */
static inline void lt_wait_begin(struct lt_wait *wait, struct lt_party *self,
                                 const struct lt_wait_kind *kind)
{
    wait->party = self;
    wait->kind = kind;
    wait->timer.node.next = NULL;
    wait->result = 0;
    wait->over = false;
    if (self->kind == LT_THREAD)
        /* Acquire: if this clears a nudge, lt_wait_allowed sees the mark that caused the nudge. */
        atomic_exchange_explicit(&LT_CONTAINER(self, struct lt_thread, party)->word, 0,
                                 memory_order_acquire);
}

/* The parts of lt_wait_park: for a task with a deadline, and for a thread. */
int lt_wait_park_until(struct lt_wait *wait, struct lt_task *task, int64_t deadline);
int lt_wait_park_thread(struct lt_wait *wait, struct lt_thread *thread, int64_t deadline);

/* For a task with any deadline, called inside, and returning inside. */
int lt_wait_park_inside(struct lt_wait *wait, struct lt_task *task, int64_t deadline);

/* Parks until the wait ends, and returns its result. The waiters are in their queues; `deadline` is
 * not LEAT_NOW. */
static inline int lt_wait_park(struct lt_wait *wait, int64_t deadline)
{
    struct lt_party *self = wait->party;
    if (LT_UNLIKELY(self->kind != LT_TASK))
        return lt_wait_park_thread(wait, LT_CONTAINER(self, struct lt_thread, party), deadline);
    struct lt_task *task = LT_CONTAINER(self, struct lt_task, party);
    if (LT_UNLIKELY(deadline != LEAT_NEVER))
        return lt_wait_park_until(wait, task, deadline);
    task->party.wait = wait;
    lt_task_park(task);
    task->party.wait = NULL;
    return wait->result;
}

/* Ends a wait at the waiter's home. False: the wait is over or about to be. After true the caller
 * makes a task ready. */
bool lt_wait_end(struct lt_wait *wait, int result);
