/* pipe.c: operators that move items from channel to channel: pipe, merge, split, balance.
 * Each holds one item at a time, in its own memory. */
#include "flow/flow.h"

#include <leat/select.h>

/* ---- pipes ---- */

struct pipe {
    struct lt_flow flow;
    struct pipe *next; /* of one merge */
    leat_ending ending;
};

static int move(leat_block *b)
{
    struct pipe *p = LT_CONTAINER(b, struct pipe, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, p->flow.in, p->flow.item);
        if (b->status)
            break;
        LEAT_AWAIT_SEND(b, p->flow.out, p->flow.item);
        if (!lt_flow_sent(&p->flow, b->status))
            break;
    }
    lt_flow_end(p->flow.out, p->ending, b->status);
    LEAT_END(b);
}

static struct pipe *make_pipe(leat_scope *scope, leat_chan *in, leat_chan *out, leat_ending ending)
{
    struct pipe *p = lt_flow_make(scope, in, out, sizeof *p, NULL);
    if (p)
        p->ending = ending;
    return p;
}

leat_chan *leat_pipe(leat_scope *scope, leat_chan *in, leat_chan *out, leat_ending ending)
{
    if (!lt_flow_fits(in, out) || ending > LEAT_ENDS_OPEN)
        return NULL;
    struct pipe *p = make_pipe(scope, in, out, ending);
    if (!p)
        return NULL;
    lt_flow_go(&p->flow, "pipe", LEAT_BLOCK_TYPE_(move));
    return out;
}

/* ---- merge ---- */

leat_chan *leat_merge(leat_scope *scope, leat_chan *const *ins, size_t n, size_t capacity)
{
    if (!scope || (!ins && n) || n > UINT32_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!ins[i] || leat_chan_item_size(ins[i]) != leat_chan_item_size(ins[0]) ||
            lt_chan_drop_received(ins[i]) != lt_chan_drop_received(ins[0]))
            return NULL;
    leat_chan *out = lt_flow_chan(scope, n ? ins[0] : NULL, capacity);
    if (!out || !n) {
        leat_close(out);
        return out;
    }
    /* All are made before the first starts: if one cannot be made, there is nothing to stop. */
    struct pipe *first = NULL;
    for (size_t i = 0; i < n; i++) {
        struct pipe *p = make_pipe(scope, ins[i], out, LEAT_ENDS_DONE);
        if (!p)
            return NULL;
        p->next = first;
        first = p;
    }
    leat_chan_senders(out, (unsigned)n);
    while (first) { /* a pipe that runs may end, but its memory stays */
        struct pipe *p = first;
        first = p->next;
        lt_flow_go(&p->flow, "merge", LEAT_BLOCK_TYPE_(move));
    }
    return out;
}

/* ---- split ---- */

struct split {
    struct lt_flow flow;
    leat_chan *outs[2]; /* for false and for true; NULL: closed */
    leat_test_fn *test;
    void *arg;
    int side;
};

/* An output that other parties have closed is found out by a send, or here. */
static void forget_closed(struct split *s)
{
    for (int i = 0; i < 2; i++)
        if (s->outs[i] && leat_chan_closed(s->outs[i]))
            s->outs[i] = NULL;
}

static int part(leat_block *b)
{
    struct split *s = LT_CONTAINER(b, struct split, flow.block);
    LEAT_BEGIN(b);
    while (s->outs[0] || s->outs[1]) {
        LEAT_AWAIT_RECV(b, s->flow.in, s->flow.item);
        if (b->status)
            break;
        s->side = s->test(s->arg, s->flow.item);
        if (s->side < 0 || !s->outs[s->side > 0]) {
            lt_flow_drop_item(&s->flow);
            forget_closed(s);
            continue;
        }
        LEAT_AWAIT_SEND(b, s->outs[s->side > 0], s->flow.item);
        if (b->status)
            lt_flow_drop_item(&s->flow);
        if (b->status == -EPIPE)
            s->outs[s->side > 0] = NULL;
        else if (b->status)
            break;
    }
    for (int i = 0; i < 2; i++)
        lt_flow_end(s->outs[i], LEAT_ENDS_CLOSED, b->status);
    LEAT_END(b);
}

