/* pipeline.c: the parties of a stage: tasks or threads that run the function, and a block that
 * gives. flow/stage.h has the state they share.
 *
 * In a cancelled scope the block cannot wait, so it ends before the functions. The scope joins the
 * functions, and then drops what is left in the slots. */
#include "base/alloc.h"
#include "flow/stage.h"
#include "sched/current.h"

#include <leat/select.h>
#include <leat/task.h>

/* ---- outputs ---- */

/* By memcpy: the output may not be aligned for its head. */
static void write_outcome(const leat_result *slot, size_t i, int status)
{
    leat_outcome outcome = { .index = slot->index, .status = status };
    if (slot->stage->spec.failing == LEAT_FAIL_TELLS)
        memcpy(lt_slot_output(slot, i), &outcome, sizeof outcome);
}

static void add_output(leat_result *slot, const void *item)
{
    lt_item_copy(lt_slot_output(slot, slot->count), item, slot->stage->spec.out_size);
    write_outcome(slot, slot->count++, 0);
}

/* Waits until the giver has emptied the slot's room. */
static int wait_for_room(leat_result *slot)
{
    struct lt_stage *stage = slot->stage;
    struct lt_crowd_waiter waiter;
    if (!slot->filled) {
        slot->filled = true;
        if (lt_stage_has(stage, slot, LT_SLOT_FULL))
            lt_stage_give(stage);
    }
    bool waits = lt_wait_prepare(lt_current_party()) == 0 && !lt_stage_is_stopped(stage);
    lt_lock_soon(&stage->lock);
    slot->filled = slot->state == LT_SLOT_FULL;
    waits = waits && slot->filled && !lt_stage_has_stopped(stage);
    if (waits)
        lt_crowd_join(&stage->lock, &slot->emitter, &waiter, LT_TO_SEND, stage->flow.out);
    lt_unlock(&stage->lock);
    if (waits) {
        lt_wait_park(&waiter.wait, LEAT_NEVER);
        lt_lock_soon(&stage->lock);
        slot->filled = slot->state == LT_SLOT_FULL;
        lt_unlock(&stage->lock);
    }
    return slot->filled ? -ECANCELED : 0;
}

/* leat_emit_item: the function runs on a task or thread, so this may wait. */
static int emit(leat_emit *emit, const void *item)
{
    leat_result *slot = LT_CONTAINER(emit, leat_result, emit);
    if (lt_stage_is_stopped(slot->stage))
        return -ECANCELED;
    if (slot->filled || slot->count == slot->room) {
        int error = wait_for_room(slot);
        if (error)
            return error;
    }
    add_output(slot, item);
    return 0;
}

/* Doubles the room, for a function that must not wait. */
static bool grow(leat_result *slot)
{
    size_t bytes, used = slot->count * slot->stage->spec.out_size;
    if (__builtin_mul_overflow(used, 2, &bytes))
        return false;
    unsigned char *grown = lt_alloc(bytes ? bytes : 1);
    if (!grown)
        return false;
    memcpy(grown, slot->outs, used);
    lt_free(slot->grown);
    slot->outs = slot->grown = grown;
    slot->room *= 2;
    return true;
}

int leat_result_add(leat_result *slot, const void *item)
{
    if (!slot || (!item && slot->stage->spec.out_size))
        return -EINVAL;
    if (lt_stage_is_stopped(slot->stage))
        return -ECANCELED;
    if (slot->count == slot->room && !grow(slot))
        return -ENOMEM;
    add_output(slot, item);
    return 0;
}

/* ---- running the function ---- */

/* A function has returned: gives or drops its outputs. Returns the verdict, after which the caller
 * runs no more inputs. */
static int finish(leat_result *slot, int status)
{
    struct lt_stage *stage = slot->stage;
    /* If the output was closed, -ECANCELED is what leat_emit_item has told the function. */
    bool fails = status && !(status == -ECANCELED && lt_stage_has_stopped(stage));
    bool cancels =
        fails && stage->spec.failing == LEAT_FAIL_CANCELS && !leat_cancelled(stage->flow.scope);
    /* If `filled`, the stage has stopped, and the giver may be using the slot: do not touch it. */
    if (status && !slot->filled) {
        lt_slot_drop(slot);
        if (stage->spec.failing == LEAT_FAIL_TELLS) {
            memset(slot->outs, 0, stage->spec.out_size);
            write_outcome(slot, 0, status);
            slot->count = 1;
        }
    }
    if (cancels) {
        lt_scope_cancel(stage->flow.scope, status); /* first: see lt_flow_conclude */
        lt_stage_stop(stage);
    }
    if (lt_stage_has(stage, slot, LT_SLOT_ENDED))
        lt_stage_give(stage);
    return cancels ? status : 0;
}

static int run(leat_result *slot)
{
    const leat_pipeline_spec *spec = &slot->stage->spec;
    int status;
    if (spec->run_many) {
        slot->passage = (struct lt_passage){ 0 };
        status = spec->run_many(spec->arg, slot->in, &slot->emit);
        if (slot->filled) /* a wait in `emit` was cut short */
            wait_for_room(slot);
    } else {
        status = spec->run(spec->arg, slot->in, slot->outs);
        slot->count = 1;
        write_outcome(slot, 0, 0);
        if (status)
            slot->count = 0; /* no output to drop */
    }
    return finish(slot, status);
}

