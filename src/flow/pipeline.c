/* pipeline.c: a stage: a block that takes, hands out, and delivers, and workers that run.
 *
 *     in ──▶ coordinator ──jobs──▶ n tasks or threads, or `start`
 *                 ▲ │                        │
 *                 │ └──▶ out                 │
 *                 └────────finished──────────┘
 *
 * Permits are counted by the coordinator alone, which is a block: it offers to receive an input only while it
 * has a slot for it and fewer than n run, in one select with the delivery of the output whose turn it is. So
 * the bound holds at every moment that anybody could look, and no lock is needed. `jobs` and `finished`
 * have room for all slots there can be, so nobody ever waits to send to them.
 *
 * A slot belongs to the coordinator, except from when it is handed out until it has come back, which is when it
 * was received from `finished`: in between only `next` and `back` are the coordinator's. After the
 * scope has joined its tasks all slots are what they will be, and what was not delivered is dropped.
 *
 * In a cancelled scope a block cannot wait, so the coordinator ends before those who run: they end with the
 * scope, and their slots are looked after there. */
#include "flow/flow.h"

#include "base/alloc.h"
#include "chan/special.h"

#include <leat/pipeline.h>
#include <leat/task.h>

enum state {
    FREE,
    TAKEN,   /* has an input that was not given to the function */
    STARTED, /* … that was */
    ENDED    /* has `count` outputs, of which `sent` were delivered */
};

struct leat_result {
    leat_emit emit;
    struct stage *stage;
    struct leat_result *next; /* in the line of those to be delivered, or among the free */
    bool back;                /* from whoever ran it */
    uint64_t index;
    size_t count, sent;
    int status;
    enum state state;
    unsigned char *in, *outs;
};

enum { FINISHED, GIVE, TAKE, CASES };

struct stage {
    struct lt_flow flow;
    leat_pipeline_spec spec;
    leat_chan *in, *out, *jobs, *finished;
    leat_drop_fn *drop_in, *drop_out; /* the channels may be gone by the time they are wanted */
    struct lt_watcher watcher;
    leat_case cases[CASES];
    leat_result *free, *first,
        *last;          /* `first`: whose turn it is; in order of the inputs, or of their ends */
    leat_result *ended; /* what was received from `finished`; NULL: the output has been closed */
    unsigned running, held;
    uint64_t taken;
    int verdict;
    /* Written by the coordinator; read by those who run, to whom it is only advice, so relaxed. */
    _Atomic bool stopped;
    unsigned slots;
    size_t stride;
    unsigned char *memory;
};

static bool is_stopped(struct stage *stage)
{
    return atomic_load_explicit(&stage->stopped, memory_order_relaxed);
}

static unsigned char *output(const leat_result *slot, size_t i)
{
    return slot->outs + i * slot->stage->spec.out_size;
}

/* ---- who runs: a slot's input becomes its outputs ---- */

static int add(leat_emit *emit, const void *item)
{
    leat_result *slot = LT_CONTAINER(emit, leat_result, emit);
    if (is_stopped(slot->stage))
        return -ECANCELED;
    if (slot->count == slot->stage->spec.most)
        return -ENOSPC;
    lt_item_copy(output(slot, slot->count++), item, slot->stage->spec.out_size);
    return 0;
}

static void drop_outputs(leat_result *slot)
{
    while (slot->sent < slot->count)
        lt_flow_drop(slot->stage->drop_out, output(slot, slot->sent++));
    slot->sent = slot->count = 0;
}

static void tell(leat_result *slot)
{
    leat_outcome outcome = { .index = slot->index, .status = slot->status };
    if (slot->status) {
        memset(slot->outs, 0, slot->stage->spec.out_size);
        slot->count = 1;
    }
    for (size_t i = 0; i < slot->count; i++)
        memcpy(output(slot, i), &outcome, sizeof outcome);
}

static void finish(leat_result *slot, int status)
{
    slot->status = status;
    slot->state = ENDED;
    if (status)
        drop_outputs(slot);
    if (slot->stage->spec.failing == LEAT_FAIL_TELLS)
        tell(slot);
}

static void run(leat_result *slot)
{
    const leat_pipeline_spec *spec = &slot->stage->spec;
    slot->state = STARTED;
    if (spec->run_many) {
        finish(slot, spec->run_many(spec->arg, slot->in, &slot->emit));
        return;
    }
    int status = spec->run(spec->arg, slot->in, slot->outs);
    slot->count = status ? 0 : 1;
    finish(slot, status);
}

/* The body of each task or thread. */
static int work(void *arg)
{
    struct stage *stage = arg;
    leat_result *slot;
    while (leat_recv(stage->jobs, &slot) == 0) {
        if (!is_stopped(stage))
            run(slot);
        leat_try_send(stage->finished, &slot);
    }
    return 0;
}

int leat_result_add(leat_result *result, const void *item)
{
    if (!result || (!item && result->stage->spec.out_size))
        return -EINVAL;
    return add(&result->emit, item);
}