int leat_split(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg, leat_chan **yes,
               leat_chan **no, size_t capacity)
{
    return leat_split_sized(scope, in, test, arg, yes, no, capacity, capacity);
}

int leat_split_sized(leat_scope *scope, leat_chan *in, leat_test_fn *test, void *arg,
                     leat_chan **yes, leat_chan **no, size_t yes_capacity, size_t no_capacity)
{
    if (!scope || !in || !test || !yes || !no || yes == no)
        return -EINVAL;
    struct split *s = lt_flow_make(scope, in, NULL, sizeof *s, NULL);
    leat_chan *no_out = lt_flow_chan(scope, in, no_capacity),
              *yes_out = lt_flow_chan(scope, in, yes_capacity);
    if (!s || !no_out || !yes_out)
        return -ENOMEM;
    *no = s->outs[0] = no_out;
    *yes = s->outs[1] = yes_out;
    s->test = test;
    s->arg = arg;
    lt_flow_sees(&s->flow, NULL, yes_out);
    lt_flow_sees(&s->flow, NULL, no_out);
    lt_flow_go(&s->flow, "split", LEAT_BLOCK_TYPE_(part));
    return 0;
}

/* ---- balance ---- */

struct balance {
    struct lt_flow flow;
    leat_ending ending;
    size_t n;
    leat_case cases[];
};

/* Tries the output with the fewest items of those that have room. -EAGAIN: there is none, and the
 * caller must wait for any output. -EPIPE: an output is closed. */
static int give_to_emptiest(struct balance *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (leat_chan_closed(s->cases[i].ch))
            return -EPIPE;

    leat_chan *emptiest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        leat_chan *ch = s->cases[i].ch;
        size_t len = leat_chan_len(ch);
        /* Of empty outputs, one with a waiting receiver comes first. */
        if (!len && lt_chan_has_receiver(ch)) {
            emptiest = ch;
            break;
        }
        if (len < least && len < leat_chan_cap(ch)) {
            least = len;
            emptiest = ch;
        }
    }
    return emptiest ? leat_try_send(emptiest, s->flow.item) : -EAGAIN;
}

static int balance(leat_block *b)
{
    struct balance *s = LT_CONTAINER(b, struct balance, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, s->flow.in, s->flow.item);
        if (b->status)
            break;
        b->status = give_to_emptiest(s);
        if (b->status == -EAGAIN) {
            LEAT_AWAIT_SELECT(b, s->cases, s->n, LEAT_NEVER, NULL);
            if (b->status >= 0)
                b->status = s->cases[b->status].status;
        }
        if (!lt_flow_sent(&s->flow, b->status)) {
            b->status = -ECANCELED; /* the other outputs are not complete */
            break;
        }
    }
    for (size_t i = 0; i < s->n; i++)
        lt_flow_end(s->cases[i].ch, s->ending, b->status);
    LEAT_END(b);
}

int leat_balance(leat_scope *scope, leat_chan *in, leat_chan *const *outs, size_t n,
                 leat_ending ending)
{
    size_t bytes;
    if (!scope || !in || !outs || !n || n > INT32_MAX || ending > LEAT_ENDS_OPEN)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!lt_flow_fits(in, outs[i]))
            return -EINVAL;
    if (__builtin_mul_overflow(n, sizeof(leat_case), &bytes))
        return -ENOMEM;
    struct balance *s = lt_flow_make(scope, in, NULL, sizeof *s + bytes, NULL);
    if (!s)
        return -ENOMEM;
    s->ending = ending;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->cases[i] = (leat_case)LEAT_SEND(outs[i], s->flow.item);
        lt_flow_sees(&s->flow, NULL, outs[i]);
    }
    lt_flow_go(&s->flow, "balance", LEAT_BLOCK_TYPE_(balance));
    return 0;
}
