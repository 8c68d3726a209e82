/* fleeting.c: tasks and blocks that have not started, and what a worker runs if it does not answer.
 * Any thread may start, end and free these parties during the look. So they are copied without
 * being touched, and the copy is believed if the party was still in its place after it. */
#include "watch/fleeting.h"

#include "sched/global_queue.h"
#include "watch/peek.h"

#include <leat/block.h>
#include <leat/callback.h>

#include <stdio.h>

enum { LONGEST_NAME = 256 };

/* What could be read of a party. */
struct glimpse {
    struct lt_party party;
    enum lt_state state; /* if it is queued */
    const leat_scope *scope;
    uint32_t scope_number;
    const void *code;
    uint32_t number;
    const char *stack;
    size_t stack_size;
    char name[LONGEST_NAME];
};

static bool glimpse_task(struct glimpse *to, const struct lt_party *party)
{
    struct lt_task task;
    struct lt_stack stack;
    if (!lt_peek(&task, party, sizeof task))
        return false;
    to->number = task.number;
    to->scope = task.party.scope;
    if (task.stack && lt_peek(&stack, task.stack, sizeof stack)) {
        to->stack = stack.fiber.low;
        to->stack_size = stack.fiber.size;
    }
    return !task.name || lt_peek_text(to->name, sizeof to->name, task.name);
}

static bool glimpse_block(struct glimpse *to, const struct lt_party *party)
{
    leat_block block;
    leat_block_type type;
    if (!lt_peek(&block, party, sizeof block) || !lt_peek(&type, block.type, sizeof type))
        return false;
    to->scope = to->party.scope;
    to->state = block.leat_resume ? LT_IS_READY : LT_IS_QUEUED;
    return !type.name || lt_peek_text(to->name, sizeof to->name, type.name);
}

static bool glimpse_callback(struct glimpse *to, const struct lt_party *party)
{
    leat_op op;
    if (!lt_peek(&op, party, sizeof op))
        return false;
    to->scope = to->party.scope;
    to->state = LT_IS_READY;
    to->code = (const void *)(uintptr_t)op.leat_fn;
    return true;
}

/* False: the party cannot be read. */
static bool glimpse(struct glimpse *to, const struct lt_party *party)
{
    *to = (struct glimpse){ .state = LT_IS_QUEUED };
    if (!lt_peek(&to->party, party, sizeof to->party))
        return false;
    switch (to->party.kind) {
    case LT_TASK: return glimpse_task(to, party);
    case LT_BLOCK: return glimpse_block(to, party);
    case LT_CALLBACK: return glimpse_callback(to, party);
    default: return false;
    }
}

static struct lt_record *record_glimpse(struct lt_pad *pad, const struct glimpse *seen,
                                        const struct lt_party *party, enum lt_state state)
{
    enum lt_thing thing = seen->party.kind == LT_TASK    ? LT_A_TASK
                          : seen->party.kind == LT_BLOCK ? LT_A_BLOCK
                                                         : LT_A_CALLBACK;
    struct lt_record *record = lt_pad_record(pad, thing, party);
    if (!record)
        return NULL;
    record->state = state;
    record->number = seen->number;
    record->scope = seen->scope;
    record->scope_number = seen->scope_number;
    record->code = seen->code;
    record->name = *seen->name ? lt_pad_text(pad, seen->name) : NULL;
    return record;
}

/* A bounded look may not have recorded that scope, and so may not know its number. (A block that
 * goes on may have an alarm in the place of its scope.) */
static bool glimpse_scope(struct glimpse *to)
{
    bool known = to->scope && (to->party.kind != LT_BLOCK || to->state == LT_IS_QUEUED);
    return !known || lt_peek(&to->scope_number, &to->scope->number, sizeof to->scope_number);
}

/* ---- queues ---- */

static void take_local_queue(struct lt_pad *pad, void *arg)
{
    struct lt_local_queue *queue = arg;
    struct glimpse seen;
    /* Acquire: the slots before this tail have been written. */
    uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint32_t i = atomic_load_explicit(&queue->head, memory_order_relaxed);
    for (; (int32_t)(tail - i) > 0 && lt_pad_step(pad, LT_A_TASK); i++) {
        struct lt_party *party =
            atomic_load_explicit(&queue->slots[i % LT_LOCAL_QUEUE_SIZE], memory_order_relaxed);
        bool read = glimpse(&seen, party) && (!pad->bounded || glimpse_scope(&seen));
        /* A worker that takes the party moves `head` first. (The party was read by system calls,
         * which this load does not overtake.) */
        uint32_t head = atomic_load_explicit(&queue->head, memory_order_acquire);
        if (read && (int32_t)(head - i) <= 0)
            record_glimpse(pad, &seen, party, seen.state);
    }
}

