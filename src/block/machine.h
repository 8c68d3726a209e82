/* machine.h: what blocks and callbacks have in common: waiting without a stack and without a home.
 *
 * A parked machine can be claimed by a partner, by its alarm or by its scope, each of which may be on
 * another thread, so here all three go by the party's claim. From the moment it can be claimed, nobody
 * but the claimer touches it: it may run elsewhere, end, and be gone.
 *
 * It has 96 bytes to live in, so some words serve twice:
 *  - `party.next`, while it waits on a channel, is that channel; who ends the wait for the deadline or the
 *    scope moves it to `waiter.item`, since making it ready needs `next`, and the item is not wanted any more.
 *  - `waiter.item`, while it waits in a select, is the cases; while it awaits a block, that block.
 *  - `party.scope`, while an alarm is set, is the alarm, which keeps the scope meanwhile.
 * lt_machine_settle puts all back before the machine goes on. */
#ifndef LT_BLOCK_MACHINE_H
#define LT_BLOCK_MACHINE_H

#include "chan/select.h"

#include <leat/block.h>
#include <leat/callback.h>

enum lt_operation { LT_OP_NONE, LT_OP_RECEIVE, LT_OP_SEND, LT_OP_SELECT, LT_OP_SLEEP, LT_OP_AWAIT };

/* A leat_alarm. Its timer is in the wheel of the worker on which the machine parked. Such a machine is
 * resumed there, unless a thief takes it, and the timer out of the wheel. */
struct lt_alarm {
    struct lt_timer timer; /* its owner is the machine */
    leat_scope *scope;
};

/* What an attempt came to. */
enum lt_attempt {
    LT_DONE,   /* waiter.status tells */
    LT_WAITING /* the machine can be claimed, and must not be touched */
};

/* Zero, but for its kind and scope. */
void lt_machine_init(struct lt_machine *machine, enum lt_party_kind kind, leat_scope *scope);

/* Does an operation on a channel, or (below) a select of n cases, or parks in it. `alarm` is wanted when the
 * deadline is a time. */
enum lt_attempt lt_machine_operate(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                   void *item, int64_t deadline, leat_alarm *alarm);
/* The second half of it: nothing could be done at once. With the channel's lock held, which it gives up. */
enum lt_attempt lt_machine_wait(struct lt_machine *machine, leat_chan *ch, enum lt_side side,
                                void *item, int64_t deadline, leat_alarm *alarm);

enum lt_attempt lt_machine_select(struct lt_machine *machine, struct lt_selection *s, size_t n,
                                  int64_t deadline, leat_alarm *alarm);

/* The machine whose alarm a timer in a wheel is; NULL when it is another's. For people who look, on the
 * worker whose wheel it is. */
const struct lt_machine *lt_alarm_machine(const struct lt_timer *timer);

/* Who waits for the block's end, or NULL; true as long as the lock is held of the list of its scope, or
 * of the wait list, on which the block is. For people who look. */
const struct lt_party *lt_block_awaiter(const leat_block *block);

/* Whether a block has ended, and nobody touches it any more. */
bool lt_block_is_over(const leat_block *block);

/* Sleeps. */
enum lt_attempt lt_machine_sleep(struct lt_machine *machine, int64_t deadline, int64_t now,
                                 leat_alarm *alarm);

/* After a wait, on the worker that goes on with it: takes it out of everything; waiter.status tells how
 * it ended. */
void lt_machine_settle(struct lt_machine *machine);

/* When a ready machine goes to another worker: its alarm, of no more use, is taken out. */
void lt_machine_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

/* Claims a machine that waits and ends its wait for `reason`; false when it does not wait, or somebody
 * was faster. It must then be made ready, or settled. */
bool lt_machine_end(struct lt_party *party, int reason);

/* Told of each operation that leat_withdraw has taken back, while it is still its caller's: a higher floor may have
 * begun it, and have to clear up. NULL: there is none. */
extern void (*lt_op_taken_back)(leat_op *op);

#endif
