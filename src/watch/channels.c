/* channels.c: records of channels, and of what has channels: descriptors, batchers and stages. */
#include "block/machine.h"
#include "scope/sight.h"
#include "watch/records.h"

/* In a bounded look, waiters of one channel: at most MOST, and else a part of the room that is left
 * for waiters. So there is some room for the channels to come. */
enum { MOST = 100, LEAST = 4, PARTS = 32 };

static size_t waiters_allowed(const struct lt_pad *pad)
{
    size_t part = pad->left.parties / PARTS;
    return !pad->bounded ? SIZE_MAX : part < LEAST ? LEAST : part > MOST ? MOST : part;
}

/* In a bounded look it may be that nothing else tells of the scope. That of a task or a callback
 * that waits does not change. A block's is not read: while the block has an alarm, it is elsewhere
 * (block/machine.h). A thread may be in none. */
static void find_scope(struct lt_record *record, const struct lt_party *party)
{
    if (party->kind == LT_TASK)
        record->scope = lt_record_scope(LT_CONTAINER(party, const struct lt_task, party));
    else if (party->kind == LT_CALLBACK)
        record->scope = party->scope;
    if (record->scope)
        record->scope_number = ((const leat_scope *)record->scope)->number;
    record->in_scope = record->scope || party->kind == LT_BLOCK;
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
        /* Not the remains of a wait that was claimed elsewhere. A party in the queue resumes only
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
    struct lt_record *record = lt_pad_record(pad, LT_A_CHANNEL, ch);
    if (!record)
        return;
    record->scope = ch->scope;
    record->number = ch->number;
    record->name = lt_pad_text(pad, ch->name);
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

static void record_stage(struct lt_pad *pad, struct lt_record *record, const struct lt_sight *sight)
{
    record->what = sight->what;
    record->block = sight->block;
    record->n = sight->n;
    record->window = sight->window;
    record->held = sight->held;
    record->receivers = sight->ins;
    record->senders = sight->outs;
    for (uint32_t i = 0; i < sight->ins && i < LT_SIGHT_ENDS; i++)
        lt_pad_aim(pad, record, LT_TO_RECEIVE, NULL, sight->in[i]);
    for (uint32_t i = 0; i < sight->outs && i < LT_SIGHT_ENDS; i++)
        lt_pad_aim(pad, record, LT_TO_SEND, NULL, sight->out[i]);
}

static void record_sight(struct lt_pad *pad, const struct lt_sight *sight)
{
    static const enum lt_thing things[] = { LT_A_DESCRIPTOR, LT_A_BATCHER, LT_A_STAGE };
    struct lt_record *record = lt_pad_record(pad, things[sight->kind], sight->self);
    if (!record)
        return;
    record->scope = sight->scope;
    record->name = lt_pad_text(pad, sight->name);
    record->closed = sight->closed;
    record->forming = sight->forming;
    record->running = sight->running;
    record->batches = sight->batches;
    record->items = sight->items;
    record->more = !sight->steps;
    pad->cut |= record->more;
    if (sight->kind == LT_SEES_STAGE)
        record_stage(pad, record, sight);
    if (sight->kind != LT_SEES_DESCRIPTOR)
        return;
    record->number = (uint32_t)sight->fd;
    record->receivers =
        record_way(pad, record, sight->ways[0], LT_TO_READ) + (uint32_t)sight->in_ring[0];
    record->senders =
        record_way(pad, record, sight->ways[1], LT_TO_WRITE) + (uint32_t)sight->in_ring[1];
}

/* ---- what the walks find ---- */

void lt_record_owned(struct lt_pad *pad, struct lt_owned *owned)
{
    leat_chan *ch = lt_chan_owned(owned);
    if (ch)
        record_channel(pad, ch);
    if (!owned->kind->see)
        return;
    struct lt_sight sight = { .steps = pad->left.steps };
    owned->kind->see(owned, &sight);
    pad->left.steps = sight.steps;
    if (sight.self)
        record_sight(pad, &sight);
}

/* The keeper of a channel without a scope is set before others find the channel. */
static const struct lt_keeper *keeper_of(const leat_chan *ch)
{
    return ch->scope ? NULL : ch->keeper;
}

void lt_record_orphan(struct lt_pad *pad, leat_chan *ch)
{
    const struct lt_keeper *keeper = keeper_of(ch);
    struct lt_sight sight = { .steps = pad->left.steps };
    if (!keeper || !keeper->see)
        record_channel(pad, ch);
    else if (!keeper->follows && keeper->see(ch, &sight) && !sight.scope)
        record_sight(pad, &sight);
}

void lt_record_aim(struct lt_pad *pad, struct lt_record *record, enum lt_aim aim, leat_chan *ch)
{
    const struct lt_keeper *keeper = keeper_of(ch);
    struct lt_sight sight = { .steps = SIZE_MAX };
    if (keeper && keeper->see && keeper->see(ch, &sight))
        lt_pad_aim(pad, record, sight.ways[1] == ch ? LT_TO_WRITE : LT_TO_READ, sight.self,
                   (uint32_t)sight.fd);
    else
        lt_pad_aim(pad, record, aim, ch, ch->number);
}
