/* queue.c: replaces map/queue.c and worker/take.c in a command without libleat-link. That command
 * refuses all addresses of queues (shared/queue.c), so these functions are never called. */
#include "worker/queue.h"
#include "map/host.h"
#include "worker/worker.h"

#include <errno.h>

void queue_serve(struct host *host, unsigned places)
{
    (void)host;
    (void)places;
}

int queue_pack(struct remote *remote, const struct job *job, const struct text *strings,
               size_t count)
{
    (void)remote;
    (void)job;
    (void)strings;
    (void)count;
    return -ENOTSUP;
}

void queue_give(struct remote *remote)
{
    (void)remote;
}

void queue_signal(struct remote *remote, int signal, bool ends)
{
    (void)remote;
    (void)signal;
    (void)ends;
}

int taker_run(struct taker *taker)
{
    (void)taker;
    return WORKER_TROUBLE;
}
