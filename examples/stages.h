/* stages.h: the stages of the small examples. A stage receives from `in`, sends to `out`, closes
 * `out` when it will send no more, and ends when its scope is cancelled. */
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

/* Sends the square of each number that it receives. */
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
