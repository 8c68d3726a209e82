/* parked [abort]: tasks and blocks wait in different ways, for gdb_tasks.sh and gdb_core.sh. */
#include <leat/leat.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

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

/* ---- waits for a call, or for its room ---- */

static int emits_two(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    leat_emit_item(emit, in);
    atomic_fetch_add(&waiting, 1);
    return leat_emit_item(emit, in) ? -1 : 0;
}

static int prepare(void *unused)
{
    return sleeps(unused);
}

static int does_once(void *once)
{
    atomic_fetch_add(&waiting, 1);
    return leat_once_do(once, prepare, NULL) == -ECANCELED ? 0 : -1;
}

static int runs_once(void *once)
{
    leat_once_do(once, prepare, NULL);
    return 0;
}

static int store(void *arg, leat_batch_view *batch)
{
    (void)arg;
    return leat_batch_all_done(batch);
}

static int batches(void *batcher)
{
    atomic_fetch_add(&waiting, 1);
    return leat_batch(batcher, &(int){ 1 }, NULL) ? -1 : 0;
}

static int read_blocking(void *end)
{
    char byte;
    return (int)read(*(int *)end, &byte, 1);
}

static int blocks(void *end)
{
    atomic_fetch_add(&waiting, 1);
    return leat_blocking(read_blocking, end);
}

static int joins(void *block)
{
    atomic_fetch_add(&waiting, 1);
    return leat_block_join(block) < 0 ? -1 : 0;
}

static int reads(void *end)
{
    char byte;
    atomic_fetch_add(&waiting, 1);
    return (int)leat_read(end, &byte, 1);
}

static int receive_step(leat_block *b)
{
    struct receiver *me = (struct receiver *)(void *)b;
    LEAT_BEGIN(b);
    atomic_fetch_add(&waiting, 1);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

/* Returns how many of them count themselves in `waiting`. */
static int start_waiters(leat_scope *s, int *pipe_end, leat_io *orphans[2])
{
    static leat_once once;
    leat_io *ends[2];
    leat_batcher *batcher = leat_batcher_open(
        s, &(leat_batcher_spec){
               .item_size = 4, .run = store, .name = "ledger", .linger = 1000 * LEAT_S });
    leat_chan *in = leat_chan_of(s, int, 1);
    leat_send(in, &(int){ 1 });
    leat_pipeline(
        s, in,
        &(leat_pipeline_spec){ .n = 1, .run_many = emits_two, .out_size = 4, .name = "two" });
    leat_io_pair(s, ends);
    leat_io_pipe(NULL, orphans);
    leat_io_close(orphans[1]);
    leat_go(s, runs_once, &once);
    leat_go(s, does_once, &once);
    leat_go(s, batches, batcher);
    leat_go(s, blocks, pipe_end);
    leat_go(s, reads, ends[0]);
    return 5 + 1; /* and prepare sleeps */
}

static int run(void *unused)
{
    (void)unused;
    static _Atomic int stop;
    static struct receiver receiver;
    leat_io *orphans[2];
    int pipe_ends[2];
    if (pipe(pipe_ends))
        return -1;
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
    leat_go(s, joins, &receiver.block);
    int parked = 5 + start_waiters(s, &pipe_ends[0], orphans);
    while (atomic_load(&waiting) < parked)
        leat_yield();
    everybody_waits();
    depth++;
    atomic_store(&stop, 1);
    leat_close(quotes);
    leat_close(log);
    leat_chan_unref(orphan);
    leat_io_unref(orphans[0]);
    leat_io_unref(orphans[1]);
    close(pipe_ends[1]);
    leat_scope_cancel(s);
    return leat_scope_close(s);
}

int main(int argc, char **argv)
{
    (void)argv;
    aborts = argc > 1;
    return leat_main_with(run, NULL, &(leat_options){ .workers = 1 });
}
