/* work_crowd.c: 64 parties that live long, tasks or blocks, each with its own channel. Each
 * gets an item in turn; then all results are awaited. */
#include "work.h"

enum { MEMBERS = 64 };

struct member {
    leat_block block;
    struct party party;
    int64_t item;
};

static int pass_as_task(void *arg)
{
    struct member *me = arg;
    return work_pass(&me->party);
}

static int pass_as_block(leat_block *b)
{
    struct member *me = (struct member *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, me->party.in, &me->item);
        if (b->status != 0)
            break;
        me->item += bench_compute();
        LEAT_AWAIT_SEND(b, me->party.out, &me->item);
    }
    leat_chan_done(me->party.out);
    LEAT_END(b);
}

static uint64_t serve_rounds(struct member *members, leat_chan *results, int64_t n)
{
    struct party got = { 0 };
    uint64_t start = bench_now();
    for (int64_t first = 0; first < n; first += MEMBERS) {
        for (int64_t i = 0; i < MEMBERS; i++) {
            int64_t item = first + i;
            leat_send(members[i].party.in, &item);
        }
        for (int64_t item, i = 0; i < MEMBERS && leat_recv(results, &item) == 0; i++) {
            got.sum += item;
            got.count++;
        }
    }
    uint64_t ns = bench_now() - start;
    party_check("work_crowd", &got, 1, n);
    return ns;
}

static uint64_t crowd(int64_t n, int as_blocks)
{
    struct member *members = calloc(MEMBERS, sizeof *members);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *results = leat_chan_of(s, int64_t, MEMBERS);
    leat_chan_senders(results, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        members[i].party = (struct party){ .in = leat_chan_of(s, int64_t, 1), .out = results };
        if (as_blocks)
            leat_go_block(s, &members[i].block, pass_as_block);
        else
            leat_go(s, pass_as_task, &members[i]);
    }
    uint64_t ns = serve_rounds(members, results, n);
    for (int i = 0; i < MEMBERS; i++)
        leat_close(members[i].party.in);
    leat_scope_close(s);
    free(members);
    return ns;
}

static uint64_t crowd_of_tasks(int64_t n)
{
    return crowd(n, 0);
}

static uint64_t crowd_of_blocks(int64_t n)
{
    return crowd(n, 1);
}

void work_crowd(const char *row)
{
    bench_work(row, crowd_of_tasks, 1, MEMBERS);
}

void work_crowd_blocks(const char *row)
{
    bench_work(row, crowd_of_blocks, 1, MEMBERS);
}
