#include "block/machine.h"

#include "base/alloc.h"
#include "chan/now.h"
#include "sched/probe.h"
#include "sched/worker.h"

#include <string.h>

_Static_assert(sizeof(struct lt_machine) == 80, "a block has no room for more");
_Static_assert(sizeof(struct lt_alarm) <= sizeof(leat_alarm), "fits the public struct");

void lt_machine_init(struct lt_machine *machine, enum lt_party_kind kind, leat_scope *scope)
{
    memset(machine, 0, sizeof *machine);
    machine->stackless.party.kind = (uint8_t)kind;
    machine->stackless.party.scope = scope;
    machine->waiter.shared = machine->waiter.embedded = true;
}

/* ---- alarms ---- */

static void alarm_rang(struct lt_timer *timer)
{
    struct lt_machine *machine = timer->owner;
    struct lt_party *party = &machine->stackless.party;
    if (lt_machine_end(party, -ETIMEDOUT)) {
        lt_list_fetch_neighbours(&machine->stackless.member);
        lt_ready(party);
    }
}

const struct lt_machine *lt_alarm_machine(const struct lt_timer *timer)
{
    return timer->fire == alarm_rang ? timer->owner : NULL;
}

/* Goes inside the worker if an alarm will be set: before any lock, until the machine can be claimed
 * and is no longer touched. NULL: there is no alarm. */
static struct lt_worker *go_in_for_alarm(int64_t deadline)
{
    struct lt_worker *worker = deadline == LEAT_NEVER ? NULL : lt_current_worker();
    if (worker)
        lt_worker_go_in(worker);
    return worker;
}

static void go_out(struct lt_worker *worker)
{
    if (worker)
        lt_worker_go_out(worker);
}

static void set_alarm(struct lt_machine *machine, int64_t deadline, leat_alarm *given)
{
    if (deadline == LEAT_NEVER)
        return;
    struct lt_party *party = &machine->stackless.party;
    struct lt_alarm *alarm = (struct lt_alarm *)(void *)given;
    struct lt_worker *worker = lt_current_worker();
    alarm->timer.node.next = NULL;
    alarm->timer.deadline = deadline;
    alarm->timer.fire = alarm_rang;
    alarm->timer.owner = machine;
    alarm->scope = party->scope;
    party->scope = (leat_scope *)(void *)alarm;
    party->timer_home = (worker->index + 1) & 0x1ff;
    lt_worker_add_timer(worker, &alarm->timer);
}

/* Inside the worker whose wheel has the alarm. */
static void clear_alarm(struct lt_party *party, struct lt_worker *worker)
{
    struct lt_alarm *alarm = (struct lt_alarm *)(void *)party->scope;
    party->scope = alarm->scope;
    party->timer_home = 0;
    lt_wheel_remove(&worker->wheel, &alarm->timer);
}

void lt_machine_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to)
{
    (void)to;
    if (party->timer_home)
        clear_alarm(party, from);
}

/* ---- waiting ---- */

/* Called before the machine can be claimed; with an alarm, inside the worker. */
static void begin_wait(struct lt_machine *machine, int64_t deadline, leat_alarm *alarm)
{
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_WAITS))
        lt_observer->wait(&machine->stackless.party);
    set_alarm(machine, deadline, alarm);
}

/* Called when the machine has been claimed, or never could be. */
static void end_wait(struct lt_party *party)
{
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_WAITS))
        lt_observer->wait_over(party);
    if (!party->timer_home)
        return;
    struct lt_worker *worker = lt_current_worker();
    bool before = lt_worker_enter(worker);
    clear_alarm(party, worker);
    lt_worker_leave(worker, before);
}

static enum lt_attempt done(struct lt_machine *machine, int status, struct lt_party *woken)
{
    lt_ready_all(woken);
    machine->stackless.party.operation = LT_OP_NONE;
    machine->waiter.status = status;
    return LT_DONE;
}

/* Lets the scope find the machine. 0, or an error if it may not wait. */
static int prepare(struct lt_machine *machine, int64_t deadline, const leat_alarm *alarm)
{
    struct lt_stackless *stackless = &machine->stackless;
    if (deadline != LEAT_NEVER && !alarm)
        return -EINVAL;
    if (stackless->party.scope && !stackless->party.listed)
        lt_scope_enlist_stackless(stackless);
    return lt_wait_allowed(&stackless->party);
}

