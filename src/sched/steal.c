#include "sched/steal.h"

#include "base/clock.h"
#include "sched/current.h"
#include "sched/global_queue.h"
#include "sched/nudge.h"
#include "sched/runtime.h"

#include <leat/base.h>

enum { STEAL_MOST = 32 < LT_LOCAL_QUEUE_SIZE ? 32 : LT_LOCAL_QUEUE_SIZE, PATIENCE = 4 };

/* ---- looking ---- */

LT_NO_TSAN __attribute__((noinline)) unsigned lt_steal_peek(const unsigned *word)
{
    return *(const volatile unsigned *)word;
}

/* Relaxed: slightly old numbers will do. */
static struct lt_seen see(struct lt_worker *worker)
{
    return (struct lt_seen){
        .head = atomic_load_explicit(&worker->local_queue.head, memory_order_relaxed),
        /* Acquire: the parties before this tail are seen whole, if they are stolen later. */
        .tail = atomic_load_explicit(&worker->local_queue.tail, memory_order_acquire),
        .done = lt_tally_get(&worker->tally.switches) - lt_steal_peek(&worker->direct_left),
        .spent = lt_worker_spent(LT_HINT(worker->budgets), lt_steal_peek(&worker->budget)),
    };
}

/* The work of a worker between two looks. */
struct change {
    struct lt_worker *victim;
    int64_t time;  /* between the looks */
    int64_t still; /* how long it has run and made nothing, if nothing since the first look */
    uint32_t started, made; /* parties taken from its local queue; parties put into it */
    int32_t new;            /* parties in the local queue that were there before the first look */
    bool queued;            /* a party waits in the local queue */
    int64_t done;           /* switches; by chance a few too many or too few; */
    int32_t spent;          /* the same for operations that did not wait */
    bool ready;             /* a party waits in the ready list */
    bool sleeps;            /* it sleeps, or is about to wake */
};

/* How many of the parties in the local queue were there before a tail that was seen earlier. The
 * indices wrap: after 2^31 starts the difference may be more than there are now, and then none is
 * known to be that old. */
static int32_t count_old(const struct lt_seen *now, uint32_t tail)
{
    int32_t old = (int32_t)(tail - now->head);
    return old <= (int32_t)(now->tail - now->head) ? old : 0;
}

static struct change compare(const struct lt_worker *thief, struct lt_worker *victim, int64_t time)
{
    const struct lt_seen *before = &thief->stealing.seen[victim->index];
    struct lt_seen now = see(victim);
    return (struct change){
        .victim = victim,
        .time = time - thief->stealing.looked,
        .still = time - before->since,
        .started = now.head - before->head,
        .made = now.tail - before->tail,
        .new = count_old(&now, before->tail),
        .queued = now.tail != now.head,
        .done = (int64_t)(now.done - before->done),
        .spent = (int32_t)(now.spent - before->spent),
        .ready = LT_HINT(victim->ready_head) != NULL,
        .sleeps = lt_worker_is_asleep(victim),
    };
}

static bool has_stood_still(const struct change *c)
{
    return c->started == 0 && c->done == 0;
}

static bool is_held_up(const struct change *c)
{
    return has_stood_still(c) && !c->sleeps;
}

/* It may sleep in a system call. A shorter time proves nothing if workers share processors: the
 * system may just run another one. */
static bool is_blocked(const struct change *c)
{
    return is_held_up(c) && c->still >= LT_BLOCKED_US * LEAT_US;
}

/* The time is too short to judge whether unstarted parties wait too long, or what operations
 * usually take. */
static bool is_brief(const struct change *c)
{
    return c->time < LT_WATCH_FIRST_US * LEAT_US / 2;
}

/* On average it has run each party for at least LT_SLOW_NS, and each operation took at least
 * LT_SLOW_OP_NS, or half of that over a brief time, which one party's burst of sends may fill. Each
 * switch is for an operation that waited. */
static bool is_slow(const struct change *c)
{
    int64_t least = is_brief(c) ? LT_SLOW_OP_NS / 2 : LT_SLOW_OP_NS;
    return c->done >= 0 && c->time >= LT_SLOW_NS * (c->done + 1) &&
           c->time >= least * (c->done + c->spent + 1);
}

/* Over a longer time, a worker may just have had little to do. */
static bool is_certain(const struct change *c)
{
    return c->time <= 4 * LT_WATCH_FIRST_US * LEAT_US || is_held_up(c);
}

