/* parked [abort]: tasks and blocks wait in different ways, for gdb_tasks.sh and gdb_core.sh. */
#include <leat/leat.h>

#include <stdatomic.h>
#include <stdlib.h>

struct receiver {
    leat_block block;
    leat_chan *ch;
};

static volatile int depth, aborts;
static _Atomic int waiting;

__attribute__((noinline)) void everybody_waits(void)
{
    depth++;
    if (aborts)
        abort();
}

/* With one worker, a task that counts itself waits before another one runs. */
__attribute__((noinline)) static int innermost(leat_chan *ch)
{
    int item, marker = 4711;
    atomic_fetch_add(&waiting, 1);
    int result = leat_recv(ch, &item);
    depth += marker;
    return result;
}

__attribute__((noinline)) static int middle(leat_chan *ch)
{
    int result = innermost(ch);
    depth++;
    return result;
}

static int receives(void *ch)
{
    return middle(ch) == -32 ? 0 : -1; /* -EPIPE */
}

static int selects(void *chans)
{
    leat_chan **ch = chans;
    int item = 0;
    leat_case cases[] = { LEAT_RECV(ch[0], &item), LEAT_SEND(ch[1], &item) };
    atomic_fetch_add(&waiting, 1);
    return leat_select(cases, 2, LEAT_NEVER) >= 0 ? 0 : -1;
}

static int sleeps(void *unused)
{
    (void)unused;
    atomic_fetch_add(&waiting, 1);
    leat_sleep(1000 * LEAT_S);
    return 0;
}

static int opens(void *unused)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, sleeps, unused);
    leat_scope_close(s);
    return 0;
}

static int yields(void *stop)
{
    while (!atomic_load((_Atomic int *)stop))
        leat_yield();
    return 0;
}

static int receive_step(leat_block *b)
{
    struct receiver *me = (struct receiver *)(void *)b;
    LEAT_BEGIN(b);
    atomic_fetch_add(&waiting, 1);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

static int run(void *unused)
{
    (void)unused;
    static _Atomic int stop;
    static struct receiver receiver;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *quotes = leat_chan_open(s, &(leat_chan_spec){ .item_size = 4, .name = "quotes" });
    leat_chan *log =
        leat_chan_open(s, &(leat_chan_spec){ .item_size = 4, .capacity = 1, .name = "log" });
    leat_chan *orphan = leat_chan_of(NULL, int, 3), *both[] = { quotes, log };
    leat_send(log, &(int){ 1 });
    receiver.ch = quotes;
    leat_go(s, receives, quotes);
    leat_go(s, selects, both);
    leat_go(s, opens, NULL);
    leat_go(s, yields, &stop);
    leat_go_block(s, &receiver.block, receive_step);
    while (atomic_load(&waiting) < 4)
        leat_yield();
    everybody_waits();
    depth++;
    atomic_store(&stop, 1);
    leat_close(quotes);
    leat_close(log);
    leat_chan_unref(orphan);
    leat_scope_cancel(s);
    return leat_scope_close(s);
}

int main(int argc, char **argv)
{
    (void)argv;
    aborts = argc > 1;
    return leat_main_with(run, NULL, &(leat_options){ .workers = 1 });
}