enum lt_attempt lt_machine_park(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                void *item, int64_t deadline, leat_alarm *alarm)
{
    struct lt_party *party = &machine->stackless.party;
    struct lt_waiter *waiter = &machine->waiter;
    leat_scope *scope = party->scope;
    waiter->item = item;
    waiter->status = LT_UNDECIDED;
    party->next = (struct lt_party *)(void *)ch;
    party->operation = side == LT_RECEIVE ? LT_OP_RECEIVE : LT_OP_SEND;
    begin_wait(machine, deadline, alarm);
    lt_claim_open(party);
    /* A canceller may claim it from here on, but settling it takes the channel's lock. */
    if (lt_claim_recheck(party, scope)) {
        end_wait(party);
        return done(machine, -ECANCELED, NULL);
    }
    lt_chan_enqueue(ch, side, waiter);
    return LT_WAITING;
}

/* Tries, and if it must wait, parks if it `may_park`. Otherwise the status is then LT_NOT_NOW. */
static enum lt_attempt try_or_park(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                   void *item, int64_t deadline, leat_alarm *alarm, bool may_park)
{
    struct lt_party *woken;
    enum lt_attempt attempt = LT_DONE;
    struct lt_worker *inside = may_park ? go_in_for_alarm(deadline) : NULL;
    lt_chan_lock(ch);
    int status = lt_chan_now(ch, side, item, &woken);
    bool parks = status == LT_NOT_NOW && may_park;
    if (parks)
        attempt = lt_machine_park(machine, ch, side, item, deadline, alarm);
    lt_chan_unlock(ch);
    go_out(inside);
    if (parks)
        return attempt;
    return done(machine, lt_wait_outcome(&machine->stackless.party, status), woken);
}

enum lt_attempt lt_machine_wait(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                void *item, int64_t deadline, leat_alarm *alarm)
{
    int error = deadline == LEAT_NOW ? -EAGAIN : prepare(machine, deadline, alarm);
    if (error)
        return done(machine, error, NULL);
    return try_or_park(machine, ch, side, item, deadline, alarm, true);
}

enum lt_attempt lt_machine_operate(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                   void *item, int64_t deadline, leat_alarm *alarm)
{
    int error = lt_chan_check(ch, side, item);
    if (!error)
        error = deadline < 0 ? -EINVAL : lt_wait_allowed(&machine->stackless.party);
    if (error)
        return done(machine, error, NULL);
    if (lt_chan_done_split(ch, side, item))
        return done(machine, 0, NULL);
    enum lt_attempt attempt = try_or_park(machine, ch, side, item, deadline, alarm,
                                          lt_machine_may_park(machine, deadline));
    if (attempt == LT_WAITING || machine->waiter.status != LT_NOT_NOW)
        return attempt;
    return lt_machine_wait(machine, ch, side, item, deadline, alarm);
}

/* A select without channels: no channel's lock keeps claimers away, so lt_claim_open is the last
 * access to the machine. No recheck: cancellers mark under the scope's lock, and claim later. */
static enum lt_attempt wait_for_nothing(struct lt_machine *machine, int64_t deadline,
                                        leat_alarm *alarm)
{
    struct lt_party *party = &machine->stackless.party;
    leat_scope *scope = party->scope;
    if (!scope && deadline == LEAT_NEVER)
        return done(machine, -EDEADLK, NULL);
    struct lt_worker *inside = go_in_for_alarm(deadline);
    if (scope)
        lt_lock(&scope->lock);
    bool cancelled = scope && lt_scope_is_cancelled(scope);
    if (!cancelled) {
        begin_wait(machine, deadline, alarm);
        lt_claim_open(party);
    }
    if (scope)
        lt_unlock(&scope->lock);
    go_out(inside);
    return cancelled ? done(machine, -ECANCELED, NULL) : LT_WAITING;
}

/* Called when a case was done without a wait. */
static enum lt_attempt done_case(struct lt_machine *machine, leat_case *cases, uint32_t i,
                                 struct lt_party *woken)
{
    return done(machine, lt_select_outcome(cases, i, &machine->stackless.party), woken);
}

/* A select that begins to wait. */
struct beginning {
    struct lt_beginning select;
    struct lt_machine *machine;
    int64_t deadline;
    leat_alarm *alarm;
};

static void begin_select(struct lt_beginning *select)
{
    struct beginning *begins = LT_CONTAINER(select, struct beginning, select);
    begin_wait(begins->machine, begins->deadline, begins->alarm);
}