/* Whether a worker that is held up has something else to do. */
static bool has_more(struct lt_worker *worker, int64_t now)
{
    return lt_worker_has_mail(worker) || lt_worker_is_nudged(worker) ||
           lt_shared_timers_have_moved(&worker->shared_timers) ||
           LT_HINT(worker->next_timer) <= now || lt_uring_has_more(&worker->reactor.ring);
}

/* ---- taking unstarted parties ---- */

/* How many more parties the thief has stacks for, and room in its local queue. */
static uint32_t room(struct lt_worker *worker)
{
    /* `pending` has left the queue, and may need a stack, too. */
    uint32_t queued = lt_local_queue_length(&worker->local_queue) + (worker->pending != NULL);
    size_t wanted = queued + STEAL_MOST;
    if (lt_magazine_tasks(&worker->magazine) < wanted && lt_stack_credits_get(STEAL_MOST))
        worker->magazine.credits += STEAL_MOST;
    size_t stacks = lt_magazine_tasks(&worker->magazine);
    size_t most = stacks < LT_LOCAL_QUEUE_SIZE ? stacks : LT_LOCAL_QUEUE_SIZE;
    most = most < wanted ? most : wanted;
    return most > queued ? (uint32_t)most - queued : 0;
}

/* Whether each party that it has started meanwhile took that long. */
static bool starts_slowly(const struct change *c)
{
    return c->time >= LT_SLOW_NS * ((int64_t)c->started + 1);
}

/* Whether its running party holds up the others. A thief that runs dry again and again makes only
 * brief looks. */
static bool is_stuck(const struct change *c)
{
    return is_held_up(c) && (!is_brief(c) || c->still >= LT_LATE_US * LEAT_US);
}

/* Its running party has made no other party for a while, and so ends no burst soon. */
static bool is_computing(const struct change *c)
{
    return is_held_up(c) && c->made == 0 && c->still >= LT_STEAL_AFTER_US * LEAT_US;
}

/* A worker that is making more parties in a burst and has started none: that does not show how long
 * they will take. */
static bool is_making(struct lt_worker *thief, const struct change *c)
{
    if (is_computing(c))
        return false;
    if (is_brief(c))
        return true;
    return c->made > (uint32_t)c->new && thief->stealing.patience < PATIENCE &&
           ++thief->stealing.patience;
}

static bool new_pay(struct lt_worker *thief, const struct change *c)
{
    if (c->started == 0)
        return !is_making(thief, c);
    return starts_slowly(c) || (uint32_t)c->new / PATIENCE >= c->started;
}

static uint32_t take_new(struct lt_worker *thief, const struct change *c)
{
    const struct lt_seen *seen = &thief->stealing.seen[c->victim->index];
    size_t credits = thief->magazine.credits;
    uint32_t half = ((uint32_t)c->new + 1) / 2, most = room(thief);
    struct lt_party *taken[STEAL_MOST];
    uint32_t n =
        lt_local_queue_steal(&c->victim->local_queue, seen->tail, half < most ? half : most, taken);
    if (n == 0 && thief->magazine.credits > credits) {
        /* The thief may sleep on, and has recorded what it keeps: sched/reclaim.h. */
        lt_stack_credits_return(thief->magazine.credits - credits);
        thief->magazine.credits = credits;
    }
    for (uint32_t i = 0; i < n; i++)
        lt_local_queue_push(&thief->local_queue, taken[i]); /* there is room */
    lt_tally_add(&thief->tally.stolen, n);
    return n;
}

/* ---- taking ready parties: inside the other worker ---- */

bool lt_steal_stays(struct lt_worker *victim, struct lt_party *party)
{
    if (party->kind == LT_TASK) {
        struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
        return task->stays || task->pins > 0 || lt_runtime.pinned ||
               task == lt_worker_running(victim);
    }
    return party->kind == LT_JOB && LT_CONTAINER(party, struct lt_job, party)->inside;
}

bool lt_steal_move(struct lt_party *party, struct lt_worker *from, struct lt_worker *to)
{
    if (lt_steal_stays(from, party))
        return false;
    if (lt_kinds.moves[party->kind])
        lt_kinds.moves[party->kind](party, from, to);
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    if (party->kind == LT_TASK && lt_task_home(task)) {
        lt_task_set_home(task, to);
        lt_tally_add(&from->tally.live, UINT64_MAX);
        lt_tally_add(&to->tally.live, 1);
    }
    return true;
}

