/* threads.c: the program's own threads on leat's channels, with each other and with tasks. */
#include "rows.h"

#include <pthread.h>

/* A party in its own thread. */
struct thread {
    pthread_t id;
    leat_fn *fn;
    struct party party;
};

static void *thread_main(void *arg)
{
    struct thread *me = arg;
    me->fn(&me->party);
    return NULL;
}

static void thread_start(struct thread *t, leat_fn *fn, struct party party)
{
    t->fn = fn;
    t->party = party;
    bench_check("pthread_create", pthread_create(&t->id, NULL, thread_main, t), 0);
}

static void thread_join(struct thread *t)
{
    pthread_join(t->id, NULL);
}

uint64_t thread_pingpong(int64_t n)
{
    leat_chan *there = leat_chan_of(NULL, int64_t, 0), *back = leat_chan_of(NULL, int64_t, 0);
    struct thread echo;
    thread_start(&echo, party_echo, (struct party){ .in = there, .out = back });
    uint64_t start = bench_now();
    int64_t item = pingpong_loop(there, back, n);
    uint64_t ns = bench_now() - start;
    thread_join(&echo);
    leat_chan_unref(there);
    leat_chan_unref(back);
    bench_check("thread_pingpong", item, 2 * n);
    return ns;
}

static uint64_t stream(int64_t n, int pairs)
{
    struct thread senders[MOST_PARTIES], receivers[MOST_PARTIES];
    struct party got[MOST_PARTIES];
    leat_chan *ch = leat_chan_of(NULL, int64_t, CAPACITY);
    leat_chan_senders(ch, (unsigned)pairs);
    uint64_t start = bench_now();
    for (int i = 0; i < pairs; i++)
        thread_start(&receivers[i], party_recv, (struct party){ .in = ch });
    for (int i = 0; i < pairs; i++)
        thread_start(&senders[i], party_send, party_sender(ch, n, i, pairs));
    for (int i = 0; i < pairs; i++) {
        thread_join(&senders[i]);
        thread_join(&receivers[i]);
    }
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < pairs; i++)
        got[i] = receivers[i].party;
    leat_chan_unref(ch);
    party_check("thread stream", got, pairs, n);
    return ns;
}

uint64_t thread_buffered_1to1(int64_t n)
{
    return stream(n, 1);
}

uint64_t thread_buffered_4to4(int64_t n)
{
    return stream(n, 4);
}

uint64_t thread_select(int64_t n)
{
    struct thread senders[4];
    leat_case cases[4];
    int64_t item = 0, sum = 0;
    uint64_t start = bench_now();
    for (int i = 0; i < 4; i++) {
        leat_chan *ch = leat_chan_of(NULL, int64_t, 0);
        leat_chan_senders(ch, 2); /* one of the two is never done, so the channel stays open */
        cases[i] = (leat_case)LEAT_RECV(ch, &item);
        thread_start(&senders[i], party_send, party_sender(ch, n, i, 4));
    }
    for (int64_t i = 0; i < n; i++)
        if (leat_select(cases, 4, LEAT_NEVER) >= 0)
            sum += item;
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < 4; i++) {
        thread_join(&senders[i]);
        leat_chan_unref(cases[i].ch);
    }
    bench_check("thread_select", sum, bench_sum(n));
    return ns;
}

uint64_t thread_to_task(int64_t n)
{
    struct thread sender;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int64_t, CAPACITY);
    leat_chan_senders(ch, 1);
    struct party receiver = { .in = ch };
    uint64_t start = bench_now();
    leat_go(s, party_recv, &receiver);
    thread_start(&sender, party_send, party_sender(ch, n, 0, 1));
    thread_join(&sender);
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    party_check("thread_to_task", &receiver, 1, n);
    return ns;
}

uint64_t task_to_thread(int64_t n)
{
    struct thread receiver;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int64_t, CAPACITY);
    leat_chan_senders(ch, 1);
    struct party sender = party_sender(ch, n, 0, 1);
    uint64_t start = bench_now();
    thread_start(&receiver, party_recv, (struct party){ .in = ch });
    leat_go(s, party_send, &sender);
    thread_join(&receiver);
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    party_check("task_to_thread", &receiver.party, 1, n);
    return ns;
}

static uint64_t thread_and_task(int64_t n, size_t capacity)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *there = leat_chan_of(s, int64_t, capacity);
    leat_chan *back = leat_chan_of(s, int64_t, capacity);
    struct party echo = { .in = there, .out = back };
    leat_go(s, party_echo, &echo);
    uint64_t start = bench_now();
    int64_t item = pingpong_loop(there, back, n);
    uint64_t ns = bench_now() - start;
    leat_scope_close(s);
    bench_check("thread_task_pingpong", item, 2 * n);
    return ns;
}

uint64_t thread_task_pingpong(int64_t n)
{
    return thread_and_task(n, 0);
}

uint64_t thread_task_pingpong_one(int64_t n)
{
    return thread_and_task(n, 1);
}
