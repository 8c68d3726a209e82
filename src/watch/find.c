#define _GNU_SOURCE /* process_vm_readv */
#include "watch/find.h"

#include "base/alloc.h"
#include "block/block.h"
#include "block/machine.h"
#include "sched/global_queue.h"

#include <leat/block.h>
#include <leat/callback.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- parties ---- */

/* The block's awaiter, the awaiter of that, and so on: none resumes while the block is listed. */
static void record_awaiters(struct lt_pad *pad, const struct lt_party *awaited)
{
    while (awaited->kind == LT_BLOCK) {
        const struct lt_party *party = lt_block_awaiter((const void *)awaited);
        struct lt_record *record = party ? lt_record_party(pad, party, LT_IS_WAITING) : NULL;
        if (!record)
            return;
        if (record->thing == LT_A_BLOCK) {
            record->line = ((const leat_block *)(const void *)party)->line;
            lt_record_scope(record, party->scope);
        }
        lt_pad_aim(pad, record, LT_FOR_BLOCK, awaited, 0);
        awaited = party;
    }
}

static void record_tasks(struct lt_pad *pad, const struct lt_node *tasks, leat_scope *scope)
{
    struct lt_record *record;
    for (struct lt_node *node = tasks->next; node != tasks && lt_pad_step(pad, LT_A_TASK);
         node = node->next) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (!(record = lt_record_party(pad, &task->party, LT_IS_THERE)))
            break;
        lt_record_scope(record, scope);
        record->worker = (int)task->home->index;
        record->stack = task->stack->fiber.low;
        record->stack_size = task->stack->fiber.size;
    }
}

/* Channels show which stackless parties wait, and for what. A bounded look does not record all that
 * wait on a channel, so it reads the party itself. */
static enum lt_state state_of(const struct lt_pad *pad, const struct lt_party *party)
{
    /* Relaxed: the result is old in any case. */
    return pad->bounded && atomic_load_explicit(&party->unclaimed, memory_order_relaxed)
               ? LT_IS_WAITING
               : LT_IS_THERE;
}

static void record_stackless(struct lt_pad *pad, const struct lt_node *stackless, leat_scope *scope)
{
    for (struct lt_node *node = stackless->next; node != stackless && lt_pad_step(pad, LT_A_BLOCK);
         node = node->next) {
        struct lt_party *party = &LT_CONTAINER(node, struct lt_stackless, member)->party;
        struct lt_record *record = lt_record_party(pad, party, state_of(pad, party));
        if (record)
            lt_record_scope(record, scope);
        record_awaiters(pad, party);
    }
}

static void record_threads(struct lt_pad *pad, leat_scope *scope)
{
    for (struct lt_node *node = scope->threads.next;
         node != &scope->threads && lt_pad_step(pad, LT_A_THREAD); node = node->next) {
        struct lt_thread *thread = LT_CONTAINER(node, struct lt_thread, member);
        struct lt_record *record = lt_record_party(pad, &thread->party, LT_IS_THERE);
        if (!record)
            break;
        lt_record_scope(record, scope);
        if (record->since)
            record->state = LT_IS_WAITING;
    }
}

/* Tasks and stackless parties each get a part of the room. */
static void record_parties(struct lt_pad *pad, leat_scope *scope, size_t all)
{
    lt_pad_allow(pad, all, 0);
    lt_lock(&scope->lock);
    record_threads(pad, scope);
    size_t room = pad->left.parties,
           for_tasks = lt_list_empty(&scope->stackless) ? room : room - room / 2;
    pad->left.parties = for_tasks;
    record_tasks(pad, &scope->tasks, scope);
    pad->left.parties += room - for_tasks;
    record_stackless(pad, &scope->stackless, scope);
    lt_unlock(&scope->lock);
}

/* ---- channels ---- */

static void record_channels(struct lt_pad *pad, leat_scope *scope)
{
    struct lt_node *all = &scope->owned;
    lt_lock(&scope->lock);
    for (struct lt_node *node = all->next; node != all && lt_pad_step(pad, LT_A_CHANNEL);
         node = node->next) {
        struct lt_owned *owned = LT_CONTAINER(node, struct lt_owned, node);
        if (scope != &lt_root)
            lt_record_owned(pad, scope, owned);
        else
            lt_record_orphan(pad, LT_CONTAINER(owned, leat_chan, owned));
    }
    lt_unlock(&scope->lock);
}

/* The rest of the bound, for the scopes still to come. */
struct rest {
    size_t channels, waiters;
};

/* `others`: the number of scopes still to come. */
static void look_at_channels(struct lt_pad *pad, leat_scope *scope, struct rest *rest,
                             size_t others)
{
    size_t part = lt_look_share(rest->channels, others);
    lt_pad_allow(pad, rest->waiters, part);
    record_channels(pad, scope);
    rest->waiters = pad->left.parties;
    rest->channels -= part - pad->left.channels;
}

