#include "flow/stage.h"

#include "base/alloc.h"

void lt_slot_drop(leat_result *slot)
{
    while (slot->sent < slot->count)
        lt_flow_drop(slot->stage->drop_out, lt_slot_output(slot, slot->sent++));
    slot->sent = slot->count = 0;
}

/* ---- with the lock held ---- */

static bool may_take(const struct lt_stage *stage)
{
    return !stage->taking && !stage->closed && stage->free && stage->running < stage->spec.n;
}

static void line_up(struct lt_stage *stage, leat_result *slot)
{
    slot->next = NULL;
    slot->lined = true;
    if (stage->first)
        stage->last->next = slot;
    else
        stage->first = slot;
    stage->last = slot;
}

static void free_slot(struct lt_stage *stage, leat_result *slot)
{
    slot->next = stage->free;
    stage->free = slot;
    stage->held--;
}

static bool becomes_giver(struct lt_stage *stage)
{
    bool gives = !stage->giving && stage->first && stage->first->state >= LT_SLOT_FULL;
    stage->giving |= gives;
    return gives;
}

/* Unlocks, and then calls the parties that have something to do now. */
static void unlock_and_call(struct lt_stage *stage, struct lt_party *woken)
{
    bool taker = stage->idle && may_take(stage), done = stage->closed && !stage->held;
    stage->idle -= taker;
    lt_unlock(&stage->lock);
    lt_ready_all(woken);
    if (taker)
        leat_try_send(stage->seats, NULL);
    if (done)
        leat_close(stage->calls);
}

void lt_stage_open(struct lt_stage *stage)
{
    lt_lock_soon(&stage->lock);
    stage->taking = false;
    unlock_and_call(stage, NULL);
}

/* ---- taking ---- */

/* Frees the memory that the slot's last input needed beyond the slot's own room. */
static void free_grown(leat_result *slot)
{
    lt_free(slot->grown);
    slot->grown = NULL;
    slot->room = slot->stage->spec.room;
    slot->outs = slot->in + lt_flow_aligned(leat_chan_item_size(slot->stage->flow.in));
}

leat_result *lt_stage_begin_to_take(struct lt_stage *stage)
{
    lt_lock_soon(&stage->lock);
    leat_result *slot = may_take(stage) ? stage->free : NULL;
    if (slot) {
        stage->taking = true;
        stage->free = slot->next;
        stage->held++;
    } else {
        stage->idle++;
    }
    lt_unlock(&stage->lock);
    if (slot && slot->grown)
        free_grown(slot);
    return slot;
}

/* Wakes the taker and all parties that wait for a seat. */
static void close_seats(struct lt_stage *stage)
{
    leat_close(stage->seats);
    leat_close(stage->over);
}

bool lt_stage_took(struct lt_stage *stage, leat_result *slot, int status)
{
    /* The output may be closed before its close hook has stopped the stage. */
    bool stops = lt_stage_is_stopped(stage) || leat_chan_closed(stage->flow.out);
    if (!status && stops)
        lt_flow_drop(stage->flow.drop, slot->in);
    lt_lock_soon(&stage->lock);
    stage->taking = false;
    if (!status && !stops) {
        slot->state = LT_SLOT_RUNS;
        slot->index = stage->taken++;
        slot->count = slot->sent = 0;
        slot->lined = slot->filled = false;
        stage->running++;
        if (!stage->spec.unordered)
            line_up(stage, slot);
        unlock_and_call(stage, NULL);
        return true;
    }
    free_slot(stage, slot);
    stage->closed = true;
    stage->cut = status == -ECANCELED;
    unlock_and_call(stage, NULL);
    if (status == -EPIPE || (status == -ECANCELED && !stops))
        close_seats(stage);
    else
        lt_stage_stop(stage);
    return false;
}

/* ---- what a function has done ---- */

bool lt_stage_has(struct lt_stage *stage, leat_result *slot, enum lt_slot_state state)
{
    lt_lock_soon(&stage->lock);
    slot->state = state;
    stage->running -= state == LT_SLOT_ENDED;
    if (!slot->lined)
        line_up(stage, slot);
    bool gives = becomes_giver(stage);
    unlock_and_call(stage, NULL);
    return gives;
}

/* ---- giving ---- */

leat_result *lt_stage_next(struct lt_stage *stage)
{
    struct lt_party *woken = NULL;
    leat_result *slot;
    bool stopped = lt_stage_is_stopped(stage);
    lt_lock_soon(&stage->lock);
    while ((slot = stage->first) && slot->state >= LT_SLOT_FULL) {
        if (slot->sent < slot->count && !stopped) {
            unlock_and_call(stage, woken);
            return slot;
        }
        if (slot->sent < slot->count) {
            unlock_and_call(stage, woken);
            woken = NULL;
            lt_slot_drop(slot);
            lt_lock_soon(&stage->lock);
        } else if (slot->state == LT_SLOT_FULL) {
            slot->state = LT_SLOT_RUNS;
            slot->sent = slot->count = 0;
            lt_crowd_take(&slot->emitter, &woken);
        } else {
            stage->first = slot->next;
            free_slot(stage, slot);
        }
    }
    stage->giving = false;
    unlock_and_call(stage, woken);
    return NULL;
}

void lt_stage_gave(struct lt_stage *stage, leat_result *slot, int status)
{
    if (status == -EPIPE) {
        lt_stage_stop(stage);
        return;
    }
    if (status)
        lt_flow_drop(stage->drop_out, lt_slot_output(slot, slot->sent));
    slot->sent++;
}

void lt_stage_give(struct lt_stage *stage)
{
    /* Only the giver takes the first slot off the line, so this needs no lock. */
    leat_result *slot = stage->first;
    if (slot->sent == slot->count || lt_stage_is_stopped(stage))
        slot = lt_stage_next(stage);
    for (; slot; slot = lt_stage_next(stage)) {
        /* The caller may be cancelled although the stage is not. */
        int status = leat_send_until(stage->flow.out, lt_slot_output(slot, slot->sent), LEAT_NOW);
        if (status == -EAGAIN || status == -ECANCELED) {
            leat_try_send(stage->calls, NULL); /* from here on the block has the role */
            return;
        }
        lt_stage_gave(stage, slot, status);
    }
}

/* ---- its end ---- */

void lt_stage_stop(struct lt_stage *stage)
{
    struct lt_party *woken = NULL;
    lt_lock_soon(&stage->lock);
    stage->closed = true;
    atomic_store_explicit(&stage->stopped, true, memory_order_relaxed);
    for (leat_result *slot = stage->first; slot; slot = slot->next)
        lt_crowd_take(&slot->emitter, &woken);
    unlock_and_call(stage, woken);
    close_seats(stage);
}