int leat_result_end(leat_result *result, int status)
{
    if (!result)
        return -EINVAL;
    leat_scope *scope = result->stage->flow.scope;
    leat_chan *finished = result->stage->finished;
    finish(result, status);
    leat_try_send(finished, &result);
    lt_scope_leave(scope, 0);
    return 0;
}

/* The scope waits until the result has been ended: from now on, since the coordinator may end before. */
static void start(struct stage *stage, leat_result *slot)
{
    leat_scope *scope = stage->flow.scope;
    slot->state = STARTED;
    lt_scope_enter(scope);
    int error = stage->spec.start(stage->spec.arg, slot->in, slot);
    if (error)
        leat_result_end(slot, error);
}

/* ---- the coordinator ---- */

static leat_result *pop_free(struct stage *stage)
{
    leat_result *slot = stage->free;
    stage->free = slot->next;
    stage->held++;
    return slot;
}

/* Nothing of it is wanted any more: its permit is free. */
static void release(struct stage *stage, leat_result *slot)
{
    if (slot->state == TAKEN)
        lt_flow_drop(stage->drop_in, slot->in);
    drop_outputs(slot);
    slot->state = FREE;
    slot->next = stage->free;
    stage->free = slot;
    stage->held--;
}

static void line_up(struct stage *stage, leat_result *slot)
{
    slot->next = NULL;
    if (stage->first)
        stage->last->next = slot;
    else
        stage->first = slot;
    stage->last = slot;
}

/* The slot whose output is to be delivered next, or NULL. */
static leat_result *next_to_give(struct stage *stage)
{
    for (leat_result *slot; (slot = stage->first) && slot->back;) {
        if (slot->sent < slot->count && !is_stopped(stage))
            return slot;
        stage->first = slot->next;
        release(stage, slot);
    }
    return NULL;
}

static void stop(struct stage *stage)
{
    atomic_store_explicit(&stage->stopped, true, memory_order_relaxed);
    stage->in = NULL;
}

static void taken(struct stage *stage, int status)
{
    if (status) { /* the input is closed: this is the regular end */
        stage->in = NULL;
        return;
    }
    leat_result *slot = pop_free(stage);
    slot->state = TAKEN;
    slot->back = false;
    slot->index = stage->taken++;
    slot->status = 0;
    slot->count = slot->sent = 0;
    /* Both will be heard of in a moment. */
    if (leat_chan_closed(stage->out) || lt_scope_is_cancelled(stage->flow.scope)) {
        release(stage, slot);
        stop(stage);
        return;
    }
    stage->running++;
    if (!stage->spec.unordered)
        line_up(stage, slot);
    if (stage->spec.start)
        start(stage, slot);
    else
        leat_try_send(stage->jobs, &slot);
}

static void has_ended(struct stage *stage, leat_result *slot)
{
    if (!slot) {
        stop(stage);
        return;
    }
    stage->running--;
    slot->back = true;
    if (stage->spec.unordered)
        line_up(stage, slot);
    if (slot->status && stage->spec.failing == LEAT_FAIL_CANCELS && !stage->verdict)
        stage->verdict = slot->status;
}

static void given(struct stage *stage, int status)
{
    leat_result *slot = stage->first;
    if (status == -EPIPE) {
        stop(stage);
        return;
    }
    if (status) /* a transform would not have it */
        lt_flow_drop(stage->drop_out, output(slot, slot->sent));
    slot->sent++;
}

/* What can happen next; false: nothing any more. */
static bool offer(struct stage *stage)
{
    leat_result *slot = next_to_give(stage);
    bool permits = stage->running < stage->spec.n && stage->held < stage->slots;
    stage->cases[GIVE].ch = slot ? stage->out : NULL;
    stage->cases[GIVE].item = slot ? output(slot, slot->sent) : NULL;
    stage->cases[TAKE].ch = permits ? stage->in : NULL;
    stage->cases[TAKE].item = permits ? stage->free->in : NULL;
    return (stage->in || stage->held) && !stage->verdict;
}

static int end(struct stage *stage)
{
    stop(stage);
    leat_close(stage->jobs);
    if (lt_chan_unwatch(stage->out, &stage->watcher))
        lt_scope_leave(stage->flow.scope, 0);
    lt_flow_end(stage->out, stage->spec.ending);
    return stage->verdict;
}

static int coordinate(leat_block *b)
{
    struct stage *stage = LT_CONTAINER(b, struct stage, flow.block);
    LEAT_BEGIN(b);
    while (offer(stage)) {
        LEAT_AWAIT_SELECT_ORDERED(b, stage->cases, CASES, LEAT_NEVER, NULL);
        switch (b->status) {
        case FINISHED: has_ended(stage, stage->ended); break;
        case GIVE: given(stage, stage->cases[GIVE].status); break;
        case TAKE: taken(stage, stage->cases[TAKE].status); break;
        default: return end(stage); /* cancelled */
        }
    }
    return end(stage);
}

/* On a worker, when the output has been closed, by whomever. */
static void output_closed(struct lt_job *job)
{
    struct stage *stage = LT_CONTAINER(job, struct stage, watcher.job);
    leat_result *nobody = NULL;
    leat_try_send(stage->finished, &nobody);
    lt_scope_leave(stage->flow.scope, 0);
}

