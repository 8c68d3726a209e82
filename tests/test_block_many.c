/* test_block_many.c: many blocks: what they cost; each runs on one worker at a time; every item
 * between blocks, tasks and threads is counted. */
#include "base/fault.h"
#include "support.h"

#include <unistd.h>

/* ---- a million blocks that wait ---- */

static leat_chan *gate;
static _Atomic long through;

static int wait_at_the_gate(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, gate, NULL);
    CHECK(b->status == 0 || b->status == -EPIPE);
    atomic_fetch_add_explicit(&through, 1, memory_order_relaxed);
    LEAT_END(b);
}

/* Resident memory and its page tables. */
static long bytes_used(void)
{
    long kib = 0, value;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld kB", &value) == 1 ||
            sscanf(line, "VmPTE: %ld kB", &value) == 1)
            kib += value;
    fclose(file);
    CHECK(kib > 0);
    return kib * 1024;
}

static int costs_little(void *arg)
{
    (void)arg;
#ifdef LEAT_HARSH
    enum { BLOCKS = IN_SIM ? 500 : 50000 / SCALE };
#else
    enum { BLOCKS = IN_SIM ? 500 : 1000000 / SCALE };
#endif
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    gate = leat_chan_of(s, int, 0);
    through = 0;
    long before = bytes_used();
    leat_block *blocks = malloc(BLOCKS * sizeof *blocks);
    CHECK(blocks);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK_IS(0, leat_go_block(s, &blocks[i], wait_at_the_gate));
        if (i % 1024 == 0) /* as a program would, so that not all of them start at the end */
            leat_yield();
    }
    WAIT_UNTIL(receivers_of(gate) == BLOCKS);
    WAIT_UNTIL(leat_scope_tasks(s) == BLOCKS);
#ifndef LEAT_HARSH
    if (SCALE == 1) {
        long each = (bytes_used() - before) / BLOCKS;
        printf("%d parked blocks: %ld bytes each\n", BLOCKS, each);
        CHECK(each <= 160);
    }
#endif
    for (int i = 0; i < BLOCKS / 2; i++)
        CHECK_IS(0, leat_send(gate, &i));
    CHECK_IS(0, leat_close(gate));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(BLOCKS, through);
    free(blocks);
    (void)before;
    return 0;
}
ON_WORKERS(costs_little);

/* ---- blocks allocate nothing ---- */

#ifdef LEAT_HARSH
struct frugal {
    leat_block block, part;
    leat_alarm alarm;
    leat_case cases[2];
    leat_chan *in, *out, *nobody;
    int x;
};

static int end_at_once(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_END(b);
}

static int live_frugally(leat_block *b)
{
    struct frugal *me = (struct frugal *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->in, &me->x);
    LEAT_AWAIT_RECV_UNTIL(b, me->nobody, &me->x, leat_after(LEAT_US), &me->alarm);
    LEAT_AWAIT_SLEEP(b, LEAT_US, &me->alarm);
    LEAT_AWAIT_CALL(b, &me->part, end_at_once);
    LEAT_AWAIT_YIELD(b);
    me->cases[0] = (leat_case)LEAT_RECV(NULL, NULL);
    me->cases[1] = (leat_case)LEAT_SEND(me->out, &me->x);
    LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL);
    CHECK_IS(1, b->status);
    LEAT_END(b);
}

static int allocates_nothing(void *arg)
{
    (void)arg;
    enum { BLOCKS = 1000 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *out = leat_chan_of(s, int, 0);
    leat_chan *nobody = leat_chan_of(s, int, 0);
    struct frugal *blocks = calloc(BLOCKS, sizeof *blocks);
    CHECK(blocks);
    lt_fault_arm(1);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].in = in, blocks[i].out = out, blocks[i].nobody = nobody;
        CHECK_IS(0, leat_go_block(s, &blocks[i].block, live_frugally));
    }
    if (leat_workers() == 1 && !IN_SIM) /* idle thieves may allocate */
        CHECK(!lt_fault_struck());
    WAIT_UNTIL(receivers_of(in) == BLOCKS);
    for (int i = 0, x = 0; i < BLOCKS; i++)
        CHECK_IS(0, leat_send(in, &x));
    for (int i = 0, x; i < BLOCKS; i++)
        CHECK_IS(0, leat_recv(out, &x));
    for (int i = 0; i < BLOCKS; i++)
        CHECK_IS(0, leat_block_join(&blocks[i].block));
    lt_fault_arm(0);
    free(blocks);
    return leat_scope_close(s);
}
ON_WORKERS(allocates_nothing);
#endif

