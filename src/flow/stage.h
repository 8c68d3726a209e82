/* stage.h: the state that the parties of a pipeline's stage share: slots, roles, and the line.
 *
 *     in ──▶ taker ──▶ the function ──▶ line ──▶ giver ──▶ out
 *
 * Slots. There is one for each item that may be in flight: it holds an input and its outputs. A
 * free slot is the permit to take an input. It is free again when its last output is delivered. In
 * an ordered stage a slot joins the line when its input is taken, in any other stage when it is
 * FULL or ENDED.
 *
 * Roles. One party at a time takes, and one gives:
 *  - The taker has a slot, and waits for an input. It gives up the role before it runs the
 *    function, and then calls a party that waits to take, if there is a slot. A party whose
 *    function has just ended may take the next input before the called one comes, so a single
 *    worker runs on without a switch.
 *  - The giver sends the outputs of the first slot in the line while the output has room. When a
 *    send would wait, it hands the role to a block, so that no task or thread of the stage waits
 *    there.
 *
 * A slot is FULL when its outputs have filled its room and its function still runs. When it is
 * first in the line, its outputs are given like those of an ENDED slot, but it stays first, and its
 * function runs on.
 *
 * Locking. `lock` guards all that both roles look at. No channel is used and no user's function is
 * called under it. A slot belongs to its function until it is FULL or ENDED, and then to the
 * giver. */
#pragma once

#include "flow/flow.h"
#include "flow/transform.h"
#include "scope/crowd.h"

#include <leat/pipeline.h>

enum lt_slot_state { LT_SLOT_RUNS, LT_SLOT_FULL, LT_SLOT_ENDED };

struct leat_result {
    leat_emit emit;
    struct lt_passage passage;
    struct lt_stage *stage;
    struct leat_result *next; /* in the line, or among the free */
    struct lt_node emitter;   /* waits for room: a crowd of one */
    uint64_t index;
    size_t room, count, sent; /* outputs: how many fit, exist, and have been delivered */
    enum lt_slot_state state; /* unless it is free */
    bool lined;
    bool filled; /* only the function uses it: the slot was FULL, and has not seen room since */
    unsigned char *in, *outs;
    unsigned char *grown; /* memory for more outputs than the slot has room for, or NULL */
};

struct lt_stage {
    struct lt_flow flow; /* its block: the giver that may wait */
    leat_pipeline_spec spec;
    leat_chan *seats;       /* parties that wait to take receive from it: an item calls one */
    leat_chan *calls;       /* an item gives the block the role; closed when the stage is done */
    leat_chan *over;        /* closes when nothing more is taken */
    leat_drop_fn *drop_out; /* the channel may be gone when it is called */
    struct lt_close_hook close_hook;
    leat_result *is_giving; /* the block's slot */

    struct lt_lock lock;
    leat_result *free, *first, *last;
    unsigned running, held, idle; /* running functions, used slots, parties that wait for a seat */
    uint64_t taken;
    bool taking, giving; /* the roles are had */
    bool closed;         /* nothing more is taken */
    bool cut;            /* the same, and the input was cut short */
    /* No output is wanted any more. Written under the lock, read without it as a hint: relaxed. */
    _Atomic bool stopped;

    unsigned slots;
    size_t stride;
    unsigned char *memory;
};

static inline unsigned char *lt_slot_output(const leat_result *slot, size_t i)
{
    return slot->outs + i * slot->stage->spec.out_size;
}

static inline bool lt_stage_has_stopped(struct lt_stage *stage)
{
    return atomic_load_explicit(&stage->stopped, memory_order_relaxed);
}

/* The same, or whether it is about to. Called with no lock held. Several times an item: so not by
 * leat_cancelled, which looks at the clock. */
static inline bool lt_stage_is_stopped(struct lt_stage *stage)
{
    return lt_stage_has_stopped(stage) || lt_scope_sees_cancel(stage->flow.scope);
}

/* Makes the caller the taker, with a slot. NULL: not now, and the caller must wait for a seat. */
leat_result *lt_stage_begin_to_take(struct lt_stage *stage);

/* The taker gives up the role; `status` is its receive's. An input that was cut short ends the
 * stage like a closed one, but cuts the output short, too. True: the caller must run the
 * function. */
bool lt_stage_took(struct lt_stage *stage, leat_result *slot, int status);

/* The function of a slot has filled the slot's room (LT_SLOT_FULL), or has ended (LT_SLOT_ENDED)
 * and then must not touch the slot any more. True: the caller has become the giver. */
bool lt_stage_has(struct lt_stage *stage, leat_result *slot, enum lt_slot_state state);

/* For the giver: the slot whose next output must be sent. NULL: there is none, and the caller has
 * given up the role. */
leat_result *lt_stage_next(struct lt_stage *stage);

/* For the giver, after that send: records its status. */
void lt_stage_gave(struct lt_stage *stage, leat_result *slot, int status);

/* For the giver: sends outputs until a send would wait, and then hands the role to the block. */
void lt_stage_give(struct lt_stage *stage);

/* Lets the first party take. `taking` is set until then. */
void lt_stage_open(struct lt_stage *stage);

/* From now on no input is taken, and no output is wanted. */
void lt_stage_stop(struct lt_stage *stage);

/* Drops the outputs that have not been sent. */
void lt_slot_drop(leat_result *slot);