enum lt_attempt lt_machine_select(struct lt_machine *machine, struct lt_selection *s, size_t n,
                                  int64_t deadline, leat_alarm *alarm)
{
    struct lt_party *party = &machine->stackless.party, *woken = NULL;
    struct lt_waiter *waiter = &machine->waiter;
    int error = n ? lt_select_check(s, n, deadline) : -EINVAL;
    if (!error)
        error = lt_wait_allowed(party);
    if (error)
        return done(machine, error, NULL);
    uint32_t i = lt_select_try(s, &woken);
    if (i < s->n)
        return done_case(machine, s->cases, i, woken);
    if (deadline == LEAT_NOW) {
        i = lt_select_enter(s, NULL, &woken);
        return i < s->n ? done_case(machine, s->cases, i, woken) : done(machine, -EAGAIN, woken);
    }
    error = prepare(machine, deadline, alarm);
    if (error)
        return done(machine, error, NULL);
    s->scope = party->scope;
    waiter->item = s->cases;
    waiter->status = LT_UNDECIDED;
    party->operation = LT_OP_SELECT;
    lt_select_remember(s);
    if (!s->any)
        return wait_for_nothing(machine, deadline, alarm);
    struct beginning begins = {
        { begin_select, deadline != LEAT_NEVER }, machine, deadline, alarm
    };
    s->beginning = &begins.select;
    i = lt_select_enter(s, party, &woken);
    if (i == s->n && !s->ended)
        return LT_WAITING;
    if (!s->ended)
        return done_case(machine, s->cases, i, woken);
    end_wait(party);
    return done(machine, -ECANCELED, woken);
}

enum lt_attempt lt_machine_sleep(struct lt_machine *machine, int64_t deadline, int64_t now,
                                 leat_alarm *alarm)
{
    struct lt_party *party = &machine->stackless.party;
    int error = deadline < 0 || !alarm ? -EINVAL : prepare(machine, deadline, alarm);
    if (error || deadline <= now)
        return done(machine, error, NULL);
    leat_scope *scope = party->scope;
    party->operation = LT_OP_SLEEP;
    machine->waiter.status = LT_UNDECIDED;
    deadline = deadline == LEAT_NEVER ? LEAT_NEVER - 1 : deadline;
    struct lt_worker *inside = go_in_for_alarm(deadline);
    begin_wait(machine, deadline, alarm);
    /* The alarm binds the machine to this worker, so it cannot run before `go_out`. */
    lt_claim_open(party);
    bool ended = lt_claim_recheck(party, scope);
    go_out(inside);
    if (!ended)
        return LT_WAITING;
    end_wait(party);
    return done(machine, -ECANCELED, NULL);
}

/* ---- calls on threads of the pool ---- */

static void run_call(struct lt_work *work)
{
    struct lt_call *call = LT_CONTAINER(work, struct lt_call, work);
    call->result = call->run(call);
    lt_ready(&call->machine->stackless.party);
}

enum lt_attempt lt_machine_call(struct lt_machine *machine, struct lt_call *call)
{
    struct lt_party *party = &machine->stackless.party;
    call->work.run = run_call;
    call->machine = machine;
    machine->waiter.item = call;
    party->operation = LT_OP_CALL;
    begin_wait(machine, LEAT_NEVER, NULL);
    /* No party can claim it. The pool's mutex lets the thread see it whole. */
    int error = lt_pool_submit(&call->work);
    if (!error)
        return LT_WAITING;
    lt_free(call);
    end_wait(party);
    return done(machine, error, NULL);
}

/* ---- the end of a wait ---- */

bool lt_machine_end(struct lt_party *party, int reason)
{
    if (!lt_claim(party))
        return false;
    struct lt_machine *machine = LT_CONTAINER(party, struct lt_machine, stackless.party);
    if (party->operation == LT_OP_RECEIVE || party->operation == LT_OP_SEND)
        machine->waiter.item = party->next;
    machine->waiter.withdrawn = true;
    machine->waiter.status = reason;
    return true;
}

void lt_machine_settle(struct lt_machine *machine)
{
    struct lt_party *party = &machine->stackless.party;
    struct lt_waiter *waiter = &machine->waiter;
    end_wait(party);
    enum lt_operation operation = party->operation;
    party->operation = LT_OP_NONE;
    switch (operation) {
    case LT_OP_RECEIVE:
    case LT_OP_SEND: {
        if (LT_LIKELY(!waiter->status))
            break;
        if (!waiter->withdrawn) {
            waiter->status = lt_wait_outcome(party, waiter->status);
            break;
        }
        leat_chan *ch = waiter->item;
        lt_chan_lock(ch);
        lt_chan_dequeue(ch, operation == LT_OP_SEND ? LT_SEND : LT_RECEIVE, waiter);
        lt_chan_unlock(ch);
        break;
    }
    case LT_OP_SELECT: {
        uint32_t n = lt_select_recall(waiter->item), i = lt_select_take_out(waiter->item, n);
        if (i < n)
            waiter->status = lt_select_outcome(waiter->item, i, party);
        break;
    }
    case LT_OP_SLEEP:
        if (waiter->status == -ETIMEDOUT)
            waiter->status = 0;
        break;
    case LT_OP_AWAIT: waiter->status = ((leat_block *)waiter->item)->status; break;
    case LT_OP_CALL: {
        struct lt_call *call = waiter->item;
        waiter->status = call->result;
        lt_free(call);
        break;
    }
    case LT_OP_NONE: break;
    }
    waiter->withdrawn = false;
}
