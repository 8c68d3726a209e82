/* leat.c: a stage over processes, for bench/link/run.
 *
 *     leat near URL ITEMS WINDOW   gives numbers in 100 bytes to the stage, and receives them
 *     leat far URL PLACES          serves it, and gives each item back
 *     leat turn URL ITEMS          one item there and back at a time
 *
 * Prints "SAMPLE", items, seconds, and seconds of the process's CPU. */
#include <leat/leat.h>
#include <leat/link.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 100, PLACES = 512 };

static int give_back(void *unused, const leat_far_item *item, leat_bytes *result)
{
    (void)unused;
    return leat_bytes_add(result, item->data, item->size);
}

static int stop_at_signal(void *signals)
{
    leat_signal got;
    leat_recv(signals, &got);
    return -EINTR;
}

static int far_end(leat_scope *scope, leat_link *link, char **words)
{
    static const int stops[] = { SIGTERM };
    leat_chan *signals;
    int error = leat_signals(scope, stops, 1, &signals);
    error = error ? error : leat_go(scope, stop_at_signal, signals);
    return error ? error
                 : leat_serve_stage(link, &(leat_serve_stage_spec){ .stage = "bench",
                                                                    .n = (unsigned)atoi(words[0]),
                                                                    .run = give_back });
}

static double cpu(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

struct numbers {
    long next, end;
};

static int next_number(void *arg, void *item)
{
    struct numbers *numbers = arg;
    if (numbers->next == numbers->end)
        return LEAT_ENOUGH;
    memset(item, 'x', SIZE);
    memcpy(item, &numbers->next, sizeof numbers->next);
    numbers->next++;
    return 0;
}

static leat_chan *stage(leat_scope *scope, leat_link *link, leat_chan *in, unsigned window)
{
    return leat_remote(scope, in,
                       &(leat_remote_spec){ .link = link,
                                            .stage = "bench",
                                            .run = "bench",
                                            .n = PLACES,
                                            .window = window,
                                            .in_size = SIZE,
                                            .out_size = SIZE,
                                            .capacity = 256 });
}

static int check(const char *item, long n)
{
    long number;
    memcpy(&number, item, sizeof number);
    return number == n ? 0 : -EBADMSG;
}

static int near_end(leat_scope *scope, leat_link *link, char **words)
{
    struct numbers numbers = { 0, atol(words[0]) };
    char item[SIZE];
    leat_chan *in = leat_generate(scope, next_number, &numbers,
                                  &(leat_chan_spec){ .item_size = SIZE, .capacity = 256 });
    leat_chan *out = stage(scope, link, in, (unsigned)atoi(words[1]));
    int64_t begun = leat_now();
    double used = cpu();
    int error = 0;
    for (long n = 0; !error && n < numbers.end; n++) {
        error = leat_recv(out, item);
        error = error ? error : check(item, n);
    }
    printf("SAMPLE\t%ld\t%f\t%f\n", numbers.end, (double)(leat_now() - begun) / 1e9, cpu() - used);
    return error;
}

static int turns(leat_scope *scope, leat_link *link, char **words)
{
    long end = atol(words[0]);
    char item[SIZE] = { 0 };
    leat_chan *in = leat_chan_make(scope, SIZE, 0), *out = stage(scope, link, in, 0);
    int64_t begun = leat_now();
    double used = cpu();
    int error = 0;
    for (long n = 0; !error && n < end; n++) {
        memcpy(item, &n, sizeof n);
        error = leat_send(in, item);
        error = error ? error : leat_recv(out, item);
        error = error ? error : check(item, n);
    }
    printf("SAMPLE\t%ld\t%f\t%f\n", end, (double)(leat_now() - begun) / 1e9, cpu() - used);
    leat_close(in);
    return error ? error : leat_recv(out, item) == -EPIPE ? 0 : -EBADMSG;
}

static void tell(void *unused, const char *message)
{
    (void)unused;
    fprintf(stderr, "%s\n", message);
}

static int run(void *arg)
{
    char **words = arg;
    leat_link *link;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_link_open(scope, words[2], &(leat_link_spec){ .tell = tell }, &link);
    if (!error && strcmp(words[1], "far") == 0)
        error = far_end(scope, link, words + 3);
    else if (!error && strcmp(words[1], "turn") == 0)
        error = turns(scope, link, words + 3);
    else if (!error)
        error = near_end(scope, link, words + 3);
    if (strcmp(words[1], "far") == 0)
        leat_scope_cancel(scope);
    int why = leat_scope_close(scope);
    return why == -EINTR ? 0 : error ? error : why;
}

int main(int argc, char **argv)
{
    return argc < 4 ? 2 : leat_main(run, argv) != 0;
}
