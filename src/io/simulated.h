/* simulated.h: pipes and socket pairs that exist in a seeded world only (leat/sim.h).
 *
 * Both ends are leat_ios of the kind LT_IO_SIMULATED. A transfer calls a function here instead of
 * the system. A call on one end raises the channels of the other, as the reactor does for
 * descriptors. The rest of a leat_io is the same.
 *
 * The world's seed chooses each capacity, which transfers are short, which bytes come late and how
 * late, and which transfer meets a reset.
 *
 * Locking. None: a world belongs to one thread. Outside of their world the ends can only be closed,
 * by one thread at a time. */
#pragma once

#include "io/io.h"

/* Connects two new leat_ios: both ways, or from ends[1] to ends[0] only. 0 or -ENOMEM. */
int lt_simulated_connect(leat_io *ends[2], bool both_ways);

/* As readv(2), writev(2), poll(2) without a wait, and shutdown(2). lt_simulated_ask returns LEAT_IN
 * and so on. The others return a count or 0. All return -EINVAL outside of a world, and other
 * negative errno values. */
int64_t lt_simulated_read(leat_io *io, const struct iovec *parts, int n);
int64_t lt_simulated_write(leat_io *io, const struct iovec *parts, int n);
int lt_simulated_ask(leat_io *io, unsigned events);
int lt_simulated_shutdown(leat_io *io, int how);

/* Called once, after all other calls for this end. */
void lt_simulated_close(leat_io *io);
