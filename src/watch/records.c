#include "watch/records.h"

#include "base/alloc.h"
#include "block/machine.h"
#include "sched/runtime.h"
#include "watch/since.h"

#include <leat/callback.h>
#include <leat/timer.h>

#include <errno.h>
#include <string.h>

/* ---- the pad ---- */

struct lt_chunk {
    struct lt_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

enum { FIRST_ROOM = 16 * 1024, ALIGNMENT = 16 };

void lt_pad_init(struct lt_pad *pad)
{
    *pad = (struct lt_pad){ .left = { SIZE_MAX, SIZE_MAX, SIZE_MAX } };
    pad->end = &pad->first;
}

void lt_pad_free(struct lt_pad *pad)
{
    while (pad->chunk) {
        struct lt_chunk *next = pad->chunk->next;
        lt_free(pad->chunk);
        pad->chunk = next;
    }
}

static bool make_room(struct lt_pad *pad, size_t bytes)
{
    if (pad->chunk && pad->chunk->size - pad->chunk->used >= bytes)
        return true;
    struct lt_chunk *chunk = lt_alloc(sizeof *chunk + bytes);
    if (!chunk)
        return false;
    chunk->size = bytes;
    chunk->next = pad->chunk;
    pad->chunk = chunk;
    return true;
}

/* A record with a name and two aims. */
enum { USUAL_BYTES = sizeof(struct lt_record) + 2 * sizeof(struct lt_aim_record) + 64 };

bool lt_pad_bound(struct lt_pad *pad, size_t n)
{
    pad->bounded = true;
    return make_room(pad, n * USUAL_BYTES);
}

int lt_pad_take(struct lt_pad *pad, void (*take)(struct lt_pad *pad, void *arg), void *arg)
{
    for (size_t room = FIRST_ROOM;; room *= 2) {
        if (!make_room(pad, room))
            return -ENOMEM;
        struct lt_record **end = pad->end;
        size_t used = pad->chunk->used;
        uint32_t count = pad->count;
        struct lt_allowance left = pad->left;
        bool cut = pad->cut;
        take(pad, arg);
        if (left.steps - pad->left.steps > pad->longest)
            pad->longest = left.steps - pad->left.steps;
        if (!pad->full)
            return 0;
        if (pad->hasty)
            left.steps = pad->left.steps;
        pad->left = left;
        pad->cut = cut;
        *end = NULL;
        pad->end = end;
        pad->count = count;
        pad->chunk->used = used;
        pad->full = false;
    }
}

static void *get(struct lt_pad *pad, size_t bytes)
{
    struct lt_chunk *chunk = pad->chunk;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > chunk->size - chunk->used) {
        pad->full = true;
        return NULL;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return memory;
}

static size_t *records_left(struct lt_pad *pad, enum lt_thing thing)
{
    return lt_is_party(thing) ? &pad->left.parties : &pad->left.channels;
}

bool lt_pad_step(struct lt_pad *pad, enum lt_thing thing)
{
    bool may = *records_left(pad, thing) && pad->left.steps;
    pad->cut |= !may;
    pad->left.steps -= may;
    return may && !pad->full;
}

struct lt_record *lt_pad_record(struct lt_pad *pad, enum lt_thing thing, const void *self)
{
    size_t *left = records_left(pad, thing);
    pad->cut |= !*left;
    struct lt_record *record = *left ? get(pad, sizeof *record) : NULL;
    if (!record)
        return NULL;
    --*left;
    *record = (struct lt_record){ .thing = thing,
                                  .self = self,
                                  .order = pad->count++,
                                  .chosen = pad->choosing,
                                  .worker = -1,
                                  .until = LEAT_NEVER };
    *pad->end = record;
    pad->end = &record->next;
    return record;
}

void lt_pad_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, const void *object,
                uint32_t number)
{
    struct lt_aim_record *one = get(pad, sizeof *one);
    if (!one)
        return;
    *one = (struct lt_aim_record){ .aim = aim, .object = object, .number = number };
    if (record->last_aim)
        record->last_aim->next = one;
    else
        record->aims = one;
    record->last_aim = one;
}

const char *lt_pad_text(struct lt_pad *pad, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = size ? get(pad, size) : NULL;
    return copy ? memcpy(copy, text, size) : NULL;
}

