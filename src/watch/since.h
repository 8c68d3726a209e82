/* since.h: the times at which blocks and callbacks began to wait, if LT_PROBE_WAITS is set.
 *
 * Blocks and callbacks have no room for a time, so a table holds it by address. An entry is made
 * before the party can be claimed, and taken out before the party resumes. So there is an entry
 * only while the party waits or is ready, and an address that is reused finds none. If there was no
 * memory, or the wait began before LT_PROBE_WAITS was set, there is no entry: a dump then prints no
 * time rather than a false one.
 *
 * The table is in shards. Each has a lock that comes after all other locks: a caller may hold a
 * channel's or a scope's. The table grows to at most 64 bytes for each party that waits at the same
 * time, and keeps this memory until the runtime stops. */
#pragma once

#include "sched/party.h"

#include <stddef.h>
#include <stdint.h>

/* The observer's functions, which write the table: see sched/probe.h. */
void lt_since_wait(const struct lt_party *party);
void lt_since_wait_over(const struct lt_party *party);

/* The time at which the party began to wait; 0: not known. */
int64_t lt_since(const struct lt_party *party);

/* The number of entries. lt_since_end frees all of them, when no party waits any more. */
size_t lt_since_count(void);
void lt_since_end(void);
