/* server.c: requests that begin, wait once and end in one scope: each a task, or each a block. */
#include "rows.h"

#include <stdatomic.h>

enum { ACCEPTORS = LEAST_REQUESTS / AT_A_TIME };

struct request {
    leat_block block;
    struct acceptor *mine;
    int64_t item;
};

struct acceptor {
    _Alignas(128) struct party party; /* on its own cache lines */
    leat_scope *scope;
    _Atomic int *begun; /* counts acceptors, so that they begin together, on several cores */
    _Atomic int64_t sum, count; /* atomic: several workers may serve */
    struct request requests[AT_A_TIME];
};

static void add(struct acceptor *mine, int64_t item)
{
    atomic_fetch_add_explicit(&mine->sum, item, memory_order_relaxed);
    atomic_fetch_add_explicit(&mine->count, 1, memory_order_relaxed);
}

static int serve(void *arg)
{
    struct acceptor *mine = arg;
    int64_t item;
    leat_recv(mine->party.in, &item);
    add(mine, item);
    return 0;
}

static int serve_as_block(leat_block *b)
{
    struct request *me = (struct request *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->mine->party.in, &me->item);
    add(me->mine, me->item);
    LEAT_END(b);
}

static void begin_together(_Atomic int *begun)
{
    atomic_fetch_add(begun, 1);
    while (*begun < ACCEPTORS && *begun < (int)leat_workers()) {
    }
}

static int accept_all(void *arg)
{
    struct acceptor *me = arg;
    begin_together(me->begun);
    for (int64_t i = me->party.first; i < me->party.last;) {
        for (int k = 0; k < AT_A_TIME; k++)
            leat_go(me->scope, serve, me);
        for (int k = 0; k < AT_A_TIME; k++, i++)
            leat_send(me->party.in, &i);
    }
    return 0;
}

static int accept_blocks(void *arg)
{
    struct acceptor *me = arg;
    begin_together(me->begun);
    for (int64_t i = me->party.first; i < me->party.last;) {
        for (int k = 0; k < AT_A_TIME; k++) {
            me->requests[k].mine = me;
            leat_go_block(me->scope, &me->requests[k].block, serve_as_block);
        }
        for (int k = 0; k < AT_A_TIME; k++, i++)
            leat_send(me->party.in, &i);
        for (int k = 0; k < AT_A_TIME; k++)
            leat_block_join(&me->requests[k].block);
    }
    return 0;
}

static uint64_t serve_all(int64_t n, leat_fn *accept)
{
    _Atomic int begun = 0;
    struct party got[ACCEPTORS];
    struct acceptor *all = aligned_alloc(_Alignof(struct acceptor), ACCEPTORS * sizeof *all);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t start = bench_now();
    for (int i = 0; i < ACCEPTORS; i++) {
        all[i].party = party_sender(NULL, n, i, ACCEPTORS);
        all[i].party.in = leat_chan_of(s, int64_t, 0);
        all[i].scope = s;
        all[i].begun = &begun;
        all[i].sum = all[i].count = 0;
        leat_go(s, accept, &all[i]);
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < ACCEPTORS; i++)
        got[i] = (struct party){ .sum = all[i].sum, .count = all[i].count };
    free(all);
    party_check("server", got, ACCEPTORS, n);
    return ns;
}

uint64_t server(int64_t n)
{
    return serve_all(n, accept_all);
}

uint64_t server_blocks(int64_t n)
{
    return serve_all(n, accept_blocks);
}
