/* merge: fan-out and fan-in. Two squarers receive from one channel and send to another. That
 * channel counts its senders and closes itself when the last of them is done, so no task has to
 * wait for both to close it. */
#include <leat/leat.h>

#include <stdio.h>

struct link {
    leat_chan *in, *out;
};

static int generate(void *arg)
{
    struct link *link = arg;
    for (int n = 2; n <= 3; n++)
        if (leat_send(link->out, &n) < 0)
            break;
    return leat_close(link->out);
}

static int square(void *arg)
{
    struct link *link = arg;
    for (int n; leat_recv(link->in, &n) == 0;) {
        n *= n;
        if (leat_send(link->out, &n) < 0)
            break;
    }
    return leat_chan_done(link->out);
}

static int merge(void *arg)
{
    (void)arg;
    enum { SQUARERS = 2 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *numbers = leat_chan_of(s, int, 0), *squares = leat_chan_of(s, int, 0);
    leat_chan_senders(squares, SQUARERS);
    leat_go(s, generate, &(struct link){ .out = numbers });
    struct link link = { numbers, squares };
    for (int i = 0; i < SQUARERS; i++)
        leat_go(s, square, &link);
    for (int n; leat_recv(squares, &n) == 0;)
        printf("%d\n", n); /* 4 and 9, in either order */
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(merge, NULL) < 0;
}
