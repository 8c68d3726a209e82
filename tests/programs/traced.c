/* traced.c: a little of everything, to be traced: 100 items through each of several channels, many
 * through one, a select, a block, a scope within a scope, a thread. */
#include <leat/leat.h>

#include <pthread.h>

enum { ITEMS = 100, ALONE = 10000 };

static int sends(void *ch)
{
    for (int i = 0; i < ITEMS; i++)
        if (leat_send(ch, &i) < 0)
            return -1;
    return 0;
}

static int receives(void *ch)
{
    for (int i = 0, item; i < ITEMS; i++)
        if (leat_recv(ch, &item) < 0)
            return -1;
    return 0;
}

static int receives_many(void *ch)
{
    int items[7];
    for (int64_t n = 0, got; n < ITEMS; n += got)
        if ((got = leat_recv_many(ch, items, 7, LEAT_NEVER)) < 0)
            return -1;
    return 0;
}

static int selects(void *chans)
{
    leat_chan **ch = chans;
    int item, other;
    for (int i = 0; i < ITEMS; i++) {
        leat_case cases[] = { LEAT_RECV(ch[0], &item), LEAT_RECV(ch[1], &other) };
        if (leat_select(cases, 2, LEAT_NEVER) != 0)
            return -1;
    }
    return 0;
}

struct block {
    leat_block block;
    leat_chan *ch;
    int i;
};

static int step(leat_block *b)
{
    struct block *me = (struct block *)(void *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < ITEMS; me->i++)
        LEAT_AWAIT_SEND(b, me->ch, &me->i);
    LEAT_END(b);
}

static void *thread(void *ch)
{
    sends(ch);
    return NULL;
}

/* More events than a trace's list has room for at first, without a switch in between. */
static void talk_to_oneself(leat_chan *ch)
{
    for (int i = 0, item; i < ALONE; i++) {
        leat_send(ch, &i);
        leat_recv(ch, &item);
    }
}

static int run(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    talk_to_oneself(leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1, .name = "alone" }));
    leat_chan *straight = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .name = "straight \"0\"\n" });
    leat_chan *buffered = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 8, .name = "buffered" });
    leat_chan *pair[] = { leat_chan_open(
                              s, &(leat_chan_spec){ .item_size = sizeof(int), .name = "selected" }),
                          leat_chan_of(s, int, 0) };
    leat_chan *foreign = leat_chan_of(s, int, 4);
    struct block block = { .ch = pair[0] };
    pthread_t other;
    leat_go(s, sends, straight);
    leat_go(s, receives, straight);
    leat_go(s, sends, buffered);
    leat_go(s, receives_many, buffered);
    leat_go_block(s, &block.block, step);
    leat_go(s, selects, pair);
    pthread_create(&other, NULL, thread, foreign);
    leat_go(s, receives, foreign);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    leat_scope_close(inner);
    int result = leat_scope_close(s);
    pthread_join(other, NULL);
    return result;
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
