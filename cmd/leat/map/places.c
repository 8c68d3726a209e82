/* places.c: places for jobs: each is a number, and belongs to a machine. */
#include "map/host.h"

#include <errno.h>

struct host *place_host(const struct run *run, unsigned place)
{
    return run->host_of ? run->host_of[place] : NULL;
}

static bool is_good(struct run *run, unsigned place)
{
    struct host *host = place_host(run, place);
    return !host || !host_is_lost(host);
}

/* No machine is left, or it would not have been closed. */
static int give_up(struct run *run)
{
    if (end_run(run, false, 0, EXIT_TROUBLE))
        streams_say(&run->streams, "no machine is left to run commands");
    return -ECANCELED;
}

int place_take_free(struct run *run, unsigned *place)
{
    int error;
    do
        error = leat_recv(run->places, place);
    while (!error && !is_good(run, *place));
    return error == -EPIPE ? give_up(run) : error;
}

int place_take(struct run *run, unsigned *place)
{
    leat_case cases[] = { LEAT_RECV(run->places, place), LEAT_RECV(run->lend, place),
                          LEAT_RECV(run->stopping, NULL) };
    for (;;) {
        int got = leat_select(cases, 3, LEAT_NEVER);
        if (got == 0 && cases[0].status == -EPIPE)
            return give_up(run);
        if (got != 0 && got != 1)
            return -ECANCELED;
        if (is_good(run, *place))
            return 0;
    }
}

void place_give_back(struct run *run, unsigned *place)
{
    if (*place && is_good(run, *place))
        leat_send(run->places, place);
    *place = 0;
}

unsigned places_add(struct run *run, struct host *host, unsigned n)
{
    unsigned added = 0;
    pthread_mutex_lock(&run->lock);
    for (; added < n && run->place_count < JOBS_MOST; added++) {
        unsigned place = ++run->place_count;
        if (host)
            run->host_of[place] = host;
        leat_try_send(run->places, &place);
    }
    pthread_mutex_unlock(&run->lock);
    return added;
}