/* ---- parties that have not started ---- */

/* Copies memory by the kernel: where a load would fault, the kernel returns an error, and no
 * sanitizer reports a race. It is a race, and the caller deals with it. Returns the number of
 * bytes. */
static size_t read_own(void *to, size_t size, const struct iovec *from, unsigned long pieces)
{
    int saved = errno;
    ssize_t got = process_vm_readv(getpid(), &(struct iovec){ to, size }, 1, from, pieces, 0);
    errno = saved;
    return got > 0 ? (size_t)got : 0;
}

/* False: some bytes are not mapped, or the kernel does not allow the call. The copy means nothing
 * until the caller has checked that the object was still in its place after the copy. */
static bool peek(void *to, const void *from, size_t size)
{
    return read_own(to, size, &(struct iovec){ (void *)(uintptr_t)from, size }, 1) == size;
}

/* Copies a string of less than a page, cut off where it does not fit. The page after the string's
 * end may not be mapped. */
static bool peek_text(char *to, size_t size, const char *from)
{
    char *at = (char *)(uintptr_t)from;
    size_t page = lt_page_size(), most = size - 1;
    size_t here = lt_at_most(page - (uintptr_t)from % page, most);
    size_t got =
        read_own(to, most, (struct iovec[]){ { at, here }, { at + here, most - here } }, 2);
    to[got] = '\0';
    return got == most || memchr(to, '\0', got);
}

enum { LONGEST_NAME = 256 };

/* A copy of a party, with a copy of its name. The party may have become another by then. */
struct glimpse {
    union {
        struct lt_party party;
        struct lt_task task;
        leat_block block;
        leat_op op;
    };
    struct lt_stack stack; /* of a task; empty: there is none, or it cannot be read */
    leat_block_type type;
    char name[LONGEST_NAME];
};

static bool peek_name(struct glimpse *to, const char **name)
{
    const char *from = *name;
    *name = from ? to->name : NULL;
    return !from || peek_text(to->name, sizeof to->name, from);
}

static bool peek_task(struct glimpse *to, const struct lt_party *party)
{
    if (!peek(&to->task, party, sizeof to->task))
        return false;
    if (!to->task.stack || !peek(&to->stack, to->task.stack, sizeof to->stack))
        to->stack = (struct lt_stack){ 0 };
    return peek_name(to, &to->task.name);
}

static bool peek_block(struct glimpse *to, const struct lt_party *party)
{
    if (!peek(&to->block, party, sizeof to->block) ||
        !peek(&to->type, to->block.type, sizeof to->type))
        return false;
    to->block.type = &to->type;
    return peek_name(to, &to->type.name);
}

/* False: the party cannot be read. */
static bool peek_party(struct glimpse *to, const struct lt_party *party)
{
    if (!peek(&to->party, party, sizeof to->party))
        return false;
    uint8_t kind = to->party.kind;
    bool read = kind == LT_TASK       ? peek_task(to, party)
                : kind == LT_BLOCK    ? peek_block(to, party)
                : kind == LT_CALLBACK ? peek(&to->op, party, sizeof to->op)
                                      : false;
    to->party.kind = kind;
    return read;
}

/* A block that is running or ready again, or a callback. */
static bool is_resumed(const struct lt_party *party)
{
    return party->kind == LT_CALLBACK ||
           (party->kind == LT_BLOCK && ((const leat_block *)(const void *)party)->leat_resume);
}

static enum lt_state queued_state(const struct lt_party *party)
{
    return is_resumed(party) ? LT_IS_READY : LT_IS_QUEUED;
}

/* Whether party.scope is the scope: a block that goes on may have an alarm there. */
static bool has_scope(const struct lt_party *party)
{
    return party->scope && (party->kind == LT_CALLBACK || !is_resumed(party));
}

/* Records a copy of the party. */
static struct lt_record *record_glimpse(struct lt_pad *pad, const struct glimpse *seen,
                                        const struct lt_party *party, enum lt_state state)
{
    struct lt_record *record = lt_record_party(pad, &seen->party, state);
    if (!record)
        return NULL;
    record->self = party;
    record->scope = seen->party.scope;
    return record;
}

/* A bounded look may not have recorded the party's scope, and then does not know its number. */
static void record_local_queue(struct lt_pad *pad, struct lt_local_queue *queue)
{
    struct glimpse seen;
    /* Acquire: the slots before this tail have been written. */
    uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint32_t i = atomic_load_explicit(&queue->head, memory_order_relaxed);
    for (; (int32_t)(tail - i) > 0 && lt_pad_step(pad, LT_A_TASK); i++) {
        struct lt_party *party =
            atomic_load_explicit(&queue->slots[i % LT_LOCAL_QUEUE_SIZE], memory_order_relaxed);
        uint32_t scope = 0;
        bool read =
            peek_party(&seen, party) && (!pad->bounded || !has_scope(&seen.party) ||
                                         peek(&scope, &seen.party.scope->number, sizeof scope));
        /* A worker that takes the party moves `head` first. (The party was read by system calls,
         * which this load does not overtake.) */
        uint32_t head = atomic_load_explicit(&queue->head, memory_order_acquire);
        if (!read || (int32_t)(head - i) > 0)
            continue;
        struct lt_record *record = record_glimpse(pad, &seen, party, queued_state(&seen.party));
        if (record)
            record->scope_number = scope;
    }
}

