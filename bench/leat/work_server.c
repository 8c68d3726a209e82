/* work_server.c: 64 clients ask, one request at a time each; a task accepts and starts another for each request.
 * One request in ten is long. */
#include "work.h"

enum { CLIENTS = 64, ONE_IN = 10, MULTIPLE = CLIENTS * ONE_IN, SHORT_NS = 1000 };

struct client {
    leat_chan *requests, *back; /* a request is the address of its client */
    int64_t first, each;
    int64_t item, turns; /* of the request */
    uint64_t *latencies; /* of the short ones */
    int64_t shorts, sum;
};

static int64_t short_turns;
static struct client *clients; /* as the last run has left them */

static int serve(void *arg)
{
    struct client *c = arg;
    int64_t result = c->item + (bench_turns(c->turns) == 0);
    return leat_send(c->back, &result);
}

struct acceptor {
    leat_scope *scope;
    leat_chan *requests;
};

static int accept_all(void *arg)
{
    struct acceptor *me = arg;
    for (struct client *c; leat_recv(me->requests, &c) == 0;)
        leat_go(me->scope, serve, c);
    return 0;
}

static int ask(void *arg)
{
    struct client *me = arg;
    for (int64_t i = 0, result = 0; i < me->each; i++) {
        int is_long = (me->first + i) % ONE_IN == 0;
        me->item = me->first * me->each + i;
        me->turns = is_long ? bench_turns_an_item : short_turns;
        uint64_t start = bench_now();
        leat_send(me->requests, &me);
        leat_recv(me->back, &result);
        if (!is_long)
            me->latencies[me->shorts++] = bench_now() - start;
        me->sum += result;
    }
    return leat_chan_done(me->requests);
}

static void forget_clients(void)
{
    for (int i = 0; clients && i < CLIENTS; i++)
        free(clients[i].latencies);
    free(clients);
    clients = NULL;
}

static uint64_t serve_all(int64_t n)
{
    forget_clients();
    clients = calloc(CLIENTS, sizeof *clients);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct acceptor acceptor = { .scope = s,
                                 .requests = leat_chan_of(s, struct client *, CLIENTS) };
    leat_chan_senders(acceptor.requests, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &clients[i];
        *c = (struct client){ .requests = acceptor.requests, .first = i, .each = n / CLIENTS };
        c->back = leat_chan_of(s, int64_t, 1);
        c->latencies = calloc((size_t)c->each, sizeof *c->latencies);
    }
    uint64_t start = bench_now();
    leat_go(s, accept_all, &acceptor);
    for (int i = 0; i < CLIENTS; i++)
        leat_go(s, ask, &clients[i]);
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    int64_t sum = 0, shorts = 0;
    for (int i = 0; i < CLIENTS; i++) {
        sum += clients[i].sum;
        shorts += clients[i].shorts;
    }
    bench_check("work_server", sum, bench_sum(n));
    bench_check("work_server: short ones", shorts, n / ONE_IN * (ONE_IN - 1));
    return ns;
}

static double short_p99(int64_t n)
{
    int64_t count = 0;
    uint64_t *all = calloc((size_t)n, sizeof *all);
    for (int i = 0; i < CLIENTS; i++)
        for (int64_t k = 0; k < clients[i].shorts; k++)
            all[count++] = clients[i].latencies[k];
    double p99 = bench_percentile(all, count, 99);
    free(all);
    return p99;
}

void work_server(const char *row)
{
    double ns = bench_item_ns(row), mean = (ns + (ONE_IN - 1) * SHORT_NS) / ONE_IN;
    int64_t n = bench_items(mean, MULTIPLE);
    double a_ns = bench_turns_a_ns();
    bench_turns_an_item = bench_turns_in(ns, a_ns);
    short_turns = bench_turns_in(SHORT_NS, a_ns);
    bench_items_run(row, serve_all, n, MULTIPLE);
    bench_sample(row, "short p99 ns", short_p99(n));
    forget_clients();
}
