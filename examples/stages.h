/* stages.h: the stages that the small examples are put together from. A stage reads from `in`, writes
 * to `out`, closes `out` when it will send no more, and stops when its scope is cancelled. */
#ifndef EXAMPLES_STAGES_H
#define EXAMPLES_STAGES_H

#include <leat/leat.h>

struct link {
    leat_chan *in, *out;
};

/* Sends 2 and 3. */
__attribute__((unused)) static int generate(void *arg)
{
    struct link *link = arg;
    int error = 0;
    for (int n = 2; n <= 3 && !error; n++)
        error = leat_send(link->out, &n);
    leat_close(link->out);
    return 0;
}

/* Squares what comes. */
static int square(void *arg)
{
    struct link *link = arg;
    int error = 0;
    for (int n; !error && leat_recv(link->in, &n) == 0;) {
        n *= n;
        error = leat_send(link->out, &n);
    }
    leat_close(link->out);
    return 0;
}

#endif
