/* channels.c: items between tasks: ping-pong, streams, select, polling. */
#include "rows.h"

#include <errno.h>

int party_send(void *arg)
{
    struct party *me = arg;
    for (int64_t i = me->first; i < me->last; i++)
        if (leat_send(me->out, &i) != 0)
            break;
    return leat_chan_done(me->out);
}

int party_recv(void *arg)
{
    struct party *me = arg;
    int64_t sum = 0, count = 0; /* not in *me, whose neighbours other cores use */
    for (int64_t item; leat_recv(me->in, &item) == 0; count++)
        sum += item;
    me->sum = sum;
    me->count = count;
    return 0;
}

int party_echo(void *arg)
{
    struct party *me = arg;
    for (int64_t item; leat_recv(me->in, &item) == 0;) {
        item++;
        leat_send(me->out, &item);
    }
    return 0;
}

int64_t pingpong_loop(leat_chan *there, leat_chan *back, int64_t n)
{
    int64_t item = 0;
    for (int64_t i = 0; i < n; i++) {
        item++;
        leat_send(there, &item);
        leat_recv(back, &item);
    }
    leat_close(there);
    return item;
}

uint64_t pingpong(int64_t n)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *there = leat_chan_of(s, int64_t, 0), *back = leat_chan_of(s, int64_t, 0);
    struct party echo = { .in = there, .out = back };
    leat_go(s, party_echo, &echo);
    uint64_t start = bench_now();
    int64_t item = pingpong_loop(there, back, n);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("pingpong", item, 2 * n);
    return ns;
}

static uint64_t stream(int64_t n, size_t capacity, int pairs, leat_fn *send, leat_fn *recv)
{
    struct party senders[MOST_PARTIES], receivers[MOST_PARTIES];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int64_t, capacity);
    leat_chan_senders(ch, (unsigned)pairs);
    uint64_t start = bench_now();
    for (int i = 0; i < pairs; i++) {
        senders[i] = party_sender(ch, n, i, pairs);
        leat_go(s, send, &senders[i]);
    }
    for (int i = 0; i < pairs; i++) {
        receivers[i] = (struct party){ .in = ch };
        leat_go(s, recv, &receivers[i]);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    party_check("stream", receivers, pairs, n);
    return ns;
}

uint64_t unbuffered_1to1(int64_t n)
{
    return stream(n, 0, 1, party_send, party_recv);
}

uint64_t unbuffered_4to4(int64_t n)
{
    return stream(n, 0, 4, party_send, party_recv);
}

uint64_t buffered_1to1(int64_t n)
{
    return stream(n, CAPACITY, 1, party_send, party_recv);
}

uint64_t buffered_4to4(int64_t n)
{
    return stream(n, CAPACITY, 4, party_send, party_recv);
}

enum { HANDFUL = 64 };

static int send_handfuls(void *arg)
{
    struct party *me = arg;
    int64_t items[HANDFUL];
    for (int64_t next = me->first, gone = 0; next < me->last && gone >= 0;) {
        size_t have = 0;
        while (have < HANDFUL && next < me->last)
            items[have++] = next++;
        for (size_t sent = 0; sent < have && gone >= 0; sent += (size_t)gone)
            gone = leat_send_many(me->out, items + sent, have - sent, LEAT_NEVER);
    }
    return leat_chan_done(me->out);
}

static int recv_handfuls(void *arg)
{
    struct party *me = arg;
    int64_t items[HANDFUL], sum = 0, count = 0;
    for (int64_t got; (got = leat_recv_many(me->in, items, HANDFUL, LEAT_NEVER)) > 0; count += got)
        for (int64_t i = 0; i < got; i++)
            sum += items[i];
    me->sum = sum;
    me->count = count;
    return 0;
}

uint64_t buffered_1to1_many(int64_t n)
{
    return stream(n, CAPACITY, 1, send_handfuls, recv_handfuls);
}

uint64_t buffered_4to4_many(int64_t n)
{
    return stream(n, CAPACITY, 4, send_handfuls, recv_handfuls);
}

uint64_t select_4(int64_t n)
{
    struct party senders[4];
    leat_case cases[4];
    int64_t item = 0, sum = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    for (int i = 0; i < 4; i++) {
        leat_chan *ch = leat_chan_of(s, int64_t, 0);
        leat_chan_senders(ch, 2); /* one of the two is never done, so the channel stays open */
        senders[i] = party_sender(ch, n, i, 4);
        cases[i] = (leat_case)LEAT_RECV(ch, &item);
        leat_go(s, party_send, &senders[i]);
    }
    for (int64_t i = 0; i < n; i++)
        if (leat_select(cases, 4, LEAT_NEVER) >= 0)
            sum += item;
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("select_4", sum, bench_sum(n));
    return ns;
}

uint64_t poll_1(int64_t n)
{
    int64_t item, misses = 0;
    leat_chan *ch = leat_chan_of(NULL, int64_t, 0);
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++)
        misses += leat_try_recv(ch, &item) == -EAGAIN;
    uint64_t ns = bench_now() - start;
    leat_chan_unref(ch);
    bench_check("poll_1", misses, n);
    return ns;
}

uint64_t poll_4(int64_t n)
{
    int64_t item, misses = 0;
    leat_case cases[4];
    for (int i = 0; i < 4; i++)
        cases[i] = (leat_case)LEAT_RECV(leat_chan_of(NULL, int64_t, 0), &item);
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++)
        misses += leat_select(cases, 4, LEAT_NOW) == -EAGAIN;
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < 4; i++)
        leat_chan_unref(cases[i].ch);
    bench_check("poll_4", misses, n);
    return ns;
}
