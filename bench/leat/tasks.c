/* tasks.c: yielding, starting and joining, and tasks in a row: ring, sieve, pipeline. */
#include "rows.h"

#include <stdatomic.h>
#include <string.h>

static int yield_often(void *arg)
{
    struct party *me = arg;
    for (int64_t i = me->first; i < me->last; i++) {
        leat_yield();
        me->count++;
    }
    return 0;
}

uint64_t yield(int64_t n)
{
    struct party two[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    for (int i = 0; i < 2; i++) {
        two[i] = party_sender(NULL, n, i, 2);
        leat_go(s, yield_often, &two[i]);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    bench_check("yield", two[0].count + two[1].count, n);
    return ns;
}

static int count_up(void *arg)
{
    _Atomic int64_t *ran = arg;
    atomic_fetch_add_explicit(ran, 1, memory_order_relaxed);
    return 0;
}

static uint64_t spawn(int64_t n, int64_t together)
{
    _Atomic int64_t ran = 0;
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i += together) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int64_t j = 0; j < together; j++)
            leat_go(s, count_up, &ran);
        leat_scope_close(s);
    }
    uint64_t ns = bench_now() - start;
    bench_check("spawn", ran, n);
    return ns;
}

uint64_t spawn_1(int64_t n)
{
    return spawn(n, 1);
}

uint64_t spawn_1000(int64_t n)
{
    return spawn(n, 1000);
}

struct link {
    leat_chan *in, *out, *done;
    int last;
    int64_t hops;
};

/* Counts the token down. A negative token passes each link once and ends it. */
static int pass_on(void *arg)
{
    struct link *me = arg;
    int64_t token;
    while (leat_recv(me->in, &token) == 0 && token > 0) {
        me->hops++;
        token--;
        leat_send(token ? me->out : me->done, &token);
    }
    if (!me->last)
        leat_send(me->out, &token);
    return 0;
}

uint64_t ring(int64_t n)
{
    struct link *links = calloc(RING, sizeof *links);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *done = leat_chan_of(s, int64_t, 0);
    for (int i = 0; i < RING; i++)
        links[i] = (struct link){ leat_chan_of(s, int64_t, 0), NULL, done, i == RING - 1, 0 };
    for (int i = 0; i < RING; i++) {
        links[i].out = links[(i + 1) % RING].in;
        leat_go(s, pass_on, &links[i]);
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

static int count_from_two(void *arg)
{
    for (int64_t i = 2; leat_send(arg, &i) == 0; i++) {
    }
    return 0;
}

struct strainer {
    leat_chan *in, *out;
    int64_t prime;
};

static int strain(void *arg)
{
    struct strainer *me = arg;
    for (int64_t i; leat_recv(me->in, &i) == 0;)
        if (i % me->prime != 0 && leat_send(me->out, &i) != 0)
            break;
    return 0;
}

static int64_t prime_number(int64_t which)
{
    int64_t p = 1;
    while (which > 0) {
        int64_t divisor = 2;
        for (p++; p % divisor != 0;)
            divisor++;
        which -= divisor == p;
    }
    return p;
}

void sieve(const char *row)
{
    int64_t n = bench_env("BENCH_OPS", 2000), prime = 0;
    struct strainer *strainers = calloc((size_t)n, sizeof *strainers);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    leat_chan *ch = leat_chan_of(s, int64_t, 0);
    leat_go(s, count_from_two, ch);
    for (int64_t i = 0; i < n; i++) {
        leat_recv(ch, &prime);
        strainers[i] = (struct strainer){ ch, leat_chan_of(s, int64_t, 0), prime };
        leat_go(s, strain, &strainers[i]);
        ch = strainers[i].out;
    }
    uint64_t ns = bench_now() - start;
    leat_scope_cancel(s);
    leat_scope_close(s);
    free(strainers);
    bench_check("sieve", prime, prime_number(n));
    bench_sample(row, "ms", (double)ns / 1e6);
}

static int add_one(void *arg)
{
    struct party *me = arg;
    for (int64_t i; leat_recv(me->in, &i) == 0;) {
        i++;
        leat_send(me->out, &i);
    }
    return leat_close(me->out);
}

uint64_t pipeline(int64_t n)
{
    enum { STAGES = 3, ROOM = 64 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *first = leat_chan_of(s, int64_t, ROOM), *ch = first;
    struct party stages[STAGES], sender = party_sender(first, n, 0, 1);
    leat_chan_senders(first, 1);
    uint64_t start = bench_now();
    leat_go(s, party_send, &sender);
    for (int i = 0; i < STAGES; i++) {
        stages[i] = (struct party){ .in = ch, .out = leat_chan_of(s, int64_t, ROOM) };
        ch = stages[i].out;
        leat_go(s, add_one, &stages[i]);
    }
    struct party receiver = { .in = ch };
    party_recv(&receiver);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("pipeline", receiver.count, n);
    bench_check("pipeline", receiver.sum, bench_sum(n) + STAGES * n);
    return ns;
}

static int plus_one(void *unused, const void *in, void *out)
{
    (void)unused;
    int64_t item;
    memcpy(&item, in, sizeof item);
    item++;
    memcpy(out, &item, sizeof item);
    return 0;
}

uint64_t ordered_map(int64_t n)
{
    enum { ROOM = 64 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int64_t, ROOM);
    struct party sender = party_sender(in, n, 0, 1);
    leat_chan_senders(in, 1);
    uint64_t start = bench_now();
    leat_go(s, party_send, &sender);
    leat_chan *out =
        leat_pipeline(s, in,
                      &(leat_pipeline_spec){
                          .n = 2, .run = plus_one, .out_size = sizeof(int64_t), .capacity = ROOM });
    int64_t count = 0;
    for (int64_t item; leat_recv(out, &item) == 0;)
        bench_check("ordered_map", item, ++count);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("ordered_map", count, n);
    return ns;
}