/* Half of the ready parties, or fewer if there are very many. */
static uint32_t half(const struct lt_worker *victim)
{
    uint32_t n = 0;
    for (const struct lt_party *party = victim->ready_head; party && n < 2 * STEAL_MOST;
         party = party->next)
        n++;
    return (n + 1) / 2;
}

/* Moves up to `most` ready parties. */
static uint32_t take_ready(struct lt_worker *thief, struct lt_worker *victim, uint32_t most)
{
    uint32_t taken = 0;
    struct lt_party **at = &victim->ready_head, *party;
    while ((party = *at) && taken < most) {
        if (!lt_steal_move(party, victim, thief)) {
            at = &party->next;
            continue;
        }
        LT_SET_HINT(*at, party->next);
        if (!party->next)
            victim->ready_end = at;
        lt_worker_append_inside(thief, party);
        taken++;
    }
    lt_tally_add(&thief->tally.moved, taken);
    return taken;
}

/* Goes inside a worker that runs something. */
static bool visit_awake(struct lt_worker *worker)
{
    if (!lt_owned_visit(&worker->own))
        return false;
    if (!worker->own.away)
        return true;
    lt_owned_end_visit(&worker->own, false);
    return false;
}

/* Does what the worker itself would do between parties. What this makes ready comes through the
 * inbox, or goes to the thief's list. */
static void stand_in(struct lt_worker *victim, int64_t now)
{
    /* First, since the running party may set a shared timer meanwhile. */
    LT_SET_HINT(victim->next_timer, LEAT_NEVER);
    lt_shared_timers_settle(&victim->shared_timers);
    lt_reactor_stand_in(victim);           /* so that only cancels are in the ring's queue */
    lt_wheel_advance(&victim->wheel, now); /* which may nudge */
    lt_worker_look_at_nudges(victim);
    lt_reactor_stand_in(victim);
    lt_worker_expect(victim, lt_wheel_next(&victim->wheel));
}

/* The thief also has something to run if it made parties ready, or put them into the global queue,
 * as it stood in. */
bool lt_steal_visit(struct lt_worker *thief, struct lt_worker *victim, bool held_up, int64_t now)
{
    if (!visit_awake(victim))
        return false;
    if (held_up) {
        stand_in(victim, now);
        lt_worker_drain(victim);
    }
    uint32_t taken = take_ready(thief, victim, half(victim));
    lt_owned_end_visit(&victim->own, taken > 0);
    return thief->ready_head || lt_global_queue_any();
}

static bool visit(struct lt_worker *thief, const struct change *c, int64_t now)
{
    return lt_steal_visit(thief, c->victim, is_stuck(c), now);
}

/* ---- a round ---- */

/* For a worker that is held up: the parties that its reactor makes ready come through its inbox, or
 * run here. */
static bool look_for(struct lt_worker *thief, const struct change *c)
{
    return is_stuck(c) && lt_reactor_has_sources(&c->victim->reactor) &&
           lt_reactor_look(c->victim) && thief->ready_head;
}

/* Nothing happens on that worker of which it would not notify others. */
static bool is_quiet(const struct change *c)
{
    return has_stood_still(c) && (c->sleeps || !lt_reactor_has_sources(&c->victim->reactor));
}

static enum lt_loot from(struct lt_worker *thief, const struct change *c, int64_t now)
{
    bool taken = look_for(thief, c), later = false;
    if (c->new > 0) {
        later = !new_pay(thief, c);
        taken |= !later && take_new(thief, c) > 0;
    } else if (c->queued) {
        later = starts_slowly(c);
    }
    bool waits = c->ready && is_slow(c);
    bool more = is_stuck(c) && has_more(c->victim, now);
    if (more || (!taken && waits && is_certain(c)))
        taken |= visit(thief, c, now);
    if (taken)
        return LT_LOOT_TAKEN;
    if (later || waits)
        return LT_LOOT_LATER;
    return is_quiet(c) ? LT_LOOT_QUIET : LT_LOOT_NONE;
}

/* The i-th worker after the thief. */
static struct lt_worker *nth(const struct lt_worker *thief, unsigned i)
{
    return lt_runtime.workers[(thief->index + i) % lt_runtime.worker_count];
}