/* Takes the next input into a slot. NULL: there is none. */
static leat_result *take(struct lt_stage *stage)
{
    leat_result *slot;
    while (!(slot = lt_stage_begin_to_take(stage)))
        if (leat_recv(stage->seats, NULL) != 0)
            return NULL;
    int status = leat_recv_until(stage->flow.in, slot->in, LEAT_NOW);
    if (status == -EAGAIN) {
        enum { OVER, TAKE };
        leat_case cases[] = {
            [OVER] = LEAT_RECV(stage->over, NULL), [TAKE] = LEAT_RECV(stage->flow.in, slot->in)
        };
        status =
            leat_select_ordered(cases, 2, LEAT_NEVER) == TAKE ? cases[TAKE].status : -ECANCELED;
    }
    return lt_stage_took(stage, slot, status) ? slot : NULL;
}

int leat_result_end(leat_result *slot, int status)
{
    if (!slot)
        return -EINVAL;
    leat_scope *scope = slot->stage->flow.scope;
    lt_scope_leave(scope, finish(slot, status));
    return 0;
}

/* Calls the stage's start function. The scope waits until leat_result_end. Not inlined: that would
 * cost stages with `run` a fifth of their speed. */
__attribute__((noinline)) static void start(struct lt_stage *stage, leat_result *slot)
{
    lt_scope_enter(stage->flow.scope);
    int error = stage->spec.start(stage->spec.arg, slot->in, slot);
    if (error)
        leat_result_end(slot, error);
}

/* The body of each task or thread. */
static int work(void *arg)
{
    struct lt_stage *stage = arg;
    int verdict = 0;
    for (leat_result *slot; !verdict && (slot = take(stage));) {
        if (stage->spec.start)
            start(stage, slot);
        else
            verdict = run(slot);
        lt_task_spend(lt_current_worker(), LEAT_NEVER);
    }
    return verdict;
}

/* ---- the block ---- */

static void end_output(struct lt_stage *stage)
{
    /* Without the lock: if the stage has not stopped, the block has seen that it is done. */
    int status = lt_stage_is_stopped(stage) || stage->cut ? -ECANCELED : 0;
    lt_stage_stop(stage);
    if (lt_chan_remove_close_hook(stage->flow.out, &stage->close_hook))
        lt_scope_leave(stage->flow.scope, 0);
    lt_flow_end(stage->flow.out, stage->spec.ending, status);
}

static int give_and_wait(leat_block *b)
{
    struct lt_stage *stage = LT_CONTAINER(b, struct lt_stage, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, stage->calls, NULL);
        if (b->status)
            break;
        while ((stage->is_giving = lt_stage_next(stage))) {
            LEAT_AWAIT_SEND(b, stage->flow.out,
                            lt_slot_output(stage->is_giving, stage->is_giving->sent));
            if (b->status == -ECANCELED && leat_cancelled(stage->flow.scope))
                goto end;
            lt_stage_gave(stage, stage->is_giving, b->status);
        }
    }
end:
    end_output(stage);
    LEAT_END(b);
}

/* Runs on a worker when any party has closed the output. */
static void output_closed(struct lt_job *job)
{
    struct lt_stage *stage = LT_CONTAINER(job, struct lt_stage, close_hook.job);
    lt_stage_stop(stage);
    lt_scope_leave(stage->flow.scope, 0);
}

/* ---- making one ---- */

static leat_result *slot_at(const struct lt_stage *stage, unsigned i)
{
    return (leat_result *)(void *)(stage->memory + i * stage->stride);
}

/* Called when the scope closes: every function has ended. */
static void empty_stage(struct lt_owned *owned)
{
    struct lt_stage *stage = LT_CONTAINER(owned, struct lt_stage, flow.owned);
    for (unsigned i = 0; i < stage->slots; i++)
        lt_slot_drop(slot_at(stage, i));
}

static void free_stage(struct lt_owned *owned)
{
    struct lt_stage *stage = LT_CONTAINER(owned, struct lt_stage, flow.owned);
    for (unsigned i = 0; i < stage->slots; i++)
        lt_free(slot_at(stage, i)->grown);
    lt_free(stage->memory);
    lt_free(stage);
}

static void see_stage(struct lt_owned *owned, struct lt_sight *sight)
{
    struct lt_stage *stage = LT_CONTAINER(owned, struct lt_stage, flow.owned);
    if (!lt_flow_sight(owned, sight))
        return;
    sight->name = stage->spec.name;
    sight->block = &stage->flow.block;
    sight->n = stage->spec.n;
    sight->window = stage->spec.window;
    lt_lock_soon(&stage->lock);
    sight->closed = stage->closed;
    sight->running = stage->running;
    /* The taker's slot has no input yet. */
    sight->held = stage->held - (stage->taking && stage->held);
    sight->items = stage->taken;
    if (stage->closed && !stage->held)
        sight->self = NULL;
    lt_unlock(&stage->lock);
}

