/* early_stop: take one value and leave. The stages before it wait to send values that no one
 * will receive. Cancelling the scope ends those waits, and closing it joins the tasks. There is
 * no "done" channel, and no buffer that must be just large enough. */
#include "stages.h"

#include <stdio.h>

/* Sends numbers without end, until a send fails because the scope is cancelled. */
static int count_from_two(void *arg)
{
    struct link *link = arg;
    int error = 0;
    for (int n = 2; !error; n++)
        error = leat_send(link->out, &n);
    return error;
}

static int early_stop(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *numbers = leat_chan_of(s, int, 0), *squared = leat_chan_of(s, int, 0);
    leat_go(s, count_from_two, &(struct link){ .out = numbers });
    leat_go(s, square, &(struct link){ numbers, squared });

    int first;
    if (leat_recv(squared, &first) == 0)
        printf("%d\n", first);
    printf("%zu tasks left behind\n", leat_scope_tasks(s));

    leat_scope_cancel(s);
    leat_shield(); /* so that it can sleep in the cancelled scope */
    while (leat_scope_tasks(s) > 0)
        leat_sleep(LEAT_MS);
    leat_unshield();
    printf("%zu tasks after the cancel\n", leat_scope_tasks(s));
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(early_stop, NULL) < 0;
}
