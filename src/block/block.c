/* block.c: starts blocks, runs their steps, ends them, and wakes what awaits the end.
 *
 * `awaiter` of a block's party is NULL, the party that awaits its end, or `ended`. As its last act
 * the block exchanges it for `ended`: after that the block may be gone. In a block of
 * lt_go_block_at a job takes the awaiter's place. */
#include "block/block.h"

#include "base/clock.h"
#include "block/machine.h"
#include "chan/operate.h"
#include "sched/current.h"
#include "sched/probe.h"

_Static_assert(sizeof(leat_block) == 96, "what a parked block costs");
_Static_assert(offsetof(leat_block, status) ==
                   offsetof(struct lt_machine, waiter) + offsetof(struct lt_waiter, status),
               "the public struct begins with a machine");

static struct lt_party ended;

static struct lt_machine *machine_of(leat_block *block)
{
    return (struct lt_machine *)(void *)block;
}

static struct lt_party *party_of(leat_block *block)
{
    return &machine_of(block)->stackless.party;
}

/* ---- its life ---- */

static void end(leat_block *block, int verdict)
{
    struct lt_machine *machine = machine_of(block);
    leat_scope *scope = machine->stackless.party.scope;
    bool part = machine->waiter.part;
    lt_scope_delist_stackless(&machine->stackless);
    block->status = verdict;
    /* Release: the awaiter sees the verdict. Acquire: this sees the awaiter's party. */
    struct lt_party *awaiter =
        atomic_exchange_explicit(&machine->stackless.party.awaiter, &ended, memory_order_acq_rel);
    if (awaiter)
        lt_ready(awaiter);
    if (!part)
        lt_scope_leave_here(scope, verdict);
}

/* Runs a step as that block. After LEAT_PARKED_ the block may be gone. */
static int step(leat_block *block)
{
    struct lt_party *before = lt_current_party_or_null();
    lt_set_current_party(party_of(block));
    int verdict = block->type->step(block);
    lt_set_current_party(before);
    return verdict;
}

void lt_block_run(struct lt_party *party)
{
    leat_block *block = (leat_block *)(void *)party;
    lt_machine_settle(machine_of(block));
    lt_worker_settle_but(lt_current_worker(), party->scope); /* lt_machine_settle has restored it */
    int verdict = step(block);
    if (verdict != LEAT_PARKED_)
        end(block, verdict);
}

static void init(leat_block *block, leat_scope *scope, const leat_block_type *type)
{
    lt_machine_init(machine_of(block), LT_BLOCK, scope);
    block->type = type;
    block->leat_resume = 0;
    block->line = 0;
}

int leat_go_block_typed(leat_scope *scope, leat_block *block, const leat_block_type *type)
{
    if (!scope || !block || !type || !type->step)
        return -EINVAL;
    init(block, scope, type);
    lt_scope_enter_here(scope);
    lt_launch(party_of(block));
    lt_point();
    return 0;
}

void lt_go_block_at(struct lt_worker *worker, leat_scope *scope, leat_block *block,
                    const leat_block_type *type, struct lt_job *ended_job)
{
    init(block, scope, type);
    machine_of(block)->waiter.part = true;
    /* Relaxed: the worker that runs the block gets it with the block. */
    atomic_store_explicit(&party_of(block)->awaiter, &ended_job->party, memory_order_relaxed);
    lt_scope_enter(scope);
    if (worker == lt_current_worker())
        lt_launch(party_of(block));
    else
        lt_worker_post(worker, party_of(block));
    lt_point();
}

/* ---- waiting for a block ---- */

/* False: the block has ended already. After true, its end makes `awaiter` ready. */
static bool await_end(leat_block *block, struct lt_party *awaiter)
{
    struct lt_party *none = NULL;
    /* Release: the ender sees the awaiter's party. Acquire: the verdict is seen. */
    return atomic_compare_exchange_strong_explicit(&party_of(block)->awaiter, &none, awaiter,
                                                   memory_order_acq_rel, memory_order_acquire);
}

struct awaiting {
    struct lt_wait wait;
    const leat_block *block;
};

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    listener->hear(listener, LT_FOR_BLOCK, LT_CONTAINER(wait, struct awaiting, wait)->block);
}

static const struct lt_wait_kind awaits = { .describe = describe };

/* Acquire: sees what the awaiter wrote before it waited, and what the block did before it ended. */
static const struct lt_party *awaiter_of(const leat_block *block)
{
    return atomic_load_explicit(
        &((const struct lt_machine *)(const void *)block)->stackless.party.awaiter,
        memory_order_acquire);
}

