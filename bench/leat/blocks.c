/* blocks.c: the rows of tasks.c and channels.c that can be written as blocks naturally. */
#include "rows.h"

#include <stdatomic.h>

struct mover {
    leat_block block;
    struct party party;
    int64_t item;
};

static int yield_often(leat_block *b)
{
    struct mover *me = (struct mover *)b;
    LEAT_BEGIN(b);
    for (; me->party.first < me->party.last; me->party.first++) {
        LEAT_AWAIT_YIELD(b);
        me->party.count++;
    }
    LEAT_END(b);
}

uint64_t yield_blocks(int64_t n)
{
    struct mover two[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    for (int i = 0; i < 2; i++) {
        two[i].party = party_sender(NULL, n, i, 2);
        leat_go_block(s, &two[i].block, yield_often);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    bench_check("yield", two[0].party.count + two[1].party.count, n);
    return ns;
}

struct counting {
    leat_block block;
    _Atomic int64_t *ran;
};

static int count_up(leat_block *b)
{
    struct counting *me = (struct counting *)b;
    LEAT_BEGIN(b);
    atomic_fetch_add_explicit(me->ran, 1, memory_order_relaxed);
    LEAT_END(b);
}

uint64_t spawn_1_blocks(int64_t n)
{
    _Atomic int64_t ran = 0;
    struct counting one = { .ran = &ran };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        leat_go_block(s, &one.block, count_up);
        leat_block_join(&one.block);
    }
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("spawn", ran, n);
    return ns;
}

uint64_t spawn_1000_blocks(int64_t n)
{
    enum { TOGETHER = 1000 };
    _Atomic int64_t ran = 0;
    struct counting *all = calloc(TOGETHER, sizeof *all);
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i += TOGETHER) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int j = 0; j < TOGETHER; j++) {
            all[j].ran = &ran;
            leat_go_block(s, &all[j].block, count_up);
        }
        leat_scope_close(s);
    }
    uint64_t ns = bench_now() - start;
    free(all);
    bench_check("spawn", ran, n);
    return ns;
}

static int send_all(leat_block *b)
{
    struct mover *me = (struct mover *)b;
    LEAT_BEGIN(b);
    for (; me->party.first < me->party.last; me->party.first++)
        LEAT_AWAIT_SEND(b, me->party.out, &me->party.first);
    leat_chan_done(me->party.out);
    LEAT_END(b);
}

static int recv_all(leat_block *b)
{
    struct mover *me = (struct mover *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, me->party.in, &me->item);
        if (b->status != 0)
            break;
        me->party.sum += me->item;
        me->party.count++;
    }
    LEAT_END(b);
}

static int echo(leat_block *b)
{
    struct mover *me = (struct mover *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, me->party.in, &me->item);
        if (b->status != 0)
            break;
        me->item++;
        LEAT_AWAIT_SEND(b, me->party.out, &me->item);
    }
    LEAT_END(b);
}

static int there_and_back(leat_block *b)
{
    struct mover *me = (struct mover *)b;
    LEAT_BEGIN(b);
    for (; me->party.count < me->party.last; me->party.count++) {
        me->item++;
        LEAT_AWAIT_SEND(b, me->party.out, &me->item);
        LEAT_AWAIT_RECV(b, me->party.in, &me->item);
    }
    leat_close(me->party.out);
    LEAT_END(b);
}

uint64_t pingpong_blocks(int64_t n)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *there = leat_chan_of(s, int64_t, 0), *back = leat_chan_of(s, int64_t, 0);
    struct mover ping = { .party = { .in = back, .out = there, .last = n } };
    struct mover pong = { .party = { .in = there, .out = back } };
    leat_go_block(s, &pong.block, echo);
    uint64_t start = bench_now();
    leat_go_block(s, &ping.block, there_and_back);
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    bench_check("pingpong", ping.item, 2 * n);
    return ns;
}

static uint64_t stream(int64_t n, size_t capacity, int pairs)
{
    struct mover senders[MOST_PARTIES], receivers[MOST_PARTIES];
    struct party got[MOST_PARTIES];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int64_t, capacity);
    leat_chan_senders(ch, (unsigned)pairs);
    uint64_t start = bench_now();
    for (int i = 0; i < pairs; i++) {
        senders[i].party = party_sender(ch, n, i, pairs);
        leat_go_block(s, &senders[i].block, send_all);
    }
    for (int i = 0; i < pairs; i++) {
        receivers[i].party = (struct party){ .in = ch };
        leat_go_block(s, &receivers[i].block, recv_all);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < pairs; i++)
        got[i] = receivers[i].party;
    party_check("stream", got, pairs, n);
    return ns;
}

uint64_t unbuffered_1to1_blocks(int64_t n)
{
    return stream(n, 0, 1);
}

uint64_t unbuffered_4to4_blocks(int64_t n)
{
    return stream(n, 0, 4);
}

uint64_t buffered_1to1_blocks(int64_t n)
{
    return stream(n, CAPACITY, 1);
}

uint64_t buffered_4to4_blocks(int64_t n)
{
    return stream(n, CAPACITY, 4);
}

struct link {
    leat_block block;
    leat_chan *in, *out, *done;
    int last;
    int64_t token, hops;
};

static int pass_on(leat_block *b)
{
    struct link *me = (struct link *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, me->in, &me->token);
        if (b->status != 0 || me->token <= 0)
            break;
        me->hops++;
        me->token--;
        LEAT_AWAIT_SEND(b, me->token ? me->out : me->done, &me->token);
    }
    if (!me->last)
        LEAT_AWAIT_SEND(b, me->out, &me->token);
    LEAT_END(b);
}

uint64_t ring_blocks(int64_t n)
{
    struct link *links = calloc(RING, sizeof *links);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *done = leat_chan_of(s, int64_t, 0);
    for (int i = 0; i < RING; i++) {
        links[i].in = leat_chan_of(s, int64_t, 0);
        links[i].done = done;
        links[i].last = i == RING - 1;
    }
    for (int i = 0; i < RING; i++) {
        links[i].out = links[(i + 1) % RING].in;
        leat_go_block(s, &links[i].block, pass_on);
    }
    int64_t token = n, stop = -1, hops = 0;
    uint64_t start = bench_now();
    leat_send(links[0].in, &token);
    leat_recv(done, &token);
    uint64_t ns = bench_now() - start;
    leat_send(links[0].in, &stop);
    leat_scope_close(s);
    for (int i = 0; i < RING; i++)
        hops += links[i].hops;
    free(links);
    bench_check("ring", hops, n);
    return ns;
}
