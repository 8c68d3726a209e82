/* explicit_done: early_stop and merge as Go writes them: a channel `done`, which every stage selects on
 * beside every send, and whose closing tells all of them to stop.
 *
 * Beside early_stop.c it shows what a scope saves: there the stages are those of stages.h and know nothing of being
 * stopped, and nobody can forget a select. */
#include <leat/leat.h>

#include <stdio.h>

enum { SQUARERS = 2 };

struct link {
    leat_chan *done, *in, *out;
};

/* Sends, unless told to stop; false: told to stop. */
static int send_unless_done(const struct link *link, const int *n)
{
    leat_case cases[] = { LEAT_SEND(link->out, n), LEAT_RECV(link->done, NULL) };
    return leat_select(cases, 2, LEAT_NEVER) == 0;
}

/* Numbers without end. */
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
    int result = leat_scope_close(s); /* joins: it would hang if a stage had not heard */
    printf("all stages have ended\n");
    return result;
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
