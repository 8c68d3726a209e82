/* pub.c: a mult for each topic that anybody ever subscribed to, behind a buffer. The lock guards the list of them,
 * to which topics are only added. */
#include "flow/flow.h"

struct topic {
    struct lt_flow flow; /* without its block */
    struct topic *next;
    uint64_t topic;
    leat_chan *ch;
    leat_mult *mult;
};

struct leat_pub {
    struct lt_flow flow;
    leat_chan *in;
    leat_drop_fn *drop;
    leat_pub_spec spec;
    struct lt_lock lock;
    bool over;
    struct topic *topics, *to;
    _Alignas(16) unsigned char item[];
};

static struct topic *find(leat_pub *pub, uint64_t topic)
{
    lt_lock(&pub->lock);
    struct topic *t = pub->topics;
    while (t && t->topic != topic)
        t = t->next;
    lt_unlock(&pub->lock);
    return t;
}

static void end_topics(leat_pub *pub)
{
    lt_lock(&pub->lock);
    pub->over = true;
    struct topic *topics = pub->topics;
    lt_unlock(&pub->lock);
    for (; topics; topics = topics->next)
        leat_close(topics->ch);
}

static int publish(leat_block *b)
{
    leat_pub *pub = LT_CONTAINER(b, leat_pub, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, pub->in, pub->item);
        if (b->status)
            break;
        pub->to = find(pub, pub->spec.topic(pub->spec.arg, pub->item));
        if (!pub->to) {
            lt_flow_drop(pub->drop, pub->item);
            continue;
        }
        LEAT_AWAIT_SEND(b, pub->to->ch, pub->item);
        if (b->status)
            lt_flow_drop(pub->drop, pub->item);
        if (b->status == -ECANCELED)
            break;
    }
    end_topics(pub);
    LEAT_END(b);
}

leat_pub *leat_pub_open(leat_scope *scope, leat_chan *in, const leat_pub_spec *spec)
{
    if (!in || !spec || !spec->topic || spec->buffer >= LEAT_PROMISE ||
        (spec->buffer != LEAT_FIXED && !spec->capacity))
        return NULL;
    leat_pub *pub = lt_flow_make(scope, sizeof *pub + in->item_size, NULL);
    if (!pub)
        return NULL;
    pub->in = in;
    pub->drop = in->drop;
    pub->spec = *spec;
    leat_go_block(scope, &pub->flow.block, publish);
    return pub;
}

/* A topic with its buffer and its mult, which nobody knows yet. */
static struct topic *make_topic(leat_pub *pub, uint64_t topic)
{
    leat_scope *scope = pub->flow.scope;
    struct topic *t = lt_flow_make(scope, sizeof *t, NULL);
    if (!t)
        return NULL;
    t->topic = topic;
    t->ch = leat_chan_open(scope, &(leat_chan_spec){ .item_size = pub->in->item_size,
                                                     .capacity = pub->spec.capacity,
                                                     .buffer = pub->spec.buffer,
                                                     .drop = pub->drop,
                                                     .name = "topic" });
    t->mult = leat_mult_open(scope, t->ch, pub->spec.share);
    return t->mult ? t : NULL;
}

/* The topic is added, or somebody was faster: then what was made ends. */
static struct topic *add_topic(leat_pub *pub, struct topic *made)
{
    lt_lock(&pub->lock);
    struct topic *t = pub->topics;
    while (t && t->topic != made->topic)
        t = t->next;
    if (!t) {
        made->next = pub->topics;
        pub->topics = made;
    }
    bool ends = t || pub->over;
    lt_unlock(&pub->lock);
    if (ends)
        leat_close(made->ch);
    return t ? t : made;
}

int leat_sub(leat_pub *pub, uint64_t topic, leat_chan *ch, unsigned flags, leat_ending ending)
{
    if (!pub || !ch || ch == pub->in || lt_chan_in_size(ch) != pub->in->item_size ||
        flags > LEAT_TAP_LOSSY || ending > LEAT_ENDS_OPEN)
        return -EINVAL;
    struct topic *t = find(pub, topic);
    if (!t) {
        t = make_topic(pub, topic);
        if (!t)
            return -ENOMEM;
        t = add_topic(pub, t);
    }
    return leat_tap(t->mult, ch, flags, ending);
}

int leat_unsub(leat_pub *pub, uint64_t topic, leat_chan *ch)
{
    if (!pub || !ch)
        return -EINVAL;
    struct topic *t = find(pub, topic);
    return t ? leat_untap(t->mult, ch) : -ENOENT;
}
