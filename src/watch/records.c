#include "watch/records.h"

#include "base/alloc.h"
#include "block/machine.h"
#include "sched/runtime.h"
#include "watch/since.h"

#include <leat/callback.h>
#include <leat/timer.h>

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
    for (struct lt_chunk *chunk = pad->chunk, *next; chunk; chunk = next) {
        next = chunk->next;
        lt_free(chunk);
    }
}

static bool add_chunk(struct lt_pad *pad, struct lt_chunk *chunk, size_t size)
{
    if (!chunk)
        return false;
    *chunk = (struct lt_chunk){ .next = pad->chunk, .size = size };
    pad->chunk = chunk;
    return true;
}

/* A record with a name and two aims. */
enum { USUAL_BYTES = sizeof(struct lt_record) + 2 * sizeof(struct lt_aim_record) + 64 };

/* Zeroed, so that under a lock no page is touched for the first time. */
bool lt_pad_bound(struct lt_pad *pad, size_t n, size_t steps)
{
    pad->bounded = true;
    pad->steps = pad->left.steps = steps;
    return add_chunk(pad, lt_alloc(sizeof *pad->chunk + n * USUAL_BYTES), n * USUAL_BYTES);
}

void lt_pad_allow(struct lt_pad *pad, size_t parties, size_t channels)
{
    if (pad->bounded)
        pad->left = (struct lt_allowance){ parties, channels, pad->steps };
}

static void *get(struct lt_pad *pad, size_t bytes)
{
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!pad->chunk || rounded > pad->chunk->size - pad->chunk->used) {
        size_t size = (pad->chunk ? 2 * pad->chunk->size : FIRST_ROOM) + rounded;
        pad->failed |= !add_chunk(pad, lt_alloc_unset(sizeof *pad->chunk + size), size);
        if (pad->failed)
            return NULL;
    }
    void *memory = pad->chunk->bytes + pad->chunk->used;
    pad->chunk->used += rounded;
    return memory;
}

static void *copy(struct lt_pad *pad, const void *from, size_t bytes)
{
    void *to = get(pad, bytes);
    return to ? memcpy(to, from, bytes) : NULL;
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
    return may && !pad->failed;
}

/* Makes a new record, the pad's last; NULL if the allowance is used up, or there is no memory. */
static struct lt_record *add_record(struct lt_pad *pad, enum lt_thing thing, const void *self)
{
    size_t *left = records_left(pad, thing);
    pad->cut |= !*left;
    struct lt_record *record = *left ? get(pad, sizeof *record) : NULL;
    if (!record)
        return NULL;
    --*left;
    *record = (struct lt_record){
        .thing = thing, .self = self, .chosen = pad->choosing, .worker = -1, .until = LEAT_NEVER
    };
    *pad->end = record;
    pad->end = &record->next;
    pad->count++;
    return record;
}

void lt_pad_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, const void *object,
                uint32_t number)
{
    struct lt_aim_record *one = get(pad, sizeof *one);
    if (!one)
        return;
    *one = (struct lt_aim_record){ .aim = aim, .object = object, .number = number };
    *(record->last_aim ? &record->last_aim->next : &record->aims) = one;
    record->last_aim = one;
}

static const char *copy_text(struct lt_pad *pad, const char *text)
{
    return text ? copy(pad, text, strlen(text) + 1) : NULL;
}

const struct lt_frames *lt_pad_frames(struct lt_pad *pad, const struct lt_frames *frames)
{
    size_t size = offsetof(struct lt_frames, code) + frames->count * sizeof *frames->code;
    return frames->count ? copy(pad, frames, size) : NULL;
}

/* ---- parties ---- */

static const enum lt_thing thing_of[LT_KINDS] = { [LT_TASK] = LT_A_TASK,
                                                  [LT_THREAD] = LT_A_THREAD,
                                                  [LT_BLOCK] = LT_A_BLOCK,
                                                  [LT_CALLBACK] = LT_A_CALLBACK,
                                                  [LT_TIMER] = LT_A_TIMER };