static const struct lt_owned_kind owned_kind = { .empty = empty_stage,
                                                 .free = free_stage,
                                                 .see = see_stage };

/* Fills in the defaults. False: the spec is not valid. */
static bool fill_in_defaults(leat_pipeline_spec *spec, const leat_chan *in)
{
    enum { MOST_RUNNING = 1 << 16, LARGEST_WINDOW = 1 << 20 };
    if (!spec->window)
        spec->window = spec->n;
    if (!spec->room || spec->run)
        spec->room = 1;
    return spec->n && spec->n <= MOST_RUNNING && spec->window >= spec->n &&
           spec->window <= LARGEST_WINDOW && !!spec->run + !!spec->run_many + !!spec->start == 1 &&
           !(spec->start && spec->blocking) && spec->out_size <= LT_ITEM_MAX &&
           spec->failing <= LEAT_FAIL_TELLS && spec->ending <= LEAT_ENDS_OPEN &&
           (spec->failing != LEAT_FAIL_TELLS || spec->out_size >= sizeof(leat_outcome)) &&
           in != spec->out &&
           (!spec->out ||
            (lt_flow_may_fill(spec->out) && leat_chan_item_size(spec->out) == spec->out_size));
}

static bool make_slots(struct lt_stage *stage)
{
    size_t outs, bytes, in = lt_flow_aligned(leat_chan_item_size(stage->flow.in));
    if (__builtin_mul_overflow(stage->spec.room, stage->spec.out_size, &outs) ||
        outs > SIZE_MAX / 2)
        return false;
    stage->stride = lt_flow_aligned(sizeof(leat_result)) + in + lt_flow_aligned(outs);
    if (__builtin_mul_overflow(stage->stride, stage->spec.window, &bytes) ||
        !(stage->memory = lt_alloc(bytes)))
        return false;
    for (stage->slots = 0; stage->slots < stage->spec.window; stage->slots++) {
        leat_result *slot = slot_at(stage, stage->slots);
        unsigned char *memory = (unsigned char *)slot;
        slot->emit = (leat_emit){ .put = emit, .passage = &slot->passage };
        slot->stage = stage;
        slot->room = stage->spec.room;
        slot->in = memory + lt_flow_aligned(sizeof *slot);
        slot->outs = slot->in + in;
        slot->next = stage->free;
        lt_list_init(&slot->emitter);
        stage->free = slot;
    }
    return true;
}

static leat_chan *make_inner(leat_scope *scope, const char *name, size_t capacity)
{
    return leat_chan_open(scope, &(leat_chan_spec){ .capacity = capacity, .name = name });
}

static bool make_channels(struct lt_stage *stage)
{
    leat_scope *scope = stage->flow.scope;
    const leat_pipeline_spec *spec = &stage->spec;
    stage->seats = make_inner(scope, "seats", spec->n);
    stage->calls = make_inner(scope, "calls", 1);
    stage->over = make_inner(scope, "over", 0);
    stage->flow.out = spec->out;
    if (!stage->flow.out)
        stage->flow.out = leat_chan_open(scope, &(leat_chan_spec){ .item_size = spec->out_size,
                                                                   .capacity = spec->capacity,
                                                                   .drop = spec->drop,
                                                                   .name = spec->name });
    return stage->seats && stage->calls && stage->over && stage->flow.out;
}

/* Starts the workers; one is enough for `start`. They find `taking` set, and wait for a seat. */
static bool make_workers(struct lt_stage *stage)
{
    const leat_pipeline_spec *spec = &stage->spec;
    const char *name = spec->name ? spec->name : "pipeline";
    unsigned n = spec->start ? 1 : spec->n;
    int error = 0;
    for (unsigned i = 0; i < n && !error; i++)
        error = spec->blocking ? leat_go_blocking_named(stage->flow.scope, work, stage, name)
                               : leat_go_named(stage->flow.scope, work, stage, name, 0);
    if (error)
        lt_stage_stop(stage);
    return !error;
}

leat_chan *leat_pipeline(leat_scope *scope, leat_chan *in, const leat_pipeline_spec *spec)
{
    if (!in || !spec)
        return NULL;
    leat_pipeline_spec whole = *spec;
    if (!fill_in_defaults(&whole, in))
        return NULL;
    struct lt_stage *stage = lt_flow_make(scope, in, NULL, sizeof *stage, &owned_kind);
    if (!stage)
        return NULL;
    stage->spec = whole;
    stage->taking = true;
    if (!make_slots(stage) || !make_channels(stage) || !make_workers(stage))
        return NULL;
    stage->drop_out = leat_chan_drop_fn(stage->flow.out);
    lt_scope_enter(scope);
    if (!lt_chan_add_close_hook(stage->flow.out, &stage->close_hook, output_closed))
        output_closed(&stage->close_hook.job);
    leat_chan *out = stage->flow.out;
    lt_flow_go(&stage->flow, "pipeline", LEAT_BLOCK_TYPE_(give_and_wait));
    lt_stage_open(stage);
    return out;
}
