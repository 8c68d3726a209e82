/* leat/block.h: blocks: functions that wait without a stack of their own.
 *
 * A block is a struct of the caller's with a leat_block in it, and a step function. The step
 * function is written as straight-line code. Each LEAT_AWAIT_… in it either continues at once, or
 * returns from the function. If it has returned, leat calls the function again later, and the
 * function continues at that line:
 *
 *     struct search { leat_block block; leat_alarm alarm; leat_chan *out; struct hit hit; };
 *
 *     static int search(leat_block *b) {
 *         struct search *me = (struct search *)b;
 *         LEAT_BEGIN(b);
 *         LEAT_AWAIT_SLEEP(b, 100 * LEAT_MS, &me->alarm);
 *         LEAT_AWAIT_SEND(b, me->out, &me->hit);
 *         LEAT_END(b);
 *     }
 *     …
 *     leat_go_block(scope, &me->block, search);
 *
 * A block uses the same channels by the same rules as a task. It costs 96 bytes and the struct's
 * own fields. Starting a block and waiting in it allocate nothing, so a program can have a million.
 * A block runs on one worker at a time, and may continue on another after a wait.
 *
 * Rules for a step function, between LEAT_BEGIN and LEAT_END:
 *  - Awaits may stand in loops, branches and switches, at any depth.
 *  - A local variable does not survive an await, since the function returns there: values that must
 *    last belong in the struct. Locals declared before LEAT_BEGIN are set anew each time the
 *    function is called (`me` in the example). gcc's -Wmaybe-uninitialized (from -O1) and clang's
 *    -Wconditional-uninitialized find many mistakes. A variable-length array must not be in scope
 *    at an await.
 *  - An await right before a case label needs `__attribute__((fallthrough));` where falling through
 *    is meant.
 *  - Functions that wait (leat_recv, leat_sleep, leat_select with a deadline, …) return -EDEADLK
 *    where they would have to wait; the try forms work. A block cannot open scopes or shield
 *    itself.
 *  - The arguments of an await are evaluated once, before it waits.
 *  - After an await, b->status is its result.
 *
 * A block belongs to a scope, which cancels and joins it. Its struct is the caller's and must
 * stay where it is until the block has ended: until its scope is closed, or the block has been
 * awaited. */
#ifndef LEAT_BLOCK_H
#define LEAT_BLOCK_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/select.h>

typedef struct leat_block leat_block;

/* A step function. The value of LEAT_RETURN is the block's verdict, like the value that a task
 * returns. */
typedef int leat_step(leat_block *block);

/* What a block runs: its step function, and a name for dumps. */
typedef struct leat_block_type {
    leat_step *step;
    const char *name; /* NULL is allowed */
} leat_block_type;

/* The head of a block's struct. leat_go_block sets all of it. Users may read `status` and
 * `line`. */
struct leat_block {
    void *leat_private[9];
    int status; /* the last await's result, as the function of that name would have returned it */
    unsigned leat_flags;
    const leat_block_type *type;
    int leat_resume;
    unsigned line; /* the line of the source at which it waits or has waited last */
};

/* Memory for a block's timer. A block that sleeps or has deadlines has an alarm in its struct. leat
 * uses the alarm during each await that it is passed to. The alarm need not be initialised. */
typedef struct leat_alarm {
    void *leat_private[8];
} leat_alarm;

/*     int leat_go_block(leat_scope *scope, leat_block *block, step);
 *
 * Starts a block in `scope`; some worker runs it soon. Sets all of *block. `step` is the name of a
 * function (it becomes part of a constant). A party that may call leat_go for the scope may call
 * this.
 * Returns 0; -EINVAL for a NULL argument. It cannot run out of memory. */
#define leat_go_block(scope, block, step) leat_go_block_typed(scope, block, LEAT_BLOCK_TYPE_(step))

/* The same as a function, for a step function chosen at run time. `type` is not copied: it must
 * stay valid until the block has ended.
 * Returns what leat_go_block does; -EINVAL also for a NULL `step` in it. */
