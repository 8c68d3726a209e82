/* looked [busy]: a little of everything that a look shows. It works until its standard input ends;
 * with `busy`, a task that computes holds one of its workers meanwhile. */
#include <leat/leat.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IDLERS = 64 };

static leat_chan *words, *doubled, *full, *shut, *never;
static _Atomic bool over;

static int ticks(void *unused)
{
    long n = 0;
    (void)unused;
    while (leat_send(words, &n) == 0) {
        n++;
        leat_sleep(LEAT_MS);
    }
    return 0;
}

static int drinks(void *io)
{
    char byte;
    return leat_read(io, &byte, 1) == -ECANCELED ? 0 : -EPROTO;
}

static int reads(void *batcher)
{
    long n;
    while (leat_recv(doubled, &n) == 0)
        leat_batch_many(batcher, &n, 1, NULL, NULL, LEAT_NEVER);
    return 0;
}

static int doubles(void *unused, const void *in, void *out)
{
    (void)unused;
    long n;
    memcpy(&n, in, sizeof n);
    n *= 2;
    memcpy(out, &n, sizeof n);
    return 0;
}

static int logs(void *unused, leat_batch_view *batch)
{
    (void)unused;
    return leat_batch_all_done(batch);
}

/* words ──▶ [doubles] ──▶ [merge] ──▶ doubled, which `reads` receives from and puts into batches.
 * Also a pipe without a writer. */
static int make_stages(leat_scope *s)
{
    static leat_chan *ins[2];
    leat_io *ends[2];
    ins[0] = leat_pipeline(
        s, words,
        &(leat_pipeline_spec){
            .n = 2, .window = 3, .run = doubles, .out_size = sizeof(long), .name = "doubles" });
    ins[1] = leat_chan_of(s, long, 0);
    doubled = leat_merge(s, ins, 2, 4);
    leat_batcher *log = leat_batcher_open(
        s, &(leat_batcher_spec){ .item_size = sizeof(long), .run = logs, .name = "log" });
    int error = doubled && log ? leat_io_pipe(s, ends) : -ENOMEM;
    if (!error)
        error = leat_go(s, drinks, ends[0]);
    return error ? error : leat_go(s, reads, log);
}

static int idles(void *unused)
{
    (void)unused;
    leat_recv(never, NULL);
    return 0;
}

static int selects(void *unused)
{
    long n;
    (void)unused;
    leat_case cases[] = { LEAT_RECV(never, &n), LEAT_SEND(full, &n) };
    leat_select(cases, 2, leat_after(LEAT_S * 3600));
    return 0;
}

static int naps(void *unused)
{
    (void)unused;
    leat_sleep(LEAT_S * 3600);
    return 0;
}

static int computes(void *unused)
{
    (void)unused;
    /* leat sees no sleep in it, and the test has the processor. Relaxed: it orders nothing. */
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    return 0;
}

static int step(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, never, NULL);
    LEAT_END(b);
}

static int fill(void)
{
    long n = 0;
    while (leat_try_send(full, &n) == 0)
        n++;
    return leat_close(shut);
}

static int inner(void *unused)
{
    static leat_block block;
    (void)unused;
    leat_scope *s = leat_scope_open(leat_after(LEAT_S * 7200));
    int error = leat_go_named(s, selects, NULL, "picks <b>one</b> & \"quotes\" \xE2\x9C\x93", 0);
    if (!error)
        error = leat_go_block(s, &block, step);
    if (!error)
        error = leat_go_blocking(s, idles, NULL);
    for (int i = 0; !error && i < IDLERS; i++)
        error = leat_go(s, idles, NULL);
    int result = leat_scope_close(s);
    return error ? error : result;
}

static int waits_for_input(void *scope)
{
    char bytes[64];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0)
        ;
    atomic_store_explicit(&over, true, memory_order_relaxed);
    leat_scope_cancel(scope);
    return 0;
}

static int run(void *busy)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    words = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(long), .name = "words" });
    never = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(long), .name = "never" });
    full = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(long), .capacity = 8, .name = "full" });
    shut = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(long), .capacity = 2, .name = "shut \x1b[31m" });
    int error = words && never && full && shut ? fill() : -ENOMEM;
    if (error || (error = leat_go(s, ticks, NULL)) || (error = make_stages(s)) ||
        (error = leat_go(s, naps, NULL)) || (error = leat_go(s, inner, NULL)) ||
        (busy && (error = leat_go(s, computes, NULL))) ||
        (error = leat_go_blocking(s, waits_for_input, s)))
        leat_scope_cancel(s);
    leat_scope_close(s);
    return error;
}

int main(int argc, char **argv)
{
    bool busy = argc > 1 && strcmp(argv[1], "busy") == 0;
    return leat_main_with(run, busy ? (void *)1 : NULL, &(leat_options){ .workers = 2 }) != 0;
}
