/* around.c: the parties and channels of each scope. */
#include "watch/around.h"

#include "block/block.h"
#include "block/machine.h"
#include "watch/fleeting.h"

/* ---- parties ---- */

/* The block's awaiter, the awaiter of that, and so on: none resumes while the block is listed. */
static void record_awaiters(struct lt_pad *pad, const struct lt_party *awaited)
{
    while (awaited->kind == LT_BLOCK && !pad->full) {
        const struct lt_party *party = lt_block_awaiter((const void *)awaited);
        struct lt_record *record = party ? lt_record_party(pad, party, LT_IS_WAITING) : NULL;
        if (!record)
            return;
        if (record->thing == LT_A_BLOCK) {
            record->line = ((const leat_block *)(const void *)party)->line;
            record->scope = party->scope;
            record->scope_number = party->scope->number;
        }
        lt_pad_aim(pad, record, LT_FOR_BLOCK, awaited, 0);
        awaited = party;
    }
}

static void belongs_to(struct lt_record *record, const leat_scope *scope)
{
    record->scope = scope;
    record->scope_number = scope->number;
}

static void record_tasks(struct lt_pad *pad, const struct lt_node *tasks, leat_scope *scope)
{
    struct lt_record *record;
    for (struct lt_node *node = tasks->next; node != tasks && lt_pad_step(pad, LT_A_TASK);
         node = node->next) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (!(record = lt_record_party(pad, &task->party, LT_IS_THERE)))
            break;
        belongs_to(record, scope);
        record->worker = (int)task->home->index;
        record->stack = task->stack->fiber.low;
        record->stack_size = task->stack->fiber.size;
    }
}

/* Channels tell which stackless parties wait, and for what. A bounded look does not hear of all
 * that wait on a channel, so it asks the party. */
static enum lt_state state_of(const struct lt_pad *pad, const struct lt_party *party)
{
    /* Relaxed: the answer is old in any case. */
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
            belongs_to(record, scope);
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
        belongs_to(record, scope);
        if (record->since)
            record->state = LT_IS_WAITING;
    }
}

/* Tasks and stackless parties get some of the room each. */
static void take_parties(struct lt_pad *pad, void *arg)
{
    leat_scope *scope = arg;
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

static void take_channels(struct lt_pad *pad, void *arg)
{
    leat_scope *scope = arg;
    lt_lock(&scope->lock);
    for (struct lt_node *node = scope->owned.next;
         node != &scope->owned && lt_pad_step(pad, LT_A_CHANNEL); node = node->next)
        lt_record_owned(pad, LT_CONTAINER(node, struct lt_owned, node));
    lt_unlock(&scope->lock);
}

static void take_orphans(struct lt_pad *pad, void *unused)
{
    (void)unused;
    struct lt_node *all = &lt_orphans.channels;
    lt_lock(&lt_orphans.lock);
    for (struct lt_node *node = all->next; node != all && lt_pad_step(pad, LT_A_CHANNEL);
         node = node->next)
        lt_record_orphan(pad, LT_CONTAINER(node, leat_chan, owned.node));
    lt_unlock(&lt_orphans.lock);
}

/* ---- all scopes ---- */

/* What is left for all scopes to come. */
struct rest {
    size_t channels, waiters;
};

static int take(struct lt_look *look, void (*fn)(struct lt_pad *pad, void *arg), void *arg,
                struct lt_allowance allowance)
{
    if (look->bounded)
        look->pad.left = allowance;
    return lt_pad_take(&look->pad, fn, arg);
}

/* `others`: how many scopes are still to come. */
static int look_at_channels(struct lt_look *look, void (*fn)(struct lt_pad *pad, void *arg),
                            void *arg, struct rest *rest, size_t others)
{
    size_t part = rest->channels / (others + 1);
    if (part < LT_LOOK_LEAST)
        part = rest->channels < LT_LOOK_LEAST ? rest->channels : LT_LOOK_LEAST;
    int error = take(look, fn, arg,
                     (struct lt_allowance){ rest->waiters, part, lt_look_steps(&look->bound) });
    rest->waiters = look->pad.left.parties;
    rest->channels -= part - look->pad.left.channels;
    return error;
}

/* In this order: stackless parties bring along the parties that await them, and channels the
 * parties that wait on them. Channels without a scope have the last quarter of the room, or more.
 * What is found on a channel only is the first to go when it is too much. */
int lt_look_around(struct lt_look *look)
{
    int error = 0;
    size_t orphans = look->bound.channels / 4;
    struct rest rest = { look->bound.channels - orphans, look->bound.parties };
    for (size_t i = 0; !error && i < look->scope_count; i++) {
        leat_scope *scope = look->scopes[i].scope;
        look->pad.choosing = look->bounded;
        error = take(look, take_parties, scope,
                     (struct lt_allowance){ look->scopes[i].room, 0, lt_look_steps(&look->bound) });
        look->pad.choosing = false;
        if (!error)
            error = look_at_channels(look, take_channels, scope, &rest, look->scope_count - i - 1);
    }
    rest.channels += orphans;
    if (!error)
        error = look_at_channels(look, take_orphans, NULL, &rest, 0);
    return error ? error : lt_look_at_queues(look);
}