/* ---- making one ---- */

/* With the scope: all who run have ended. */
static void free_stage(struct lt_owned *owned)
{
    struct stage *stage = LT_CONTAINER(owned, struct stage, flow.owned);
    for (unsigned i = 0; i < stage->slots; i++) {
        leat_result *slot = (leat_result *)(void *)(stage->memory + i * stage->stride);
        if (slot->state != FREE)
            release(stage, slot);
    }
    lt_free(stage->memory);
    lt_free(stage);
}

/* The defaults filled in; false for what cannot be. */
static bool complete(leat_pipeline_spec *spec, const leat_chan *in)
{
    enum { MOST_RUNNING = 1 << 16, LARGEST_WINDOW = 1 << 20 };
    if (!spec->window)
        spec->window = spec->n;
    if (!spec->most || spec->run)
        spec->most = 1;
    return spec->n && spec->n <= MOST_RUNNING && spec->window >= spec->n &&
           spec->window <= LARGEST_WINDOW && !!spec->run + !!spec->run_many + !!spec->start == 1 &&
           !(spec->start && spec->blocking) && spec->out_size <= LT_ITEM_MAX &&
           spec->failing <= LEAT_FAIL_TELLS && spec->ending <= LEAT_ENDS_OPEN &&
           (spec->failing != LEAT_FAIL_TELLS || spec->out_size >= sizeof(leat_outcome)) &&
           in != spec->out &&
           (!spec->out || (!spec->out->keeper && lt_chan_in_size(spec->out) == spec->out_size));
}

static bool make_slots(struct stage *stage)
{
    size_t outs, bytes, in = lt_flow_aligned(stage->in->item_size);
    if (__builtin_mul_overflow(stage->spec.most, stage->spec.out_size, &outs) ||
        outs > SIZE_MAX / 2)
        return false;
    stage->stride = lt_flow_aligned(sizeof(leat_result)) + in + lt_flow_aligned(outs);
    if (__builtin_mul_overflow(stage->stride, stage->spec.window, &bytes) ||
        !(stage->memory = lt_alloc(bytes)))
        return false;
    for (stage->slots = 0; stage->slots < stage->spec.window; stage->slots++) {
        unsigned char *memory = stage->memory + stage->slots * stage->stride;
        leat_result *slot = (leat_result *)(void *)memory;
        slot->emit.put = add;
        slot->stage = stage;
        slot->in = memory + lt_flow_aligned(sizeof *slot);
        slot->outs = slot->in + in;
        slot->next = stage->free;
        stage->free = slot;
    }
    return true;
}

static bool make_channels(struct stage *stage)
{
    leat_scope *scope = stage->flow.scope;
    const leat_pipeline_spec *spec = &stage->spec;
    stage->jobs = leat_chan_make(scope, sizeof(leat_result *), spec->start ? 1 : spec->n);
    /* One more, for the word that the output has been closed. */
    stage->finished = leat_chan_make(scope, sizeof(leat_result *), (size_t)spec->n + 1);
    stage->out = spec->out;
    if (!stage->out)
        stage->out = leat_chan_open(scope, &(leat_chan_spec){ .item_size = spec->out_size,
                                                              .capacity = spec->capacity,
                                                              .drop = spec->drop,
                                                              .name = spec->name });
    return stage->jobs && stage->finished && stage->out;
}

static bool start_workers(struct stage *stage)
{
    const leat_pipeline_spec *spec = &stage->spec;
    const char *name = spec->name ? spec->name : "pipeline";
    int error = 0;
    for (unsigned i = 0; i < spec->n && !spec->start && !error; i++)
        error = spec->blocking ? leat_go_blocking_named(stage->flow.scope, work, stage, name)
                               : leat_go_named(stage->flow.scope, work, stage, name, 0);
    if (error)
        leat_close(stage->jobs);
    return !error;
}

leat_chan *leat_pipeline(leat_scope *scope, leat_chan *in, const leat_pipeline_spec *spec)
{
    if (!in || !spec)
        return NULL;
    leat_pipeline_spec whole = *spec;
    if (!complete(&whole, in))
        return NULL;
    struct stage *stage = lt_flow_make(scope, sizeof *stage, free_stage);
    if (!stage)
        return NULL;
    stage->spec = whole;
    stage->in = in;
    if (!make_slots(stage) || !make_channels(stage) || !start_workers(stage))
        return NULL;
    stage->drop_in = in->drop;
    stage->drop_out = stage->out->transform ? NULL : stage->out->drop;
    stage->cases[FINISHED] = (leat_case)LEAT_RECV(stage->finished, &stage->ended);
    stage->cases[GIVE] = (leat_case)LEAT_SEND(NULL, NULL);
    stage->cases[TAKE] = (leat_case)LEAT_RECV(NULL, NULL);
    lt_scope_enter(scope);
    if (!lt_chan_watch(stage->out, &stage->watcher, output_closed))
        output_closed(&stage->watcher.job);
    leat_go_block(scope, &stage->flow.block, coordinate);
    return stage->out;
}
