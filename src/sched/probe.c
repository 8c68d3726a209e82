#include "sched/probe.h"

/* Functions, and not calls through the table at each place: the fast paths keep their registers. */

_Atomic unsigned lt_probe_flags;
const struct lt_observer *lt_observer;

void lt_probe_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to)
{
    lt_observer->switches(worker, from, to);
}

void lt_probe_wait(const struct lt_party *party)
{
    lt_observer->wait(party);
}

void lt_probe_wait_over(const struct lt_party *party)
{
    lt_observer->wait_over(party);
}

void lt_probe_step(struct lt_worker *worker, const struct lt_party *party)
{
    lt_observer->step(worker, party);
}

void lt_probe_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner)
{
    lt_observer->items(channel, sent, n, partner);
}

void lt_probe_new_channel(uint32_t channel, const char *name)
{
    lt_observer->new_channel(channel, name);
}

void lt_probe_scope(uint32_t scope, bool opened)
{
    lt_observer->scope(scope, opened);
}
