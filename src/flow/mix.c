/* mix.c: inputs that are added, removed and switched.
 *
 * Each input has its own block, which receives an item, or the news that the input's state has
 * changed: so no select grows with the number of inputs. The mix's lock guards the states and the
 * lists of inputs. All inputs get news only when the first becomes solo or the last stops: no other
 * change of one input changes what another does. A removed input stays indexed until its block has
 * delivered its last item: if its channel is added again before that, the input goes on, so items
 * keep their order. Then it becomes a spare, which the next one reuses: all have items of one size.
 * News for its former life does no harm. The input keeps its reference to its channel until its
 * block ends: until then the block may still stand in the channel's queue. */
#include "base/index.h"
#include "block/block.h"
#include "flow/flow.h"

#include <leat/select.h>

enum { REMOVED = 8, STATES = LEAT_MIX_MUTE | LEAT_MIX_PAUSE | LEAT_MIX_SOLO };

struct input {
    struct lt_flow flow;
    struct lt_node node;
    struct lt_indexed indexed; /* by its channel */
    leat_mix *mix;
    leat_chan *news;
    unsigned state;
    unsigned role;     /* what it does with the item that it waits for */
    bool begun;        /* its block is started, or about to be */
    bool counted;      /* it has a reference to `flow.in`; otherwise a scope owns that channel */
    uint64_t notified; /* the value of mix->changes at its last news */
    struct lt_close_hook hook;
    _Atomic bool hooked; /* the hook waits for the end of `flow.in`, or its job is to run */
    leat_case cases[2];
};

struct leat_mix {
    struct lt_flow flow; /* has no block */
    unsigned others;
    struct lt_lock lock;
    struct lt_node inputs; /* in the order of `notified` */
    struct lt_node spares;
    struct lt_index index;
    size_t solos; /* inputs that are solo and not paused */
    uint64_t changes;
};

static bool is_solo(unsigned state)
{
    return (state & LEAT_MIX_SOLO) && !(state & (LEAT_MIX_PAUSE | REMOVED));
}

/* With the lock held. */
static struct input *find(leat_mix *mix, const leat_chan *in)
{
    struct lt_indexed *found = lt_index_find(&mix->index, (uintptr_t)in);
    return found ? LT_CONTAINER(found, struct input, indexed) : NULL;
}

/* With the lock held. True: the roles of all other inputs have changed. */
static bool set_state(struct input *input, unsigned state)
{
    leat_mix *mix = input->mix;
    bool had_solos = mix->solos;
    mix->solos += (size_t)is_solo(state) - (size_t)is_solo(input->state);
    if (state & REMOVED) {
        lt_list_remove(&input->node);
    } else if (input->state & REMOVED) {
        input->notified = mix->changes;
        lt_list_append(&mix->inputs, &input->node);
    }
    input->state = state;
    return had_solos != (mix->solos != 0);
}

/* What an input that holds no item does with the next: 0 to play, or any of REMOVED,
 * LEAT_MIX_PAUSE, LEAT_MIX_MUTE. If it is removed, it cannot be added again. */
static unsigned role(struct input *input)
{
    leat_mix *mix = input->mix;
    lt_lock(&mix->lock);
    unsigned state = input->state;
    if (state & REMOVED)
        lt_index_remove(&mix->index, &input->indexed);
    if (mix->solos && !is_solo(state))
        state |= mix->others;
    lt_unlock(&mix->lock);
    return state & ~(unsigned)LEAT_MIX_SOLO;
}

/* Makes the input a spare. True: as for set_state. */
static bool retire(struct input *input)
{
    leat_mix *mix = input->mix;
    lt_lock(&mix->lock);
    bool changes = !(input->state & REMOVED) && set_state(input, REMOVED);
    if (find(mix, input->flow.in) == input)
        lt_index_remove(&mix->index, &input->indexed);
    lt_list_append(&mix->spares, &input->node);
    lt_unlock(&mix->lock);
    /* Only now: while it is indexed, no other channel may get its address. */
    if (input->counted)
        leat_chan_unref(input->flow.in);
    return changes;
}

/* With the lock held: the next input that needs news, moved to the list's end; or NULL. */
static struct input *next_to_notify(leat_mix *mix)
{
    struct input *input = LT_FIRST(&mix->inputs, struct input, node);
    if (!input || input->notified == mix->changes)
        return NULL;
    input->notified = mix->changes;
    lt_list_remove(&input->node);
    lt_list_append(&mix->inputs, &input->node);
    return input;
}