static bool record_queued(void *arg, struct lt_party *party)
{
    struct lt_pad *pad = arg;
    if (!lt_pad_step(pad, LT_A_TASK))
        return false;
    bool resumed = party->kind == LT_CALLBACK ||
                   (party->kind == LT_BLOCK && ((leat_block *)(void *)party)->leat_resume);
    struct lt_record *record = lt_record_party(pad, party, resumed ? LT_IS_READY : LT_IS_QUEUED);
    if (!record)
        return false;
    record->scope = party->scope;
    /* It stays as long as the party is in the queue. (A block that goes on may have an alarm there,
     * see block/machine.h.) */
    if (party->scope && (!resumed || party->kind == LT_CALLBACK))
        record->scope_number = party->scope->number;
    return true;
}

static void take_global_queue(struct lt_pad *pad, void *unused)
{
    (void)unused;
    lt_global_queue_each(record_queued, pad);
}

static void allow(struct lt_look *look, size_t parties)
{
    if (look->bounded)
        look->pad.left = (struct lt_allowance){ parties, 0, lt_look_steps(&look->bound) };
}

int lt_look_at_queues(struct lt_look *look)
{
    allow(look, lt_look_extra(look, 2));
    int error = lt_pad_take(&look->pad, take_global_queue, NULL);
    for (unsigned i = 0; !error && i < look->worker_count; i++) {
        allow(look, lt_look_extra(look, 2 * look->worker_count));
        error = lt_pad_take(&look->pad, take_local_queue, &lt_runtime.workers[i]->local_queue);
    }
    return error;
}

/* ---- busy workers ---- */

/* Reads the task that a worker runs. False: it cannot be read, or the worker runs another by
 * now. */
static bool glimpse_running(struct glimpse *to, const struct lt_worker *worker,
                            const struct lt_task *task)
{
    uint32_t number;
    return task && glimpse(to, &task->party) && lt_worker_running(worker) == task &&
           lt_peek(&number, &task->number, sizeof number) && number == to->number;
}

bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size)
{
    struct glimpse seen;
    if (!glimpse_running(&seen, worker, task))
        return false;
    *number = seen.number;
    snprintf(name, size, "%s", seen.name);
    return true;
}

struct busy {
    const struct lt_look *look;
    unsigned worker;
    struct lt_worker_record *record;
    /* The worker's call stack, when it ran this task; of none, if it is not known. */
    struct lt_frames frames;
    const struct lt_task *ran;
    uint32_t number;
};

static void take_busy(struct lt_pad *pad, void *arg)
{
    struct busy *busy = arg;
    struct lt_worker *worker = lt_runtime.workers[busy->worker];
    struct lt_task *task = lt_worker_running(worker);
    struct glimpse seen;
    busy->record->running = NULL;
    busy->record->frames = busy->ran ? NULL : lt_pad_frames(pad, &busy->frames);
    if (!glimpse_running(&seen, worker, task))
        return;
    struct lt_record *record = record_glimpse(pad, &seen, &task->party, LT_IS_RUNNING);
    if (!record)
        return;
    record->worker = (int)busy->worker;
    record->stack = seen.stack;
    record->stack_size = seen.stack_size;
    if (task == busy->ran && seen.number == busy->number)
        record->frames = lt_pad_frames(pad, &busy->frames);
    /* A task does not belong to a scope that it has opened itself, but to the one around that. A
     * scope that the look has not found is not followed. */
    for (size_t i; (i = lt_look_scope(busy->look, record->scope)) != LT_NOWHERE &&
                   busy->look->scopes[i].opener == &task->party;)
        record->scope = busy->look->scopes[i].around == LT_NOWHERE
                            ? NULL
                            : busy->look->scopes[busy->look->scopes[i].around].scope;
    busy->record->running = record;
}

int lt_look_at_busy(struct lt_look *look, unsigned worker)
{
    struct busy busy = { .look = look, .worker = worker, .record = &look->workers[worker] };
    if (look->caller)
        lt_frames_of_worker(&busy.frames, lt_runtime.workers[worker], &busy.ran, &busy.number);
    allow(look, 1);
    return lt_pad_take(&look->pad, take_busy, &busy);
}
