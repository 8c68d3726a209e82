/* work.c: items that take a while to compute: by eight workers, in three stages, and in order. */
#include "work.h"

#include <string.h>

int64_t bench_turns_an_item;

int work_pass(void *arg)
{
    struct party *me = arg;
    for (int64_t item; leat_recv(me->in, &item) == 0;) {
        item += bench_compute();
        leat_send(me->out, &item);
    }
    return leat_chan_done(me->out);
}

/* One task feeds, eight work, and the caller collects, over unbuffered channels. */
static uint64_t fan(int64_t n)
{
    enum { WORKERS = 8 };
    struct party workers[WORKERS];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int64_t, 0), *out = leat_chan_of(s, int64_t, 0);
    struct party feeder = party_sender(in, n, 0, 1), collector = { .in = out };
    leat_chan_senders(in, 1);
    leat_chan_senders(out, WORKERS);
    uint64_t start = bench_now();
    leat_go(s, party_send, &feeder);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct party){ .in = in, .out = out };
        leat_go(s, work_pass, &workers[i]);
    }
    party_recv(&collector);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    party_check("work_fan", &collector, 1, n);
    return ns;
}

void work_fan(const char *row)
{
    bench_work(row, fan, 1, 1);
}

enum { STAGES = 3 };

static uint64_t chain(int64_t n)
{
    enum { ROOM = 16 };
    struct party stages[STAGES];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int64_t, ROOM);
    struct party feeder = party_sender(ch, n, 0, 1);
    leat_chan_senders(ch, 1);
    uint64_t start = bench_now();
    leat_go(s, party_send, &feeder);
    for (int i = 0; i < STAGES; i++) {
        stages[i] = (struct party){ .in = ch, .out = leat_chan_of(s, int64_t, ROOM) };
        ch = stages[i].out;
        leat_chan_senders(ch, 1);
        leat_go(s, work_pass, &stages[i]);
    }
    struct party collector = { .in = ch };
    party_recv(&collector);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    party_check("work_chain", &collector, 1, n);
    return ns;
}

void work_chain(const char *row)
{
    bench_work(row, chain, STAGES, 1);
}

static int work_on(void *unused, const void *in, void *out)
{
    (void)unused;
    int64_t item;
    memcpy(&item, in, sizeof item);
    item += bench_compute();
    memcpy(out, &item, sizeof item);
    return 0;
}

static uint64_t ordered(int64_t n)
{
    enum { AT_ONCE = 8 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int64_t, AT_ONCE);
    struct party feeder = party_sender(in, n, 0, 1);
    leat_chan_senders(in, 1);
    uint64_t start = bench_now();
    leat_go(s, party_send, &feeder);
    leat_chan *out = leat_pipeline(
        s, in,
        &(leat_pipeline_spec){
            .n = AT_ONCE, .run = work_on, .out_size = sizeof(int64_t), .capacity = AT_ONCE });
    int64_t count = 0;
    for (int64_t item; leat_recv(out, &item) == 0; count++)
        bench_check("work_ordered", item, count);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("work_ordered", count, n);
    return ns;
}

void work_ordered(const char *row)
{
    bench_work(row, ordered, 1, 1);
}