LEAT_API int leat_go_block_typed(leat_scope *scope, leat_block *block, const leat_block_type *type);

/* Waits until the block has ended. For tasks and threads. Cancelling does not end this wait; it
 * ends the block. At most one party may wait for a block.
 * Returns the block's verdict; -EINVAL for NULL; -EDEADLK in a block or callback. */
LEAT_API int leat_block_join(leat_block *block);

/* Begins the step function's body. If the block has waited, jumps to the await in which it waited
 * last. */
#define LEAT_BEGIN(b) \
    do { \
        if ((b)->leat_resume) \
            LEAT_GOTO_(LEAT_LABEL_(leat_begin) + (b)->leat_resume); \
    leat_begin:; \
    } while (0)

/* Ends the step function: the block's verdict is 0. */
#define LEAT_END(b) \
    do { \
        (void)(b); \
        return 0; \
    } while (0)

/* Ends the block with the verdict `value`: 0, or a negative errno value, which cancels the
 * scope. */
#define LEAT_RETURN(b, value) \
    do { \
        (void)(b); \
        return (value); \
    } while (0)

/* Sends `item` on `chan`, closes the channel, and ends the block with the verdict 0: like the value
 * of a go block in core.async. If the channel has room or a receiver waits, the block does not
 * wait, and the item is sent even in a cancelled scope. Otherwise the block waits; if it is
 * cancelled then, it cuts the channel short (leat_cut). An item that was not sent goes to the
 * channel's drop function. */
#define LEAT_RETURN_ON(b, chan, item) \
    do { \
        (b)->status = leat_try_send(chan, item); \
        if ((b)->status == -EAGAIN) \
            LEAT_AWAIT_SEND(b, chan, item); \
        if (((b)->status == -EPIPE || (b)->status == -ECANCELED) && leat_chan_drop_fn(chan)) \
            leat_chan_drop_fn(chan)(LEAT_ITEM_(item)); \
        if ((b)->status == -ECANCELED) \
            leat_cut(chan); \
        else \
            leat_close(chan); \
        return 0; \
    } while (0)

/* Send or receive as leat_send and leat_recv do; b->status is the result. */
#define LEAT_AWAIT_SEND(b, chan, item) \
    LEAT_AWAIT_(b, leat_block_send(b, chan, item, LEAT_NEVER, NULL))
#define LEAT_AWAIT_RECV(b, chan, item) \
    LEAT_AWAIT_(b, leat_block_recv(b, chan, item, LEAT_NEVER, NULL))

/* The same with a deadline, as leat_send_until and leat_recv_until. `alarm` is memory for the
 * block's timer; it may be NULL with LEAT_NEVER and LEAT_NOW. If it is NULL and the block would
 * have to wait until another deadline, b->status is -EINVAL. */
#define LEAT_AWAIT_SEND_UNTIL(b, chan, item, deadline, alarm) \
    LEAT_AWAIT_(b, leat_block_send(b, chan, item, deadline, alarm))
#define LEAT_AWAIT_RECV_UNTIL(b, chan, item, deadline, alarm) \
    LEAT_AWAIT_(b, leat_block_recv(b, chan, item, deadline, alarm))

/* Wait for one of n cases, 1 to INT_MAX, as leat_select and leat_select_ordered do. The cases
 * must stay where they are during the wait: in the block's struct. `alarm` is as for
 * LEAT_AWAIT_SEND_UNTIL. b->status is the index of the case that happened, or an error. */
#define LEAT_AWAIT_SELECT(b, cases, n, deadline, alarm) \
    LEAT_AWAIT_(b, leat_block_select(b, cases, n, deadline, alarm, 0))
#define LEAT_AWAIT_SELECT_ORDERED(b, cases, n, deadline, alarm) \
    LEAT_AWAIT_(b, leat_block_select(b, cases, n, deadline, alarm, 1))