const struct lt_frames *lt_pad_frames(struct lt_pad *pad, const struct lt_frames *frames)
{
    size_t size = offsetof(struct lt_frames, code) + frames->count * sizeof *frames->code;
    struct lt_frames *copy = frames->count ? get(pad, size) : NULL;
    return copy ? memcpy(copy, frames, size) : NULL;
}

/* ---- parties ---- */

static enum lt_thing thing_of(const struct lt_party *party)
{
    switch (party->kind) {
    case LT_TASK: return LT_A_TASK;
    case LT_BLOCK: return LT_A_BLOCK;
    case LT_CALLBACK: return LT_A_CALLBACK;
    case LT_TIMER: return LT_A_TIMER;
    default: return LT_A_THREAD;
    }
}

/* A thread's own word tells whether it waits. Unless a stackless party waits, the entry at its
 * address may be another party's. */
static int64_t since_when(const struct lt_party *party, enum lt_state state)
{
    switch (party->kind) {
    case LT_THREAD:
        /* Relaxed, as where it is written. */
        return atomic_load_explicit(&LT_CONTAINER(party, struct lt_thread, party)->since,
                                    memory_order_relaxed);
    case LT_BLOCK:
    case LT_CALLBACK: return state == LT_IS_WAITING ? lt_since(party) : 0;
    default: return 0;
    }
}

struct lt_record *lt_record_party(struct lt_pad *pad, const struct lt_party *party,
                                  enum lt_state state)
{
    struct lt_record *record = lt_pad_record(pad, thing_of(party), party);
    if (!record)
        return NULL;
    record->state = state;
    record->since = lt_probing() & LT_PROBE_WAITS ? since_when(party, state) : 0;
    switch (record->thing) {
    case LT_A_TASK: {
        const struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
        record->number = task->number;
        record->name = lt_pad_text(pad, task->name);
        break;
    }
    case LT_A_BLOCK:
        record->name = lt_pad_text(pad, ((const leat_block *)(const void *)party)->type->name);
        break;
    case LT_A_CALLBACK:
        record->code = (const void *)(uintptr_t)((const leat_op *)(const void *)party)->leat_fn;
        break;
    case LT_A_TIMER:
        record->code = (const void *)(uintptr_t)((const leat_timer *)(const void *)party)->leat_fn;
        break;
    default: record->name = lt_pad_text(pad, LT_CONTAINER(party, struct lt_thread, party)->name);
    }
    return record;
}

struct listening {
    struct lt_listener listener;
    struct lt_pad *pad;
    struct lt_record *record;
};

static void hear(struct lt_listener *listener, enum lt_aim aim, const void *object)
{
    struct listening *l = LT_CONTAINER(listener, struct listening, listener);
    if (aim == LT_TO_RECEIVE || aim == LT_TO_SEND)
        lt_record_aim(l->pad, l->record, aim, (leat_chan *)(uintptr_t)object);
    else
        lt_pad_aim(l->pad, l->record, aim, object,
                   aim == LT_FOR_SCOPE ? ((const leat_scope *)object)->number : 0);
}

const leat_scope *lt_record_scope(const struct lt_task *task)
{
    return task->party.scope ? lt_scope_of_task(task) : NULL;
}

void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state)
{
    struct lt_record *record = lt_record_party(pad, &task->party, state);
    if (!record)
        return;
    const struct lt_wait *wait = task->party.wait;
    record->complete = true;
    const leat_scope *scope = lt_record_scope(task);
    record->scope = scope;
    record->scope_number = scope ? scope->number : 0;
    record->worker = (int)lt_task_home(task)->index;
    record->stack = task->stack->fiber.low;
    record->stack_size = task->stack->fiber.size;
    if (state != LT_IS_WAITING)
        return;
    if (!wait) {
        record->state = LT_IS_READY;
        return;
    }
    if (lt_listed(&wait->timer.node))
        record->until = wait->timer.deadline;
    if (lt_probing() & LT_PROBE_WAITS)
        record->since = task->left;
    struct listening listening = { .listener.hear = hear, .pad = pad, .record = record };
    if (wait->kind->describe)
        wait->kind->describe(wait, &listening.listener);
}
