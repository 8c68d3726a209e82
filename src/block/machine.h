/* machine.h: what blocks and callbacks share: they wait without a stack and without a home.
 *
 * A partner, the alarm or the scope can claim a parked machine. Each may be on another thread, so
 * all three must win the party's claim (lt_claim). Once the machine can be claimed, only the
 * claimer touches it: it may run elsewhere, end, and be freed.
 *
 * A block has 96 bytes, so some words serve twice:
 *  - `party.next`, while it waits on a channel, is that channel. A claimer that ends the wait for
 *    the deadline or the scope moves the channel to `waiter.item`: making the machine ready needs
 *    `next`, and the item is no longer wanted.
 *  - `waiter.item` points to the cases while it waits in a select, to the block while it awaits
 *    one, and to the call while it waits for one.
 *  - `party.scope`, while an alarm is set, is the alarm, which stores the scope meanwhile.
 *    lt_machine_settle restores all of them before the machine runs again. */
#pragma once

#include "chan/select.h"
#include "sched/pool.h"

#include <leat/block.h>

enum lt_operation {
    LT_OP_NONE,
    LT_OP_RECEIVE,
    LT_OP_SEND,
    LT_OP_SELECT,
    LT_OP_SLEEP,
    LT_OP_AWAIT,
    LT_OP_CALL
};

/* A leat_alarm from the inside. Its timer is in the wheel of the worker on which the machine
 * parked. The machine is resumed there, unless a thief moves it and removes the timer. */
struct lt_alarm {
    struct lt_timer timer; /* its owner is the machine */
    leat_scope *scope;
};

/* The outcome of an attempt. */
enum lt_attempt {
    LT_DONE,   /* waiter.status is the result */
    LT_WAITING /* the machine can be claimed, and must not be touched */
};

/* Clears the machine, and sets its kind and scope. */
void lt_machine_init(struct lt_machine *machine, enum lt_party_kind kind, leat_scope *scope);

/* Does an operation on a channel, or (below) a select of n cases; or parks until a partner does it.
 * A deadline that is a time needs `alarm`. */
enum lt_attempt lt_machine_operate(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                   void *item, int64_t deadline, leat_alarm *alarm);
/* The same when the operation could not be done just now: gets ready to wait before it tries
 * again. */
enum lt_attempt lt_machine_wait(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                void *item, int64_t deadline, leat_alarm *alarm);

/* Whether lt_machine_park may be called: there is no alarm to set, and the scope can find the
 * machine. */
static inline bool lt_machine_may_park(const struct lt_machine *machine, int64_t deadline)
{
    const struct lt_party *party = &machine->stackless.party;
    return deadline == LEAT_NEVER && (party->listed || !party->scope);
}

/* Parks, with the channel's lock held, and with an alarm inside the worker. LT_DONE: its scope is
 * cancelled. */
enum lt_attempt lt_machine_park(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                void *item, int64_t deadline, leat_alarm *alarm);

enum lt_attempt lt_machine_select(struct lt_machine *machine, struct lt_selection *s, size_t n,
                                  int64_t deadline, leat_alarm *alarm);

/* The machine that a timer is the alarm of, or NULL. For dumps, on the worker that has the
 * timer. */
const struct lt_machine *lt_alarm_machine(const struct lt_timer *timer);

/* Sleeps. */
enum lt_attempt lt_machine_sleep(struct lt_machine *machine, int64_t deadline, int64_t now,
                                 leat_alarm *alarm);

/* A function that may block: a thread of the pool runs it while the machine waits. */
struct lt_call {
    struct lt_work work;
    struct lt_machine *machine;
    int (*run)(struct lt_call *call);
    int result;
};

/* Waits until the function has returned: neither a deadline nor the scope ends this wait. Then
 * waiter.status is its result; or -ENOMEM after LT_DONE, if there is no thread for it. The machine
 * frees the call (lt_free). */
enum lt_attempt lt_machine_call(struct lt_machine *machine, struct lt_call *call);

/* After a wait, before the machine runs again: takes it out of every queue and wheel. Then
 * waiter.status is how the wait ended. */
void lt_machine_settle(struct lt_machine *machine);

/* When a ready machine moves to another worker: removes its alarm, which has no use any more. */
void lt_machine_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

/* Claims a machine that waits, and ends its wait for `reason`. False: it does not wait, or has been
 * claimed. After true the caller makes it ready or settles it. */
bool lt_machine_end(struct lt_party *party, int reason);
