/* split.h: one long file on several cores, by BLAKE3: its subtrees (blake3.h) are digested by as
 * many parties as there are idle cores.
 *
 * The digester of the file works, too, and has helpers, which are tasks with their own threads.
 * flow.busy counts digesters that work, and helpers; there are no more than flow.jobs. If a
 * digester gets a file and all cores are busy, a helper leaves. */
#pragma once

#include "blake3.h"
#include "reading.h"

/* Called after the first `begun` bytes of the file were read and added to `b`. If it pays, begins
 * again, adds whole subtrees, and leaves the file's position after them. The rest is read and added
 * in the usual way: the end, a part that only a turn can read, or unreadable bytes. `buffer` has
 * `room` bytes. Returns 0, -ECANCELED, or a negative errno value. */
int split_digest(struct flow *f, const struct reading *r, struct blake3 *b, size_t begun,
                 unsigned char *buffer, size_t room);
