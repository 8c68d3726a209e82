/* pub.c: a buffer and a mult for each topic. The lock guards the list of topics, and comes before a
 * mult's lock.
 *
 * A topic without subscribers stays until a party subscribes to a topic that does not exist. Then
 * an idle one becomes the new topic, with its buffer and mult. A topic is idle if it has no
 * subscribers, or only closed ones, none is just coming or leaving, and no item is on its way: the
 * publisher has none for it, its buffer is empty, and its mult waits for an item. (The closed ones
 * leave when others come, or the next item.) A subscriber looks at eight topics at most, so the
 * cost does not grow with their number. If topics come and go, about one in eight at most stays
 * idle for long. */
#include "base/index.h"
#include "base/lock.h"
#include "flow/flow.h"

struct topic {
    struct lt_flow flow; /* has no block */
    struct topic *next;
    struct lt_indexed indexed; /* indexed by its topic */
    unsigned users;            /* parties that are subscribing to it or leaving it */
    leat_chan *ch;
    leat_mult *mult;
};

struct leat_pub {
    struct lt_flow flow;
    leat_pub_spec spec;
    struct lt_lock lock;
    int over; /* not 0: why it has ended, for lt_flow_end */
    struct lt_index index;
    struct topic *topics, *looked_at; /* `looked_at`: the last in the last search for an idle one */
    struct topic *to;                 /* of the last item; written under the lock */
};

/* With the lock held. */
static struct topic *find(leat_pub *pub, uint64_t topic)
{
    struct lt_indexed *found = lt_index_find(&pub->index, topic);
    return found ? LT_CONTAINER(found, struct topic, indexed) : NULL;
}

static bool is_idle(const leat_pub *pub, const struct topic *t)
{
    return t != pub->to && !t->users && !lt_mult_is_tapped(t->mult) && !leat_chan_len(t->ch) &&
           lt_chan_has_receiver(t->ch);
}

/* With the lock held: turns an idle topic into this one. NULL: it found none. */
static struct topic *reuse_idle_topic(leat_pub *pub, uint64_t topic)
{
    enum { LOOKS = 8 };
    for (unsigned i = 0; pub->topics && i < LOOKS; i++) {
        struct topic *last = pub->looked_at, *t = last && last->next ? last->next : pub->topics;
        pub->looked_at = t;
        if (!is_idle(pub, t))
            continue;
        lt_index_remove(&pub->index, &t->indexed);
        lt_index_add(&pub->index, &t->indexed, topic);
        return t;
    }
    return NULL;
}

/* For a party that subscribes or leaves: the topic does not become another before leave_topic. */
static struct topic *enter_topic(leat_pub *pub, uint64_t topic, bool subscribes)
{
    lt_lock(&pub->lock);
    struct topic *t = find(pub, topic);
    if (!t && subscribes)
        t = reuse_idle_topic(pub, topic);
    if (t)
        t->users++;
    lt_unlock(&pub->lock);
    return t;
}

static void leave_topic(leat_pub *pub, struct topic *t)
{
    lt_lock(&pub->lock);
    t->users--;
    lt_unlock(&pub->lock);
}

static void choose_topic(leat_pub *pub)
{
    uint64_t topic = pub->spec.topic(pub->spec.arg, pub->flow.item);
    lt_lock(&pub->lock);
    pub->to = find(pub, topic);
    lt_unlock(&pub->lock);
}

static void end_topics(leat_pub *pub, int status)
{
    lt_lock(&pub->lock);
    pub->over = status;
    struct topic *topics = pub->topics;
    lt_unlock(&pub->lock);
    for (; topics; topics = topics->next)
        lt_flow_end(topics->ch, LEAT_ENDS_CLOSED, status);
}

static int publish(leat_block *b)
{
    leat_pub *pub = LT_CONTAINER(b, leat_pub, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, pub->flow.in, pub->flow.item);
        if (b->status)
            break;
        choose_topic(pub);
        if (!pub->to) {
            lt_flow_drop_item(&pub->flow);
            continue;
        }
        LEAT_AWAIT_SEND(b, pub->to->ch, pub->flow.item);
        if (b->status)
            lt_flow_drop_item(&pub->flow);
        if (b->status == -ECANCELED)
            break;
    }
    end_topics(pub, b->status);
    LEAT_END(b);
}