/* Sleep for `ns` nanoseconds, or until the deadline; b->status is 0, -ECANCELED, or -EINVAL for
 * a NULL alarm or a negative deadline. */
#define LEAT_AWAIT_SLEEP(b, ns, alarm) LEAT_AWAIT_(b, leat_block_sleep_for(b, ns, alarm))
#define LEAT_AWAIT_SLEEP_UNTIL(b, deadline, alarm) \
    LEAT_AWAIT_(b, leat_block_sleep(b, deadline, alarm))

/* Lets other parties run first; b->status is 0. */
#define LEAT_AWAIT_YIELD(b) LEAT_AWAIT_(b, leat_block_yield(b))

/* Waits until the block `other` has ended; b->status is its verdict, or -EINVAL for NULL or the
 * block itself. As in leat_block_join, cancelling does not end this wait. */
#define LEAT_AWAIT_BLOCK(b, other) LEAT_AWAIT_(b, leat_block_await(b, other))

/* Runs the block `other` as a part of this one, from beginning to end. `other` starts at once; its
 * struct may be a field of this block's struct. `step` is as for leat_go_block. b->status is the
 * verdict of `other`, which cancels nothing; or -EINVAL for NULL or the block itself. Calls may
 * nest as deep as you like: when 64 are under way on a worker's stack, the next one is queued. */
#define LEAT_AWAIT_CALL(b, other, step) \
    LEAT_AWAIT_(b, leat_block_call(b, other, LEAT_BLOCK_TYPE_(step)))

/* ---- what the macros are made of ---- */

enum { LEAT_DONE_ = 0, LEAT_PARKED_ = INT32_MIN };

/* For the macros only, in the block's own step function. b->status is the result.
 * Returns LEAT_DONE_; or LEAT_PARKED_, and then the step function must return, too. */
LEAT_API int leat_block_send(leat_block *b, leat_chan *ch, const void *item, int64_t deadline,
                             leat_alarm *alarm);
LEAT_API int leat_block_recv(leat_block *b, leat_chan *ch, void *item, int64_t deadline,
                             leat_alarm *alarm);
LEAT_API int leat_block_select(leat_block *b, leat_case *cases, size_t n, int64_t deadline,
                               leat_alarm *alarm, int ordered);
LEAT_API int leat_block_sleep(leat_block *b, int64_t deadline, leat_alarm *alarm);
LEAT_API int leat_block_sleep_for(leat_block *b, int64_t ns, leat_alarm *alarm);
LEAT_API int leat_block_yield(leat_block *b);
LEAT_API int leat_block_await(leat_block *b, leat_block *other);
LEAT_API int leat_block_call(leat_block *b, leat_block *other, const leat_block_type *type);

/* The place to continue at is kept as a distance between labels. Between setting it and the
 * label nothing may touch *b: when the operation has parked the block, it may already run
 * elsewhere. */
/* clang-format off */
#define LEAT_BLOCK_TYPE_(step) \
    __extension__({ \
        static const leat_block_type leat_type_ = { (step), LEAT_HERE(step) }; \
        &leat_type_; \
    })
#define LEAT_LABEL_(label) LEAT_CAST_(char *, __extension__ &&label)
#define LEAT_GOTO_(address) __extension__({ goto *LEAT_CAST_(void *, address); })
/* clang-format on */
#define LEAT_PASTE2_(a, b) a##b
#define LEAT_PASTE_(a, b) LEAT_PASTE2_(a, b)
#define LEAT_AWAIT_(b, operation) \
    LEAT_AWAIT_LABEL_(b, operation, LEAT_PASTE_(leat_resume_, __COUNTER__))
#define LEAT_AWAIT_LABEL_(b, operation, label) \
    do { \
        (b)->leat_resume = LEAT_CAST_(int, LEAT_LABEL_(label) - LEAT_LABEL_(leat_begin)); \
        (b)->line = __LINE__; \
        if ((operation) == LEAT_PARKED_) \
            return LEAT_PARKED_; \
    label:; \
    } while (0)

#endif
