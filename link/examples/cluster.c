/* cluster.c: a stage over several processes, or machines.
 *
 *     cluster work URL PLACES    serves the stage until SIGINT or SIGTERM
 *     cluster run URL ITEMS      gives it numbers, and checks and counts the results
 *
 * The stage "collatz" counts the steps from a number to 1. Run ./run to see it survive the loss of
 * a worker and of the engine. */
#include <leat/leat.h>
#include <leat/link.h>

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_message(void *who, const char *message)
{
    fprintf(stderr, "%s: %s\n", (const char *)who, message);
}

static uint32_t steps_to_one(uint64_t number)
{
    uint32_t steps = 0;
    for (; number > 1; steps++)
        number = number % 2 ? 3 * number + 1 : number / 2;
    return steps;
}

/* ---- work ---- */

static int collatz(void *unused, const leat_far_item *item, leat_bytes *result)
{
    uint64_t number;
    (void)unused;
    if (item->size != sizeof number)
        return -EBADMSG;
    memcpy(&number, item->data, sizeof number);
    uint32_t steps = steps_to_one(number);
    return leat_bytes_add(result, &steps, sizeof steps);
}

/* Cancels the scope that the far end serves in. */
static int stop_at_signal(void *signals)
{
    leat_signal got;
    int error = leat_recv(signals, &got);
    return error ? error : -EINTR;
}

static int work(char **words)
{
    static const int stops[] = { SIGINT, SIGTERM };
    leat_link *link;
    leat_chan *signals;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_link_open(scope, words[0],
                               &(leat_link_spec){ .tell = print_message, .arg = "work" }, &link);
    if (!error)
        error = leat_signals(scope, stops, 2, &signals);
    if (!error)
        error = leat_go(scope, stop_at_signal, signals);
    if (!error)
        error = leat_serve_stage(link, &(leat_serve_stage_spec){ .stage = "collatz",
                                                                 .n = (unsigned)atoi(words[1]),
                                                                 .run = collatz });
    leat_scope_cancel(scope);
    int why = leat_scope_close(scope);
    return why == -EINTR ? 0 : error;
}

/* ---- run ---- */

struct result {
    leat_outcome outcome;
    uint32_t steps;
};

struct numbers {
    uint64_t next, end;
};

static int next_number(void *arg, void *item)
{
    struct numbers *numbers = arg;
    if (numbers->next == numbers->end)
        return LEAT_ENOUGH;
    *(uint64_t *)item = numbers->next++;
    return 0;
}

static int take_results(leat_chan *results, uint64_t want)
{
    uint64_t n = 0, wrong = 0;
    int64_t begun = leat_now(), printed = begun;
    struct result result;
    int error;
    for (; (error = leat_recv(results, &result)) == 0; n++) {
        wrong += result.outcome.index != n || result.outcome.status != 0 ||
                 result.steps != steps_to_one(n);
        int64_t now = leat_now();
        if (now - printed >= LEAT_S / 2) {
            fprintf(stderr, "%" PRIu64 " results\n", n + 1);
            printed = now;
        }
    }
    double seconds = (double)(leat_now() - begun) / (double)LEAT_S;
    bool good = error == -EPIPE && n == want && !wrong;
    printf("%" PRIu64 " of %" PRIu64 " results%s; %" PRIu64 " wrong; %.1f s\n", n, want,
           good ? ", in order, each once" : "", wrong, seconds);
    return error != -EPIPE ? error : good ? 0 : -EBADMSG;
}

static int run(char **words)
{
    struct numbers numbers = { 0, strtoull(words[1], NULL, 10) };
    leat_link *link;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_link_open(scope, words[0],
                               &(leat_link_spec){ .tell = print_message, .arg = "run" }, &link);
    if (!error) {
        leat_chan *in =
            leat_generate(scope, next_number, &numbers,
                          &(leat_chan_spec){ .item_size = sizeof(uint64_t), .capacity = 256 });
        leat_chan *out = leat_remote(scope, in,
                                     &(leat_remote_spec){ .link = link,
                                                          .stage = "collatz",
                                                          .run = "example",
                                                          .n = 64,
                                                          .in_size = sizeof(uint64_t),
                                                          .out_size = sizeof(struct result),
                                                          .failing = LEAT_FAIL_TELLS });
        error = take_results(out, numbers.end);
    }
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    return error;
}

static int both(void *arg)
{
    char **words = arg;
    return strcmp(words[1], "work") == 0 ? work(words + 2) : run(words + 2);
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[1], "work") != 0 && strcmp(argv[1], "run") != 0)) {
        fprintf(stderr, "usage: cluster work URL PLACES | cluster run URL ITEMS\n");
        return 2;
    }
    int error = leat_main(both, argv);
    if (error)
        fprintf(stderr, "cluster %s: %s\n", argv[1], strerror(-error));
    return error != 0;
}
