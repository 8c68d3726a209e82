/* stage.h: what a pipeline's stage counts and keeps in line.
 *
 *     in ──▶ taker ──▶ the function ──▶ line ──▶ giver ──▶ out
 *
 * Slots. There is one for each item that may be in flight: it holds an input and what comes of it. A free slot is
 * the permit, and is had before an input is taken; the slot is free again when the last output is delivered. In
 * order, a slot joins the line when its input has been taken, else when it has ended.
 *
 * Roles. One party at a time takes, and one gives, whoever comes by:
 *  - The taker has a slot, and waits for an input. It lets go of the role before it runs the function, and then
 *    calls one of those who wait for it, if there is a slot for him. He may come late: who has just ended may
 *    take the next one himself, so that one worker alone goes on without a switch.
 *  - The giver sends what is first in line, as long as the output has room. What would have to wait is left to a
 *    block, which keeps the role meanwhile, so that no worker does.
 *
 * A slot whose outputs have filled its room, while its function still runs, is FULL: it is given like one
 * that has ended, when it is its turn, stays first, and its function goes on.
 *
 * Locking. `lock` guards all that both roles look at. No channel is used and no user's function called under
 * it. A slot is its function's from when it is taken until it is FULL or ENDED, and then the giver's. */
#ifndef LT_FLOW_STAGE_H
#define LT_FLOW_STAGE_H

#include "chan/special.h"
#include "flow/crowd.h"
#include "flow/flow.h"

#include <leat/pipeline.h>

enum lt_slot_state { LT_SLOT_FREE, LT_SLOT_RUNS, LT_SLOT_FULL, LT_SLOT_ENDED };

struct leat_result {
    leat_emit emit;
    struct lt_stage *stage;
    struct leat_result *next; /* in the line, or among the free */
    struct lt_node emitter;   /* who waits for room: a crowd of one */
    uint64_t index;
    size_t room, count, sent; /* outputs: as many fit, are there, and have been delivered */
    int status;
    enum lt_slot_state state;
    bool lined;
    bool filled; /* the function's own note that it was FULL, and has not seen room since */
    unsigned char *in, *outs;
    unsigned char *grown; /* where the outputs are, when there were more than had been thought of */
};

struct lt_stage {
    struct lt_flow flow; /* its block: the giver that waits */
    leat_block taker;    /* where the function is `start`: the one that always takes */
    leat_pipeline_spec spec;
    leat_chan *in, *out;
    leat_chan *seats; /* for those who wait to take: an item for each that is called */
    leat_chan *calls; /* to the block: that the role is its, or that all is over */
    leat_chan *over;  /* closes when nothing more is taken */
    leat_drop_fn *drop_in, *drop_out; /* the channels may be gone by the time they are wanted */
    struct lt_close_hook close_hook;
    leat_case cases[2];            /* the block's that takes, */
    leat_result *took, *is_giving; /* and what the blocks are at */
    int status;

    struct lt_lock lock;
    leat_result *free, *first, *last;
    unsigned running, held, idle; /* functions, slots, and those who wait for a seat */
    uint64_t taken;
    bool taking, giving, handed; /* the roles; `handed`: the block gives */
    bool closed;                 /* nothing more is taken */
    bool cut;                    /* the same, and the input was cut short */
    /* Written under the lock, read without it, as advice: so relaxed. Nobody wants outputs any more. */
    _Atomic bool stopped;

    unsigned slots;
    size_t stride;
    unsigned char *memory;
};

static inline unsigned char *lt_slot_output(const leat_result *slot, size_t i)
{
    return slot->outs + i * slot->stage->spec.out_size;
}

static inline bool lt_stage_is_stopped(struct lt_stage *stage)
{
    return atomic_load_explicit(&stage->stopped, memory_order_relaxed) ||
           lt_scope_is_cancelled(stage->flow.scope);
}

/* The role of the taker, with a slot; NULL: there is none to be had, and the caller is to wait for a seat. */
leat_result *lt_stage_begin_to_take(struct lt_stage *stage);

/* Gives it back, with what came of it: an input that was cut short ends the stage as one that was closed, but for what
 * becomes of the output. True: there is an input, for which the function is to be called. */
bool lt_stage_took(struct lt_stage *stage, leat_result *slot, int status);

/* The function of a slot has filled its room: it is given when it is its turn. True: the caller has become the
 * giver. */
bool lt_stage_is_full(struct lt_stage *stage, leat_result *slot);

/* The function of a slot has ended, and so has what it may do with it. True as above. */
bool lt_stage_has_ended(struct lt_stage *stage, leat_result *slot);

/* For the giver: the slot whose next output is to be sent. NULL: there is none, and the role has been given
 * back. */
leat_result *lt_stage_next(struct lt_stage *stage);

/* For the giver: what came of sending it. */
void lt_stage_gave(struct lt_stage *stage, leat_result *slot, int status);

/* Gives what can be given without waiting, and leaves the rest to the block. */
void lt_stage_give(struct lt_stage *stage);

/* Whether the block is the giver. */
bool lt_stage_is_handed(struct lt_stage *stage);

/* Until then `taking` is set, so nobody takes. */
void lt_stage_open(struct lt_stage *stage);

/* Nothing more is taken, and nobody wants what is there. */
void lt_stage_stop(struct lt_stage *stage);

/* Nothing is taken any more, and nothing is in flight. */
bool lt_stage_is_done(struct lt_stage *stage);

/* For the block, at its end: -ECANCELED when not all that the input had, or was to have, has been delivered; else 0. */
int lt_stage_verdict(struct lt_stage *stage);

/* Outputs that nobody will have. */
void lt_slot_drop(leat_result *slot);

#endif