/* The party's scope stays as long as the party is in the queue. */
static bool record_queued(void *arg, struct lt_party *party)
{
    struct lt_pad *pad = arg;
    struct lt_record *record =
        lt_pad_step(pad, LT_A_TASK) ? lt_record_party(pad, party, queued_state(party)) : NULL;
    if (!record)
        return false;
    record->scope = party->scope;
    record->scope_number = has_scope(party) ? party->scope->number : 0;
    return true;
}

static void look_at_queues(struct lt_look *look, struct lt_pad *pad)
{
    lt_pad_allow(pad, lt_look_extra(look, 2), 0);
    lt_global_queue_each(record_queued, pad);
    for (unsigned i = 0; i < look->worker_count; i++) {
        lt_pad_allow(pad, lt_look_extra(look, 2 * look->worker_count), 0);
        record_local_queue(pad, &lt_runtime.workers[i]->local_queue);
    }
}

/* In this order, since stackless parties bring the parties that await them, and channels bring the
 * parties that wait on them. Channels without a scope have at least the last quarter of the room.
 * If there is too much, parties found only on a channel are left out first. */
void lt_look_around(struct lt_look *look)
{
    struct lt_pad *pad = look->pads;
    size_t orphans = look->bound.channels / 4;
    struct rest rest = { look->bound.channels - orphans, look->bound.parties };
    for (size_t i = 0; i < look->scope_count; i++) {
        leat_scope *scope = look->scopes[i].scope;
        pad->choosing = look->bounded;
        record_parties(pad, scope, look->scopes[i].room);
        pad->choosing = false;
        look_at_channels(pad, scope, &rest, look->scope_count - i - 1);
    }
    rest.channels += orphans;
    look_at_channels(pad, &lt_root, &rest, 0);
    look_at_queues(look, pad);
}

/* ---- busy workers ---- */

/* Reads the task that a worker runs. False: it cannot be read, or the worker now runs another
 * one. */
static bool peek_running(struct glimpse *to, const struct lt_worker *worker,
                         const struct lt_task *task)
{
    uint32_t number;
    return task && peek_party(to, &task->party) && to->party.kind == LT_TASK &&
           lt_worker_running(worker) == task && peek(&number, &task->number, sizeof number) &&
           number == to->task.number;
}

bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size)
{
    struct glimpse seen;
    if (!peek_running(&seen, worker, task))
        return false;
    *number = seen.task.number;
    snprintf(name, size, "%s", seen.task.name ? seen.task.name : "");
    return true;
}

/* The scope that a task belongs to: not one that it has opened itself, but the one around it. A
 * scope that the look has not found is not followed. */
static const leat_scope *scope_outside(const struct lt_look *look, const struct lt_task *task,
                                       const leat_scope *scope)
{
    for (size_t i;
         (i = lt_look_scope(look, scope)) != LT_NOWHERE && look->scopes[i].opener == &task->party;)
        scope = look->scopes[i].around == LT_NOWHERE ? NULL
                                                     : look->scopes[look->scopes[i].around].scope;
    return scope;
}

void lt_look_at_busy(struct lt_look *look, unsigned i)
{
    struct lt_pad *pad = look->pads;
    struct lt_worker *worker = lt_runtime.workers[i];
    /* The worker's call stack, when it ran this task; empty, if it is not known. */
    struct lt_frames frames = { 0 };
    const struct lt_task *ran = NULL, *task;
    struct glimpse seen;
    uint32_t number = 0;
    if (look->caller)
        lt_frames_of_worker(&frames, worker, &ran, &number);
    lt_pad_allow(pad, 1, 0);
    look->workers[i].frames = ran ? NULL : lt_pad_frames(pad, &frames);
    task = lt_worker_running(worker);
    if (!peek_running(&seen, worker, task))
        return;
    struct lt_record *record = record_glimpse(pad, &seen, &task->party, LT_IS_RUNNING);
    if (!record)
        return;
    record->scope = scope_outside(look, task, seen.party.scope);
    record->worker = (int)i;
    record->stack = seen.stack.fiber.low;
    record->stack_size = seen.stack.fiber.size;
    if (task == ran && seen.task.number == number)
        record->frames = lt_pad_frames(pad, &frames);
    look->workers[i].running = record;
}