const struct lt_party *lt_block_awaiter(const leat_block *block)
{
    const struct lt_party *awaiter = awaiter_of(block);
    return awaiter == &ended || (awaiter && awaiter->kind == LT_JOB) ? NULL : awaiter;
}

bool lt_block_is_over(const leat_block *block)
{
    return awaiter_of(block) == &ended;
}

int leat_block_join(leat_block *block)
{
    if (!block)
        return -EINVAL;
    struct lt_party *self = lt_current_party();
    if (self->kind != LT_TASK && self->kind != LT_THREAD)
        return -EDEADLK;
    if (!self->enlisted)
        lt_scope_enlist(self); /* for dumps: only the block's end ends this wait */
    struct awaiting awaiting;
    awaiting.block = block;
    lt_wait_begin(&awaiting.wait, self, &awaits);
    if (await_end(block, self))
        lt_wait_park(&awaiting.wait, LEAT_NEVER);
    return block->status;
}

/* ---- functions that the macros call ---- */

/* A thief may move the block as soon as it is in the list. */
static inline void append_to_ready(leat_block *b)
{
    if (LT_UNLIKELY(!lt_worker_append_now(lt_current_worker(), party_of(b))))
        lt_ready(party_of(b));
}

__attribute__((noinline)) static int yield_after(leat_block *b, struct lt_worker *here)
{
    lt_worker_renew_budget(here);
    append_to_ready(b);
    return LEAT_PARKED_;
}

/* The result for the macro after an operation that did not wait. If the budget is spent, the block
 * yields first, as a task would; in a seeded world, each time. */
static inline int spend(leat_block *b, struct lt_worker *here)
{
    return LT_LIKELY(--here->budget != 0) ? LEAT_DONE_ : yield_after(b, here);
}

static int answer(leat_block *b, enum lt_attempt attempt)
{
    return attempt == LT_WAITING ? LEAT_PARKED_ : spend(b, lt_current_worker());
}

__attribute__((noinline)) static int operate_slow_path(leat_block *b, leat_chan *ch,
                                                       enum lt_side side, void *item,
                                                       int64_t deadline, leat_alarm *alarm)
{
    return answer(b, lt_machine_operate(machine_of(b), ch, side, item, deadline, alarm));
}

__attribute__((noinline)) static int enlist_and_operate(leat_block *b, leat_chan *ch,
                                                        enum lt_side side, void *item,
                                                        int64_t deadline, leat_alarm *alarm)
{
    lt_scope_enlist_stackless(&machine_of(b)->stackless);
    return side == LT_SEND ? leat_block_send(b, ch, item, deadline, alarm)
                           : leat_block_recv(b, ch, item, deadline, alarm);
}

__attribute__((noinline)) static int get_ready_to_wait(leat_block *b, leat_chan *ch,
                                                       enum lt_side side, void *item,
                                                       int64_t deadline, leat_alarm *alarm)
{
    return answer(b, lt_machine_wait(machine_of(b), ch, side, item, deadline, alarm));
}

/* With the lock held, released here: the last call of the fast path, as lt_fast_wait for tasks. */
__attribute__((noinline)) static int park(leat_block *b, leat_chan *ch, enum lt_side side,
                                          void *item)
{
    enum lt_attempt attempt = lt_machine_park(machine_of(b), ch, side, item, LEAT_NEVER, NULL);
    lt_biased_let_go(&ch->lock);
    return answer(b, attempt);
}

__attribute__((noinline)) static int wake_and_answer(leat_block *b, struct lt_party *woken)
{
    lt_ready(woken);
    return answer(b, LT_DONE);
}

/* As in chan/operate.h: all calls of the fast path are tail calls, so it saves no registers. */
LT_INLINE int operate(leat_block *b, leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                      leat_alarm *alarm)
{
    if (LT_UNLIKELY(lt_chan_check(ch, side, item) != 0 || deadline < 0))
        return operate_slow_path(b, ch, side, item, deadline, alarm);
    /* A new block that tried first would have to give the lock up to enlist itself, and try
     * again. */
    if (!party_of(b)->listed && deadline != LEAT_NOW && lt_chan_is_unready(ch, side))
        return enlist_and_operate(b, ch, side, item, deadline, alarm);
    struct lt_worker *here = lt_current_worker();
    if (LT_UNLIKELY(!lt_biased_grip(&ch->lock, here)))
        return operate_slow_path(b, ch, side, item, deadline, alarm);
    struct lt_party *woken;
    int status = lt_fast_try(ch, side, item, party_of(b), &woken);
    if (status == LT_NOT_NOW && LT_LIKELY(lt_machine_may_park(machine_of(b), deadline)))
        return park(b, ch, side, item);
    lt_biased_let_go(&ch->lock);
    if (status == LT_NOT_NOW)
        return get_ready_to_wait(b, ch, side, item, deadline, alarm);
    if (LT_UNLIKELY(status))
        return operate_slow_path(b, ch, side, item, deadline, alarm);
    b->status = 0;
    if (woken && LT_UNLIKELY(!lt_is_at_home(here, woken) || !lt_worker_append_now(here, woken)))
        return wake_and_answer(b, woken);
    return spend(b, here);
}

