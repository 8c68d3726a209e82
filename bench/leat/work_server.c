/* work_server.c: a task accepts requests and starts a task for each. How many a second, if each
 * of 64 clients has one request at a time? And how long do short ones take, if they come at a
 * fixed pace? */
#include "../common/requests.h"
#include "work.h"

static struct bench_requests kinds;

struct client {
    leat_chan *requests, *back; /* a request is its client's address */
    int64_t first, last;
    int64_t item, sum;
};

struct acceptor {
    leat_scope *scope;
    leat_chan *requests;
};

static int serve(void *arg)
{
    struct client *c = arg;
    int64_t result = c->item + bench_spend(bench_request_turns(&kinds, c->item));
    return leat_send(c->back, &result);
}

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
    int64_t result = 0;
    for (me->item = me->first; me->item < me->last; me->item++) {
        leat_send(me->requests, &me);
        leat_recv(me->back, &result);
        me->sum += result;
    }
    return leat_chan_done(me->requests);
}

static uint64_t serve_clients(int64_t n)
{
    struct client *clients = calloc(BENCH_CLIENTS, sizeof *clients);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *requests = leat_chan_of(s, struct client *, BENCH_CLIENTS);
    struct acceptor acceptor = { s, requests };
    leat_chan_senders(requests, BENCH_CLIENTS);
    uint64_t start = bench_now();
    leat_go(s, accept_all, &acceptor);
    for (int i = 0; i < BENCH_CLIENTS; i++) {
        int64_t each = n / BENCH_CLIENTS;
        clients[i] = (struct client){ .requests = requests, .first = each * i };
        clients[i].last = clients[i].first + each;
        clients[i].back = leat_chan_of(s, int64_t, 1);
        leat_go(s, ask, &clients[i]);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    int64_t sum = 0;
    for (int i = 0; i < BENCH_CLIENTS; i++)
        sum += clients[i].sum;
    free(clients);
    bench_check("work_server", sum, bench_sum(n));
    return ns;
}

static int serve_arrival(void *arg)
{
    bench_arrival_serve(arg);
    return 0;
}

static void serve_at_pace(const char *row)
{
    int64_t n;
    struct bench_arrival *all = bench_arrivals(&kinds, &n);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    bench_arrivals_begin(all, n);
    for (int64_t i = 0; i < n; i++) {
        uint64_t now = bench_now();
        if (all[i].due > now)
            leat_sleep((int64_t)(all[i].due - now));
        leat_go(s, serve_arrival, &all[i]);
    }
    leat_scope_close(s);
    bench_arrivals_end(row, all, n);
}

void work_server(const char *row)
{
    kinds = bench_requests_of(row);
    int64_t n = bench_items(kinds.mean_ns, BENCH_REQUESTS_MULTIPLE);
    bench_items_run(row, serve_clients, n, BENCH_REQUESTS_MULTIPLE);
    serve_at_pace(row);
}