/* Sends news to all inputs, one by one, so that no party is woken under the lock. */
static void notify_all(leat_mix *mix)
{
    lt_lock(&mix->lock);
    mix->changes++;
    for (struct input *input; (input = next_to_notify(mix));) {
        lt_unlock(&mix->lock);
        leat_try_send(input->news, NULL);
        lt_lock(&mix->lock);
    }
    lt_unlock(&mix->lock);
}

/* ---- a paused input's end ----
 *
 * A paused input takes nothing from its channel, so it would not notice that the channel is closed
 * and empty. While it waits for news a hook does, which counts as a task of the scope. */

static bool is_hooked(const struct input *input)
{
    return atomic_load_explicit(&input->hooked, memory_order_acquire);
}

static void unhook(struct input *input)
{
    leat_scope *scope = input->mix->flow.scope;
    /* Release: from here on the hook may be used again. */
    atomic_store_explicit(&input->hooked, false, memory_order_release);
    lt_scope_leave(scope, 0);
}

/* Runs on a worker. The input may have ended meanwhile: then it does not become another yet. */
static void input_closed(struct lt_job *job)
{
    struct input *input = LT_CONTAINER(job, struct input, hook.job);
    leat_try_send(input->news, NULL);
    unhook(input);
}

static void watch_end(struct input *input)
{
    if (is_hooked(input))
        return;
    /* Relaxed: only the input's block sets it, and the hook's job follows. */
    atomic_store_explicit(&input->hooked, true, memory_order_relaxed);
    lt_scope_enter(input->mix->flow.scope);
    if (!lt_chan_add_close_hook(input->flow.in, &input->hook, input_closed))
        unhook(input);
}

static void watch_end_no_more(struct input *input)
{
    if (is_hooked(input) && lt_chan_remove_close_hook(input->flow.in, &input->hook))
        unhook(input);
}

/* Whether the channel has ended. If not, news comes when it is closed. */
static bool is_paused_for_ever(struct input *input)
{
    watch_end(input);
    return leat_chan_closed(input->flow.in) && !leat_chan_len(input->flow.in);
}

static int play(leat_block *b)
{
    struct input *input = LT_CONTAINER(b, struct input, flow.block);
    LEAT_BEGIN(b);
    while (!((input->role = role(input)) & REMOVED)) {
        if (input->role & LEAT_MIX_PAUSE && is_paused_for_ever(input))
            break;
        input->cases[1].ch = input->role & LEAT_MIX_PAUSE ? NULL : input->flow.in;
        LEAT_AWAIT_SELECT_ORDERED(b, input->cases, 2, LEAT_NEVER, NULL);
        if (!input->cases[1].ch)
            watch_end_no_more(input);
        if (b->status == 0)
            continue;
        if (b->status < 0 || input->cases[1].status)
            break;
        /* The item came before any change of the role: news of that would have come first. */
        if (input->role & LEAT_MIX_MUTE) {
            lt_flow_drop_item(&input->flow);
            continue;
        }
        LEAT_AWAIT_SEND(b, input->flow.out, input->flow.item);
        if (!lt_flow_sent(&input->flow, b->status))
            break;
    }
    leat_mix *mix = input->mix;
    if (retire(input))
        notify_all(mix);
    LEAT_END(b);
}

static bool is_for_others(unsigned state)
{
    return state == LEAT_MIX_MUTE || state == LEAT_MIX_PAUSE;
}

static void see_mix(struct lt_owned *owned, struct lt_sight *sight)
{
    leat_mix *mix = LT_CONTAINER(owned, leat_mix, flow.owned);
    if (!lt_flow_sight(owned, sight))
        return;
    lt_lock(&mix->lock);
    for (struct lt_node *node = mix->inputs.next; node != &mix->inputs && sight->steps;
         node = node->next, sight->steps--)
        lt_sight_end(sight->in, &sight->ins,
                     lt_chan_number(LT_CONTAINER(node, struct input, node)->flow.in));
    lt_unlock(&mix->lock);
}

static const struct lt_owned_kind owned_kind = { .free = lt_flow_free, .see = see_mix };