/* ---- one at a time ---- */

struct guarded {
    leat_block block;
    leat_alarm alarm;
    _Atomic int inside;
    leat_chan *ch, *other;
    leat_case cases[2];
    int x, i, turns; /* not atomic: two workers at once would race */
};

/* As soon as the await begins, another worker may run the block. */
#define AWAIT_GUARDED(await) \
    CHECK_IS(1, atomic_exchange(&me->inside, 0)); \
    await; \
    CHECK_IS(0, atomic_exchange(&me->inside, 1))

static int run_guarded(leat_block *b)
{
    struct guarded *me = (struct guarded *)b;
    LEAT_BEGIN(b);
    CHECK_IS(0, atomic_exchange(&me->inside, 1));
    for (me->i = 0; me->i < 300 / SCALE; me->i++) {
        me->x = me->turns;
        AWAIT_GUARDED(LEAT_AWAIT_SEND(b, me->ch, &me->x));
        CHECK_IS(0, b->status);
        me->turns++;
        AWAIT_GUARDED(LEAT_AWAIT_RECV(b, me->ch, &me->x));
        CHECK_IS(0, b->status);
        me->turns++;
        AWAIT_GUARDED(LEAT_AWAIT_YIELD(b));
        me->turns++;
        me->cases[0] = (leat_case)LEAT_SEND(me->other, &me->x);
        me->cases[1] = (leat_case)LEAT_RECV(me->other, &me->x);
        AWAIT_GUARDED(LEAT_AWAIT_SELECT(b, me->cases, 2, leat_after(30 * LEAT_US), &me->alarm));
        CHECK(b->status == 0 || b->status == 1 || b->status == -ETIMEDOUT);
        me->turns++;
    }
    CHECK_IS(1, atomic_exchange(&me->inside, 0));
    LEAT_END(b);
}

static int runs_each_on_one_worker_at_a_time(void *arg)
{
    (void)arg;
    enum { BLOCKS = 40 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct guarded *blocks = calloc(BLOCKS, sizeof *blocks);
    CHECK(blocks);
    /* Room for one item of each block, so that none waits for ever at the end. */
    leat_chan *ch = leat_chan_of(s, int, BLOCKS), *other = leat_chan_of(s, int, 0);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].ch = ch, blocks[i].other = other;
        CHECK_IS(0, leat_go_block(s, &blocks[i].block, run_guarded));
    }
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0; i < BLOCKS; i++)
        CHECK_IS(300 / SCALE * 4, blocks[i].turns);
    free(blocks);
    return 0;
}
ON_WORKERS(runs_each_on_one_worker_at_a_time);

/* ---- every item is counted ---- */

enum { EACH = 4, ITEMS = 4000 / SCALE };

struct part {
    leat_block block;
    leat_alarm alarm;
    leat_chan *ch;
    leat_case cases[1];
    int64_t item, first, sum;
    int n, by_select, status;
};

static int produce(leat_block *b)
{
    struct part *me = (struct part *)b;
    LEAT_BEGIN(b);
    for (me->n = 0; me->n < ITEMS; me->n++) {
        me->item = me->first + me->n;
        if (me->by_select) {
            me->cases[0] = (leat_case)LEAT_SEND(me->ch, &me->item);
            LEAT_AWAIT_SELECT(b, me->cases, 1, leat_after(600 * LEAT_S), &me->alarm);
        } else {
            LEAT_AWAIT_SEND(b, me->ch, &me->item);
        }
        CHECK_IS(0, b->status);
    }
    CHECK_IS(0, leat_chan_done(me->ch));
    LEAT_END(b);
}

static int consume(leat_block *b)
{
    struct part *me = (struct part *)b;
    LEAT_BEGIN(b);
    for (;;) {
        me->item = -1;
        if (me->by_select) {
            me->cases[0] = (leat_case)LEAT_RECV(me->ch, &me->item);
            LEAT_AWAIT_SELECT(b, me->cases, 1, LEAT_NEVER, NULL);
            me->status = me->cases[0].status;
        } else {
            LEAT_AWAIT_RECV_UNTIL(b, me->ch, &me->item, leat_after(600 * LEAT_S), &me->alarm);
            me->status = b->status;
        }
        if (me->status == -EPIPE)
            break;
        CHECK_IS(0, me->status);
        me->sum += me->item;
        me->n++;
    }
    LEAT_END(b);
}