/* A thread has its own word for that. For a stackless party the table has an entry, which is
 * another party's unless this one waits. */
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
    struct lt_record *record = add_record(pad, thing_of[party->kind], party);
    if (!record)
        return NULL;
    record->state = state;
    record->since = lt_probing() & LT_PROBE_WAITS ? since_when(party, state) : 0;
    switch (record->thing) {
    case LT_A_TASK: {
        const struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
        record->number = task->number;
        record->name = copy_text(pad, task->name);
        break;
    }
    case LT_A_BLOCK:
        record->name = copy_text(pad, ((const leat_block *)(const void *)party)->type->name);
        break;
    case LT_A_CALLBACK:
        record->code = (const void *)(uintptr_t)((const leat_op *)(const void *)party)->leat_fn;
        break;
    case LT_A_TIMER:
        record->code = (const void *)(uintptr_t)((const leat_timer *)(const void *)party)->leat_fn;
        break;
    default: record->name = copy_text(pad, LT_CONTAINER(party, struct lt_thread, party)->name);
    }
    return record;
}

void lt_record_scope(struct lt_record *record, const leat_scope *scope)
{
    record->scope = scope;
    record->scope_number = scope ? scope->number : 0;
}

/* NULL for the scope on which the seeded world runs a thread. */
static const leat_scope *scope_of(const struct lt_task *task)
{
    return task->party.scope ? lt_scope_of_task(task) : NULL;
}

static const struct lt_keeper *keeper_of(const leat_chan *ch)
{
    return ch->kept ? ch->keeper : NULL;
}

/* Records that a party waits on this channel, or on the descriptor that the channel is a part
 * of. */
static void record_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, leat_chan *ch)
{
    const struct lt_keeper *keeper = keeper_of(ch);
    struct lt_sight sight = { .steps = SIZE_MAX };
    if (keeper && keeper->see && keeper->see(ch, &sight))
        lt_pad_aim(pad, record, sight.ways[1] == ch ? LT_TO_WRITE : LT_TO_READ, sight.self,
                   (uint32_t)sight.fd);
    else
        lt_pad_aim(pad, record, aim, ch, ch->number);
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
        record_aim(l->pad, l->record, aim, (leat_chan *)(uintptr_t)object);
    else
        lt_pad_aim(l->pad, l->record, aim, object,
                   aim == LT_FOR_SCOPE ? ((const leat_scope *)object)->number : 0);
}

