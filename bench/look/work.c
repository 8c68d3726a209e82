/* work ROW WORKERS ITEMS: does the same work each time that a line comes, and prints the processor
 * time of the whole process for it, in nanoseconds. Two tasks pass ITEMS items through
 *   items    a channel with a buffer;
 *   stages   a pipeline's stage, a through and a merge;
 *   parked   a channel with a buffer, while 100,000 blocks wait on others. */
#include <leat/leat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 100000, CHANNELS = 100 };

static const char *row;
static long items;
static leat_chan *never[CHANNELS];

struct parked {
    leat_block block;
    leat_chan *on;
};

static int parks(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, ((struct parked *)(void *)b)->on, NULL);
    LEAT_END(b);
}

static int sends(void *to)
{
    for (long i = 0; i < items; i++)
        leat_send(to, &i);
    return leat_close(to);
}

static int adds(void *unused, const void *in, void *out)
{
    long n;
    (void)unused;
    memcpy(&n, in, sizeof n);
    n++;
    memcpy(out, &n, sizeof n);
    return 0;
}

static leat_chan *through_stages(leat_scope *s, leat_chan *from)
{
    leat_chan *ins[2];
    ins[0] = leat_pipeline(
        s, from,
        &(leat_pipeline_spec){ .n = 4, .window = 16, .run = adds, .out_size = sizeof(long) });
    ins[0] = leat_through(s, ins[0], leat_map(sizeof(long), sizeof(long), adds, NULL), 64, NULL);
    ins[1] = leat_chan_of(s, long, 0);
    leat_close(ins[1]);
    return leat_merge(s, ins, 2, 64);
}

static int work(void)
{
    long n, sum = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *from = leat_chan_of(s, long, 64), *to = from;
    if (strcmp(row, "stages") == 0)
        to = through_stages(s, from);
    int error = leat_go(s, sends, from);
    while (!error && leat_recv(to, &n) == 0)
        sum += n != 0;
    return leat_scope_close(s) || sum < items - 1 ? -1 : error;
}

static long long processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000LL + used.tv_nsec;
}

static int run(void *unused)
{
    char line[16];
    int error = 0;
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct parked *all = calloc(BLOCKS, sizeof *all);
    for (int i = 0; i < CHANNELS; i++)
        never[i] = leat_chan_make(s, 0, 0);
    for (int i = 0; strcmp(row, "parked") == 0 && i < BLOCKS; i++) {
        all[i].on = never[i % CHANNELS];
        leat_go_block(s, &all[i].block, parks);
    }
    while (!error && fgets(line, sizeof line, stdin)) {
        long long before = processor_time();
        error = work();
        printf("%lld\n", processor_time() - before);
        fflush(stdout);
    }
    leat_scope_cancel(s);
    leat_scope_close(s);
    free(all);
    return error;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    row = argv[1];
    items = atol(argv[3]);
    return leat_main_with(run, NULL, &(leat_options){ .workers = (unsigned)atoi(argv[2]) }) != 0;
}