static int produce_as_task(void *arg)
{
    struct part *me = arg;
    for (me->n = 0; me->n < ITEMS; me->n++) {
        me->item = me->first + me->n;
        CHECK_IS(0, leat_send(me->ch, &me->item));
    }
    return leat_chan_done(me->ch);
}

static int consume_as_task(void *arg)
{
    struct part *me = arg;
    for (; leat_recv(me->ch, &me->item) == 0; me->n++)
        me->sum += me->item;
    return 0;
}

enum { BLOCK = KINDS, PARTIES };

static void go_part(struct crew *crew, int kind, const leat_block_type *type, leat_fn *fn,
                    struct part *part)
{
    if (kind == BLOCK)
        CHECK_IS(0, leat_go_block_typed(crew->scope, &part->block, type));
    else
        crew_go(crew, (enum kind)kind, fn, part);
}

static const leat_block_type produce_type = { produce, "produce" },
                             consume_type = { consume, "consume" };

static int meets_every_party(void *arg)
{
    (void)arg;
    for (int producers = 0; producers < PARTIES; producers++) {
        for (int consumers = 0; consumers < PARTIES; consumers++) {
            if (producers != BLOCK && consumers != BLOCK)
                continue;
            for (size_t capacity = 0; capacity <= 16; capacity = capacity * 15 + 1) {
                struct crew crew;
                crew_open(&crew);
                leat_chan *ch = leat_chan_of(crew.scope, int64_t, capacity);
                CHECK_IS(0, leat_chan_senders(ch, EACH));
                struct part in[EACH], out[EACH];
                for (int i = 0; i < EACH; i++) {
                    in[i] = (struct part){ .ch = ch, .first = i * ITEMS, .by_select = i % 2 };
                    out[i] = (struct part){ .ch = ch, .by_select = i / 2 };
                    go_part(&crew, producers, &produce_type, produce_as_task, &in[i]);
                    go_part(&crew, consumers, &consume_type, consume_as_task, &out[i]);
                }
                crew_close(&crew);
                int64_t n = 0, sum = 0, all = EACH * ITEMS;
                for (int i = 0; i < EACH; i++)
                    n += out[i].n, sum += out[i].sum;
                CHECK_IS(all, n);
                CHECK_IS(all * (all - 1) / 2, sum);
            }
        }
    }
    return 0;
}
ON_WORKERS(meets_every_party);

/* The prime sieve with a block for each prime: a row of blocks keeps the order. */
struct sieve {
    leat_block block;
    leat_chan *in, *out;
    int prime, n;
};

static int sift(leat_block *b)
{
    struct sieve *me = (struct sieve *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->in, &me->prime);
    do {
        LEAT_AWAIT_RECV(b, me->in, &me->n);
        if (b->status == 0 && me->n % me->prime != 0)
            LEAT_AWAIT_SEND(b, me->out, &me->n);
    } while (b->status == 0);
    LEAT_RETURN(b, b->status);
}

static int sieves_primes(void *arg)
{
    (void)arg;
    enum { PRIMES = 200 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct sieve *sieves = calloc(PRIMES, sizeof *sieves);
    CHECK(sieves);
    leat_chan *first = leat_chan_of(s, int, 0), *ch = first;
    for (int i = 0; i < PRIMES; i++) {
        sieves[i].in = ch;
        sieves[i].out = ch = leat_chan_of(s, int, 0);
        CHECK_IS(0, leat_go_block(s, &sieves[i].block, sift));
    }
    int n = 2, last = 0;
    while (!last) { /* the first number that passes all of them is a prime */
        leat_case cases[] = { LEAT_RECV(ch, &last), LEAT_SEND(first, &n) };
        if (leat_select(cases, 2, LEAT_NEVER) == 1)
            n++;
    }
    CHECK_IS(1229, last); /* the 201st prime */
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(1223, sieves[PRIMES - 1].prime);
    free(sieves);
    return 0;
}
ON_WORKERS(sieves_primes);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(costs_little),
#ifdef LEAT_HARSH
        TESTS_ON_WORKERS(allocates_nothing),
#endif
        TESTS_ON_WORKERS(runs_each_on_one_worker_at_a_time),
        TESTS_ON_WORKERS(meets_every_party),
        TESTS_ON_WORKERS(sieves_primes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
