/* places.c: places for jobs: each is a number, and belongs to a machine. */
#include "map/host.h"

#include <errno.h>

struct host *place_host(const struct run *run, unsigned place)
{
    return run->host_of ? run->host_of[place] : NULL;
}

bool place_is_good(struct run *run, unsigned place)
{
    struct host *host = place_host(run, place);
    return !host || !host_is_lost(host);
}

/* No machine is left, otherwise the channel would not have been closed. */
static int give_up(struct run *run)
{
    if (end_run(run, false, 0, EXIT_TROUBLE))
        streams_say(&run->streams, "no machine is left to run commands");
    return -ECANCELED;
}

/* No machine is left: reports that if there is a job for one. */
static int give_up_offers(struct run *run)
{
    struct offer offer;
    leat_case cases[] = { LEAT_RECV(run->stopping, NULL), LEAT_RECV(run->drained, NULL),
                          LEAT_RECV(run->offers, &offer) };
    if (leat_select_ordered(cases, 3, LEAT_NEVER) != 2 || cases[2].status)
        return -ECANCELED;
    offer_free(&offer);
    return give_up(run);
}

int place_take_free(struct run *run, unsigned *place)
{
    leat_case cases[] = { LEAT_RECV(run->stopping, NULL), LEAT_RECV(run->drained, NULL),
                          LEAT_RECV(run->places, place) };
    do {
        if (leat_select_ordered(cases, 3, LEAT_NEVER) != 2)
            return -ECANCELED;
        if (cases[2].status == -EPIPE)
            return give_up_offers(run);
    } while (!place_is_good(run, *place));
    return 0;
}

static int await_place(struct run *run, unsigned *place)
{
    leat_case cases[] = { LEAT_RECV(run->places, place), LEAT_RECV(run->lend, place),
                          LEAT_RECV(run->stopping, NULL) };
    for (;;) {
        int got = leat_select(cases, 3, LEAT_NEVER);
        if (got == 0 && cases[0].status == -EPIPE)
            return give_up(run);
        if (got != 0 && got != 1)
            return -ECANCELED;
        if (place_is_good(run, *place))
            return 0;
    }
}

int place_take(struct run *run, unsigned *place)
{
    atomic_fetch_add_explicit(&run->wants, 1, memory_order_relaxed); /* see next_job */
    int error = await_place(run, place);
    atomic_fetch_sub_explicit(&run->wants, 1, memory_order_relaxed);
    return error;
}

void place_give_back(struct run *run, unsigned *place)
{
    if (*place && place_is_good(run, *place))
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
