/* explicit_done: early_stop and merge as one writes them in Go: with a channel `done`. Every stage
 * selects on it with every send, and closing it tells all stages to stop.
 *
 * Compare early_stop.c, where a scope stops the stages: they are those of stages.h, know nothing
 * of stopping, and cannot forget a select. */
#include <leat/leat.h>

#include <stdio.h>

enum { SQUARERS = 2 };

struct link {
    leat_chan *done, *in, *out;
};

/* Sends n; returns 0 if the stage has to stop instead. */
static int send_unless_done(const struct link *link, const int *n)
{
    leat_case cases[] = { LEAT_SEND(link->out, n), LEAT_RECV(link->done, NULL) };
    return leat_select(cases, 2, LEAT_NEVER) == 0;
}

/* Sends numbers without end. */
static int count(void *arg)
{
    struct link *link = arg;
    for (int n = 2; send_unless_done(link, &n); n++)
        continue;
    return leat_close(link->out);
}

static int square(void *arg)
{
    struct link *link = arg;
    for (int n; leat_recv(link->in, &n) == 0;) {
        n *= n;
        if (!send_unless_done(link, &n))
            break;
    }
    return leat_chan_done(link->out);
}

static int run(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *done = leat_chan_make(s, 0, 0);
    leat_chan *numbers = leat_chan_of(s, int, 0), *squares = leat_chan_of(s, int, 0);
    leat_chan_senders(squares, SQUARERS);
    leat_go(s, count, &(struct link){ .done = done, .out = numbers });
    struct link link = { done, numbers, squares };
    for (int i = 0; i < SQUARERS; i++)
        leat_go(s, square, &link);

    int first;
    if (leat_recv(squares, &first) == 0)
        printf("one of the first squares is %s\n", first == 4 || first == 9 ? "4 or 9" : "wrong");
    leat_close(done);
    int result = leat_scope_close(s); /* it would hang if a stage did not stop */
    printf("all stages have ended\n");
    return result;
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