/* Not part of leat_block_send and leat_block_recv: without a deadline these need no register more
 * than a call may use. */
__attribute__((noinline)) static int operate_until(leat_block *b, leat_chan *ch, enum lt_side side,
                                                   void *item, int64_t deadline, leat_alarm *alarm)
{
    return operate(b, ch, side, item, deadline, alarm);
}

int leat_block_send(leat_block *b, leat_chan *ch, const void *given, int64_t deadline,
                    leat_alarm *alarm)
{
    void *item = (void *)(uintptr_t)given;
    return deadline == LEAT_NEVER ? operate(b, ch, LT_SEND, item, LEAT_NEVER, NULL)
                                  : operate_until(b, ch, LT_SEND, item, deadline, alarm);
}

int leat_block_recv(leat_block *b, leat_chan *ch, void *item, int64_t deadline, leat_alarm *alarm)
{
    return deadline == LEAT_NEVER ? operate(b, ch, LT_RECEIVE, item, LEAT_NEVER, NULL)
                                  : operate_until(b, ch, LT_RECEIVE, item, deadline, alarm);
}

int leat_block_select(leat_block *b, leat_case *cases, size_t n, int64_t deadline,
                      leat_alarm *alarm, int ordered)
{
    struct lt_selection s;
    lt_select_begin(&s, cases, ordered);
    return answer(b, lt_machine_select(machine_of(b), &s, n, deadline, alarm));
}

int leat_block_sleep(leat_block *b, int64_t deadline, leat_alarm *alarm)
{
    return answer(b, lt_machine_sleep(machine_of(b), deadline, lt_clock_now(), alarm));
}

int leat_block_sleep_for(leat_block *b, int64_t ns, leat_alarm *alarm)
{
    int64_t now = lt_clock_now();
    return answer(b, lt_machine_sleep(machine_of(b), lt_clock_after(now, ns), now, alarm));
}

int lt_block_answer(leat_block *b, int status)
{
    b->status = status;
    return answer(b, LT_DONE);
}

int lt_block_call(leat_block *b, struct lt_call *call)
{
    return answer(b, lt_machine_call(machine_of(b), call));
}

int leat_block_yield(leat_block *b)
{
    b->status = 0;
    /* So that a party that has not started may go first. */
    lt_current_worker()->started_last = false;
    append_to_ready(b);
    return LEAT_PARKED_;
}

int leat_block_await(leat_block *b, leat_block *other)
{
    if (!other || other == b) {
        b->status = -EINVAL;
        return LEAT_DONE_;
    }
    struct lt_machine *machine = machine_of(b);
    machine->stackless.party.operation = LT_OP_AWAIT;
    machine->waiter.item = other;
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_WAITS))
        lt_observer->wait(party_of(b));
    if (await_end(other, party_of(b)))
        return LEAT_PARKED_;
    lt_machine_settle(machine);
    return LEAT_DONE_;
}

int leat_block_call(leat_block *b, leat_block *other, const leat_block_type *type)
{
    if (!other || other == b || !type || !type->step) {
        b->status = -EINVAL;
        return LEAT_DONE_;
    }
    init(other, party_of(b)->scope, type);
    machine_of(other)->waiter.part = true;
    struct lt_worker *here = lt_current_worker();
    if (LT_UNLIKELY(here->block_calls == LT_BLOCK_CALLS)) {
        lt_launch(party_of(other)); /* its step begins on an empty stack */
        return leat_block_await(b, other);
    }
    here->block_calls++;
    int verdict = step(other);
    here->block_calls--;
    if (verdict == LEAT_PARKED_)
        return leat_block_await(b, other);
    end(other, verdict);
    b->status = verdict;
    return LEAT_DONE_;
}