void lt_record_task_at_home(struct lt_pad *pad, const struct lt_task *task, enum lt_state state)
{
    struct lt_record *record = lt_record_party(pad, &task->party, state);
    if (!record)
        return;
    const struct lt_wait *wait = task->party.wait;
    record->complete = true;
    lt_record_scope(record, scope_of(task));
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

/* ---- channels ---- */

/* In a bounded look, the waiters recorded of one channel: at most MOST, or a part of the room that
 * is left for waiters. So there is some room for the channels to come. */
enum { MOST = 100, LEAST = 4, PARTS = 32 };

static size_t waiters_allowed(const struct lt_pad *pad)
{
    size_t part = lt_at_least(pad->left.parties / PARTS, LEAST);
    return pad->bounded ? lt_at_most(part, MOST) : SIZE_MAX;
}

/* In a bounded look this may be the only way to the scope. The scope of a task or a callback that
 * waits does not change. A block's scope is not read: while the block has an alarm, it is elsewhere
 * (block/machine.h). A thread may be in none. */
static void find_scope(struct lt_record *record, const struct lt_party *party)
{
    if (party->kind == LT_TASK)
        lt_record_scope(record, scope_of(LT_CONTAINER(party, const struct lt_task, party)));
    else if (party->kind == LT_CALLBACK)
        lt_record_scope(record, party->scope);
}

static void record_waiter(struct lt_pad *pad, struct lt_record *on, struct lt_party *party,
                          enum lt_aim aim)
{
    struct lt_record *record = lt_record_party(pad, party, LT_IS_WAITING);
    if (!record)
        return;
    if (record->thing == LT_A_BLOCK)
        record->line = ((leat_block *)(void *)party)->line;
    if (pad->bounded)
        find_scope(record, party);
    lt_pad_aim(pad, record, aim, on->self, on->number);
    lt_pad_aim(pad, on, aim, party, record->number);
}

static void record_waiters(struct lt_pad *pad, struct lt_record *on, struct lt_node *queue,
                           enum lt_aim aim)
{
    size_t most = waiters_allowed(pad);
    for (struct lt_node *node = queue->next; node != queue; node = node->next) {
        if (most-- == 0) {
            pad->cut = true;
            return;
        }
        if (!lt_pad_step(pad, LT_A_TASK))
            return;
        struct lt_waiter *waiter = LT_CONTAINER(node, struct lt_waiter, node);
        struct lt_party *party = lt_waiter_party(waiter);
        /* Skips the remains of a wait that was claimed elsewhere. A party in the queue resumes only
         * after it has been taken out, under this lock. */
        if (!waiter->shared || atomic_load_explicit(&party->unclaimed, memory_order_relaxed))
            record_waiter(pad, on, party, aim);
    }
}

static uint32_t waiting(const _Atomic uint32_t *count)
{
    /* Relaxed: a number that orders nothing. */
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void record_channel(struct lt_pad *pad, leat_chan *ch)
{
    struct lt_record *record = add_record(pad, LT_A_CHANNEL, ch);
    if (!record)
        return;
    record->scope = ch->scope;
    record->number = ch->number;
    record->name = copy_text(pad, ch->name);
    record->capacity = ch->capacity;
    /* The owner of a biased lock pays for each visit. So a bounded look, which may come each
     * second, spares channels on which no party waits. */
    bool visited =
        !pad->bounded || waiting(&ch->receivers_waiting) || waiting(&ch->senders_waiting);
    if (visited)
        lt_chan_visit(ch);
    record->length = visited ? lt_chan_count(ch) : leat_chan_len(ch);
    record->passed = lt_chan_passed(ch);
    record->closed = lt_chan_is_closed(ch);
    record->receivers = waiting(&ch->receivers_waiting);
    record->senders = waiting(&ch->senders_waiting);
    if (!visited)
        return;
    record_waiters(pad, record, &ch->receivers, LT_TO_RECEIVE);
    record_waiters(pad, record, &ch->senders, LT_TO_SEND);
    lt_chan_unlock(ch);
}

/* ---- descriptors, batchers and stages ---- */

/* Parties wait for readiness by receiving it. */
static uint32_t record_way(struct lt_pad *pad, struct lt_record *record, leat_chan *ch,
                           enum lt_aim aim)
{
    if (!ch || !waiting(&ch->receivers_waiting))
        return 0;
    lt_chan_visit(ch);
    uint32_t count = waiting(&ch->receivers_waiting);
    record_waiters(pad, record, &ch->receivers, aim);
    lt_chan_unlock(ch);
    return count;
}

static void record_sight(struct lt_pad *pad, const struct lt_sight *sight)
{
    static const enum lt_thing things[] = { LT_A_DESCRIPTOR, LT_A_BATCHER, LT_A_STAGE,
                                            LT_A_CHANNEL };
    struct lt_record *record = add_record(pad, things[sight->kind], sight->self);
    if (!record)
        return;
    record->scope = sight->scope;
    record->name = copy_text(pad, sight->name);
    record->closed = sight->closed;
    record->sight = copy(pad, sight, sizeof *sight);
    pad->cut |= !sight->steps;
    if (sight->kind == LT_SEES_MUTEX) {
        record->number = sight->in[0];
        record->holder = sight->holder;
    }
    if (sight->kind != LT_SEES_DESCRIPTOR)
        return;
    record->number = (uint32_t)sight->fd;
    record->receivers =
        record_way(pad, record, sight->ways[0], LT_TO_READ) + (uint32_t)sight->in_ring[0];
    record->senders =
        record_way(pad, record, sight->ways[1], LT_TO_WRITE) + (uint32_t)sight->in_ring[1];
}

/* ---- objects of scopes ---- */

void lt_record_owned(struct lt_pad *pad, const leat_scope *scope, struct lt_owned *owned)
{
    leat_chan *ch = lt_chan_owned(owned);
    if (ch)
        record_channel(pad, ch);
    if (!owned->kind->see)
        return;
    struct lt_sight sight = { .scope = scope, .steps = pad->left.steps };
    owned->kind->see(owned, &sight);
    pad->left.steps = sight.steps;
    if (sight.self)
        record_sight(pad, &sight);
}

void lt_record_orphan(struct lt_pad *pad, leat_chan *ch)
{
    const struct lt_keeper *keeper = keeper_of(ch);
    struct lt_sight sight = { .steps = pad->left.steps };
    if (!keeper || !keeper->see)
        record_channel(pad, ch);
    else if (!keeper->follows && !ch->owned.kind && keeper->see(ch, &sight))
        record_sight(pad, &sight);
}