/* The topics' channels belong to the scope. */
static void see_pub(struct lt_owned *owned, struct lt_sight *sight)
{
    leat_pub *pub = LT_CONTAINER(owned, leat_pub, flow.owned);
    lt_flow_see(owned, sight);
    if (!sight->self)
        return;
    lt_lock(&pub->lock);
    for (const struct topic *t = pub->topics; t && sight->steps; t = t->next, sight->steps--)
        lt_sight_end(sight->out, &sight->outs, lt_chan_number(t->ch));
    lt_unlock(&pub->lock);
}

static const struct lt_owned_kind owned_kind = { .free = lt_flow_free, .see = see_pub };

/* For the buffers of topics. */
static leat_chan_spec spec_of_buffer(const leat_chan *in, const leat_pub_spec *spec)
{
    return (leat_chan_spec){ .item_size = leat_chan_item_size(in),
                             .capacity = spec->capacity,
                             .buffer = spec->buffer,
                             .drop = lt_chan_drop_received(in),
                             .name = "topic" };
}

leat_pub *leat_pub_open(leat_scope *scope, leat_chan *in, const leat_pub_spec *spec)
{
    if (!in || !spec || !spec->topic || spec->buffer >= LEAT_PROMISE)
        return NULL;
    leat_chan_spec buffer = spec_of_buffer(in, spec);
    if (!lt_chan_can_be(&buffer))
        return NULL;
    leat_pub *pub = lt_flow_make(scope, in, NULL, sizeof *pub, &owned_kind);
    if (!pub)
        return NULL;
    pub->spec = *spec;
    lt_flow_go(&pub->flow, "pub", LEAT_BLOCK_TYPE_(publish));
    return pub;
}

/* Makes a topic with its buffer and mult: not listed yet, but entered. */
static struct topic *make_topic(leat_pub *pub, uint64_t topic)
{
    leat_scope *scope = pub->flow.scope;
    struct topic *t = lt_flow_make(scope, NULL, NULL, sizeof *t, NULL);
    if (!t)
        return NULL;
    t->indexed.key = topic; /* for add_topic */
    t->users = 1;
    leat_chan_spec buffer = spec_of_buffer(pub->flow.in, &pub->spec);
    t->ch = leat_chan_open(scope, &buffer);
    t->mult = leat_mult_open(scope, t->ch, pub->spec.share);
    return t->mult ? t : NULL;
}

/* Adds the topic, or ends it if another party was faster. Returns the topic to use. */
static struct topic *add_topic(leat_pub *pub, struct topic *made)
{
    lt_lock(&pub->lock);
    uint64_t topic = made->indexed.key;
    struct topic *t = find(pub, topic);
    if (t) {
        t->users++;
    } else {
        made->next = pub->topics;
        pub->topics = made;
        lt_index_add(&pub->index, &made->indexed, topic);
    }
    int over = pub->over;
    lt_unlock(&pub->lock);
    if (t || over)
        lt_flow_end(made->ch, LEAT_ENDS_CLOSED, over);
    return t ? t : made;
}

int leat_sub(leat_pub *pub, uint64_t topic, leat_chan *ch, unsigned flags, leat_ending ending)
{
    if (!pub || !lt_flow_fits(pub->flow.in, ch) || flags > LEAT_TAP_LOSSY ||
        ending > LEAT_ENDS_OPEN)
        return -EINVAL;
    struct topic *t = enter_topic(pub, topic, true);
    if (!t) {
        t = make_topic(pub, topic);
        if (!t)
            return -ENOMEM;
        t = add_topic(pub, t);
    }
    int error = leat_tap(t->mult, ch, flags, ending);
    leave_topic(pub, t);
    return error;
}

/* `ch` NULL: ends all subscriptions to the topic. */
static int unsubscribe(leat_pub *pub, uint64_t topic, leat_chan *ch)
{
    struct topic *t = enter_topic(pub, topic, false);
    if (!t)
        return -ENOENT;
    int error = ch ? leat_untap(t->mult, ch) : leat_untap_all(t->mult);
    leave_topic(pub, t);
    return error;
}

int leat_unsub(leat_pub *pub, uint64_t topic, leat_chan *ch)
{
    return pub && ch ? unsubscribe(pub, topic, ch) : -EINVAL;
}

int leat_unsub_topic(leat_pub *pub, uint64_t topic)
{
    if (!pub)
        return -EINVAL;
    unsubscribe(pub, topic, NULL);
    return 0;
}

int leat_unsub_all(leat_pub *pub)
{
    if (!pub)
        return -EINVAL;
    lt_lock(&pub->lock);
    struct topic *topics = pub->topics;
    lt_unlock(&pub->lock);
    for (; topics; topics = topics->next)
        leat_untap_all(topics->mult);
    return 0;
}