leat_mix *leat_mix_open(leat_scope *scope, leat_chan *out, unsigned others)
{
    if (!lt_flow_may_fill(out) || !is_for_others(others))
        return NULL;
    leat_mix *mix = lt_flow_make(scope, NULL, out, sizeof *mix, &owned_kind);
    if (!mix)
        return NULL;
    mix->others = others;
    lt_list_init(&mix->inputs);
    lt_list_init(&mix->spares);
    lt_flow_sees(&mix->flow, NULL, out);
    lt_flow_show(&mix->flow, "mix");
    return mix;
}

int leat_mix_others(leat_mix *mix, unsigned others)
{
    if (!mix || !is_for_others(others))
        return -EINVAL;
    lt_lock(&mix->lock);
    bool changes = mix->solos && mix->others != others;
    mix->others = others;
    lt_unlock(&mix->lock);
    if (changes)
        notify_all(mix);
    return 0;
}

/* Changes the input of a channel, or with NULL the first input. False: there is none. */
static bool change(leat_mix *mix, const leat_chan *in, unsigned state)
{
    lt_lock(&mix->lock);
    struct input *input = in ? find(mix, in) : LT_FIRST(&mix->inputs, struct input, node);
    if (input && state & input->state & REMOVED)
        input = NULL;
    bool changes = input && set_state(input, state);
    lt_unlock(&mix->lock);
    if (input)
        leat_try_send(input->news, NULL);
    if (changes)
        notify_all(mix);
    return input;
}

/* The oldest spare. NULL: there is none, or its block or its hook's job has not ended. */
static struct input *take_spare(leat_mix *mix)
{
    lt_lock(&mix->lock);
    struct input *spare = LT_FIRST(&mix->spares, struct input, node);
    if (spare && spare->begun && (is_hooked(spare) || !lt_block_is_over(&spare->flow.block)))
        spare = NULL;
    if (spare)
        lt_list_remove(&spare->node);
    lt_unlock(&mix->lock);
    return spare;
}

static struct input *make_input(leat_mix *mix, leat_chan *in)
{
    leat_scope *scope = mix->flow.scope;
    struct input *input = take_spare(mix);
    if (!input) {
        input = lt_flow_make(scope, in, mix->flow.out, sizeof *input, NULL);
        leat_chan_spec spec = { .capacity = 1, .buffer = LEAT_DROPPING };
        if (!input || !(input->news = leat_chan_open(scope, &spec)))
            return NULL;
    }
    input->mix = mix;
    input->flow.in = in;
    input->flow.drop = lt_chan_drop_received(in);
    input->state = 0;
    input->begun = false;
    input->cases[0] = (leat_case)LEAT_RECV(input->news, NULL);
    input->cases[1] = (leat_case)LEAT_RECV(in, input->flow.item);
    return input;
}

/* Adds an input whose block is about to start. False: another party has added the channel
 * meanwhile, and the input is a spare. */
static bool add(struct input *input)
{
    leat_mix *mix = input->mix;
    lt_lock(&mix->lock);
    bool adds = !find(mix, input->flow.in);
    if (adds) {
        input->begun = true;
        input->notified = mix->changes;
        input->counted = leat_chan_ref(input->flow.in) == 0;
        lt_list_append(&mix->inputs, &input->node);
        lt_index_add(&mix->index, &input->indexed, (uintptr_t)input->flow.in);
    } else {
        lt_list_append(&mix->spares, &input->node);
    }
    lt_unlock(&mix->lock);
    return adds;
}

int leat_admix(leat_mix *mix, leat_chan *in, unsigned state)
{
    if (!mix || !lt_flow_fits(in, mix->flow.out) || state & ~(unsigned)STATES)
        return -EINVAL;
    if (change(mix, in, state))
        return 0;
    struct input *input = make_input(mix, in);
    if (!input)
        return -ENOMEM;
    bool added = add(input);
    change(mix, in, state);
    if (added)
        leat_go_block(mix->flow.scope, &input->flow.block, play);
    return 0;
}

int leat_unmix(leat_mix *mix, leat_chan *in)
{
    if (!mix || !in)
        return -EINVAL;
    return change(mix, in, REMOVED) ? 0 : -ENOENT;
}

int leat_unmix_all(leat_mix *mix)
{
    if (!mix)
        return -EINVAL;
    while (change(mix, NULL, REMOVED))
        continue;
    return 0;
}
