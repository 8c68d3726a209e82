/* Threads, and a channel written without a library: a mutex, condition variables and a ring.
 * Without capacity, a sender waits until its item has been received. */
#include "../common/bench.h"

#include <pthread.h>
#include <stdbool.h>

enum { CAPACITY = 128, MOST_PARTIES = 4 };

struct channel {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full, taken;
    int room, length, head;
    bool meet, closed;
    uint64_t put, got;
    int64_t ring[CAPACITY];
};

static void channel_init(struct channel *c, int capacity)
{
    *c = (struct channel){ .room = capacity ? capacity : 1, .meet = capacity == 0 };
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->not_empty, NULL);
    pthread_cond_init(&c->not_full, NULL);
    pthread_cond_init(&c->taken, NULL);
}

static void channel_end(struct channel *c)
{
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->not_empty);
    pthread_cond_destroy(&c->not_full);
    pthread_cond_destroy(&c->taken);
}

static void channel_send(struct channel *c, int64_t item)
{
    pthread_mutex_lock(&c->lock);
    while (c->length == c->room)
        pthread_cond_wait(&c->not_full, &c->lock);
    c->ring[(c->head + c->length++) % c->room] = item;
    uint64_t mine = ++c->put;
    pthread_cond_signal(&c->not_empty);
    while (c->meet && c->got < mine)
        pthread_cond_wait(&c->taken, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static bool channel_recv(struct channel *c, int64_t *item)
{
    pthread_mutex_lock(&c->lock);
    while (c->length == 0 && !c->closed)
        pthread_cond_wait(&c->not_empty, &c->lock);
    bool there = c->length > 0;
    if (there) {
        *item = c->ring[c->head];
        c->head = (c->head + 1) % c->room;
        c->length--;
        c->got++;
        pthread_cond_signal(&c->not_full);
        if (c->meet)
            pthread_cond_signal(&c->taken);
    }
    pthread_mutex_unlock(&c->lock);
    return there;
}

static void channel_close(struct channel *c)
{
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    pthread_cond_broadcast(&c->not_empty);
    pthread_mutex_unlock(&c->lock);
}

struct party {
    pthread_t thread;
    struct channel *in, *out;
    int64_t first, last;
    int64_t sum, count;
};

static void *party_send(void *arg)
{
    struct party *me = arg;
    for (int64_t i = me->first; i < me->last; i++)
        channel_send(me->out, i);
    return NULL;
}

static void *party_recv(void *arg)
{
    struct party *me = arg;
    int64_t sum = 0, count = 0; /* not in *me, to avoid false sharing with its neighbours */
    for (int64_t item; channel_recv(me->in, &item); count++)
        sum += item;
    me->sum = sum;
    me->count = count;
    return NULL;
}

static void *party_echo(void *arg)
{
    struct party *me = arg;
    for (int64_t item; channel_recv(me->in, &item);)
        channel_send(me->out, item + 1);
    return NULL;
}

static void party_start(struct party *p, void *(*fn)(void *))
{
    bench_check("pthread_create", pthread_create(&p->thread, NULL, fn, p), 0);
}

static uint64_t pingpong(int64_t n)
{
    struct channel there, back;
    channel_init(&there, 0);
    channel_init(&back, 0);
    struct party echo = { .in = &there, .out = &back };
    party_start(&echo, party_echo);
    int64_t item = 0;
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        channel_send(&there, item + 1);
        channel_recv(&back, &item);
    }
    uint64_t ns = bench_now() - start;
    channel_close(&there);
    pthread_join(echo.thread, NULL);
    channel_end(&there);
    channel_end(&back);
    bench_check("pingpong", item, 2 * n);
    return ns;
}

static uint64_t stream(int64_t n, int pairs)
{
    struct channel c;
    channel_init(&c, CAPACITY);
    struct party senders[MOST_PARTIES], receivers[MOST_PARTIES];
    int64_t each = n / pairs, sum = 0, count = 0;
    uint64_t start = bench_now();
    for (int i = 0; i < pairs; i++) {
        receivers[i] = (struct party){ .in = &c };
        party_start(&receivers[i], party_recv);
    }
    for (int i = 0; i < pairs; i++) {
        senders[i] = (struct party){ .out = &c, .first = each * i, .last = each * (i + 1) };
        party_start(&senders[i], party_send);
    }
    for (int i = 0; i < pairs; i++)
        pthread_join(senders[i].thread, NULL);
    channel_close(&c);
    for (int i = 0; i < pairs; i++)
        pthread_join(receivers[i].thread, NULL);
    uint64_t ns = bench_now() - start;
    for (int i = 0; i < pairs; i++) {
        sum += receivers[i].sum;
        count += receivers[i].count;
    }
    channel_end(&c);
    bench_check("stream", count, n);
    bench_check("stream", sum, bench_sum(n));
    return ns;
}

static uint64_t buffered_1to1(int64_t n)
{
    return stream(n, 1);
}

static uint64_t buffered_4to4(int64_t n)
{
    return stream(n, 4);
}

static const struct bench_row rows[] = {
    { "thread_pingpong", 1, pingpong, NULL, 0 },
    { "thread_buffered_1to1", 1, buffered_1to1, NULL, 0 },
    { "thread_buffered_4to4", 4, buffered_4to4, NULL, 0 },
    { NULL, 0, NULL, NULL, 0 },
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, bench_run);
}