/* How many of the other workers use a processor, as far as that shows. 0 without counting if each
 * worker can have its own. */
static unsigned busy(const struct lt_worker *worker, int64_t now)
{
    unsigned n = 0;
    if (lt_runtime.worker_count <= lt_runtime.processors)
        return 0;
    for (unsigned i = 1; i < lt_runtime.worker_count; i++) {
        struct lt_worker *other = nth(worker, i);
        struct change c = compare(worker, other, now);
        n += !c.sleeps && !is_blocked(&c);
    }
    return n;
}

bool lt_steal_look(struct lt_worker *thief, int64_t now)
{
    bool any = false;
    thief->stealing.looked = now;
    for (unsigned i = 1; i < lt_runtime.worker_count; i++) {
        struct lt_worker *victim = nth(thief, i);
        struct lt_seen *seen = &thief->stealing.seen[victim->index], before = *seen;
        *seen = see(victim);
        bool still =
            seen->head == before.head && seen->tail == before.tail && seen->done == before.done;
        seen->since = still ? before.since : now;
        any |= seen->tail != seen->head || LT_HINT(victim->ready_head) ||
               lt_worker_has_mail(victim) || lt_worker_is_nudged(victim);
    }
    return any;
}

enum lt_loot lt_steal(struct lt_worker *thief, int64_t now)
{
    enum lt_loot most = LT_LOOT_QUIET;
    bool full = busy(thief, now) >= lt_runtime.processors;
    for (unsigned i = 1; i < lt_runtime.worker_count && most < LT_LOOT_TAKEN; i++) {
        struct lt_worker *victim = nth(thief, i);
        struct change c = compare(thief, victim, now);
        enum lt_loot loot = full && !is_blocked(&c) ? LT_LOOT_NONE : from(thief, &c, now);
        most = loot > most ? loot : most;
    }
    if (most != LT_LOOT_LATER)
        thief->stealing.patience = 0;
    lt_steal_look(thief, now);
    return most;
}

void lt_steal_give(struct lt_worker *worker)
{
    int64_t now = lt_clock_now();
    worker->surplus = false;
    for (unsigned i = 1; i < lt_runtime.worker_count && worker->ready_head; i++) {
        struct lt_worker *other = nth(worker, i);
        struct change c = compare(worker, other, now);
        if (c.sleeps || has_stood_still(&c) || !visit_awake(other))
            continue;
        uint32_t given = take_ready(other, worker, UINT32_MAX);
        lt_owned_end_visit(&other->own, given > 0);
        if (given > 0)
            lt_worker_notify(other);
    }
    lt_steal_look(worker, now);
}

/* While an anchor has to be moved, `next_timer` may be late: two threads may have written it at
 * once. */
bool lt_steal_saw_all(const struct lt_worker *thief)
{
    bool all = true;
    for (unsigned i = 1; i < lt_runtime.worker_count && all; i++) {
        struct lt_worker *victim = nth(thief, i);
        all = lt_worker_is_asleep(victim) ||
              !(lt_owned_is_inside(&victim->own) || lt_reactor_has_sources(&victim->reactor) ||
                lt_shared_timers_have_moved(&victim->shared_timers));
    }
    return all;
}

int64_t lt_steal_next(const struct lt_worker *thief)
{
    int64_t next = LEAT_NEVER;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        const struct lt_worker *worker = lt_runtime.workers[i];
        int64_t timer = LT_HINT(worker->next_timer);
        next = worker != thief && timer < next ? timer : next;
    }
    return next;
}

/* A worker that is merely slow is as busy as this one, and serves its parties as soon. */
static bool is_late(const struct lt_worker *worker, const struct change *c)
{
    return is_held_up(c) && c->still >= LT_LATE_PARTIES * worker->duties.pace;
}

void lt_look_after_others(struct lt_worker *worker, int64_t now)
{
    for (unsigned i = 1; i < lt_runtime.worker_count; i++) {
        struct change c = compare(worker, nth(worker, i), now);
        if (!is_late(worker, &c))
            continue;
        look_for(worker, &c);
        if (c.new > 0 && new_pay(worker, &c))
            take_new(worker, &c);
        if (c.ready || has_more(c.victim, now))
            visit(worker, &c, now);
    }
    if (busy(worker, now) >= lt_runtime.processors)
        lt_steal_give(worker);
    else
        lt_steal_look(worker, now);
}
