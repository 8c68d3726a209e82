/* since.h: since when blocks and callbacks wait, while somebody has asked for it: LT_PROBE_WAITS.
 *
 * They have no room for a time, so it stands beside them, in a table by address. An entry is made before the
 * party can be claimed, and taken out before it goes on: so there is one only while the party waits, or is ready,
 * and an address that is used again finds none. Where there was no memory, or nobody had asked yet when the wait
 * began, there is none either: nothing is told then, rather than something false.
 *
 * The table is in shards, each with a lock that comes after all others: a channel's or a scope's may be held. It
 * grows to 64 bytes at the most for each that waits at once, and keeps them until the runtime stops. */
#ifndef LT_WATCH_SINCE_H
#define LT_WATCH_SINCE_H

#include "sched/party.h"

#include <stddef.h>
#include <stdint.h>

/* Since when it waits; 0: not known. lt_probe_wait and lt_probe_wait_over, which write it, are in sched/probe.h. */
int64_t lt_since(const struct lt_party *party);

/* How many entries there are. And frees all, when nobody waits any more. */
size_t lt_since_count(void);
void lt_since_end(void);

#endif
