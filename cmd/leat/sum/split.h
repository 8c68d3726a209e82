/* split.h: one long file on several cores, by BLAKE3: its subtrees (blake3.h) are digested by as
 * many parties as there are idle cores.
 *
 * The digester of the file works, too, and has helpers, which are tasks on threads of their own.
 * flow.busy counts digesters that work, and helpers; there are no more than flow.jobs. If a
 * digester gets a file and all cores are busy, a helper leaves. */
#ifndef LEAT_CMD_SPLIT_H
#define LEAT_CMD_SPLIT_H

#include "blake3.h"
#include "reading.h"

/* Called after the first `begun` bytes of the file were read and added to `b`. Where it is worth
 * the while, begins again, adds what can be added so, and leaves the file behind that. What is left
 * is read and added as ever: the end, a part that only a turn can read, what cannot be read.
 * `buffer` has `room` bytes. Returns 0, -ECANCELED, or a negative errno value. */
int split_digest(struct flow *f, const struct reading *r, struct blake3 *b, size_t begun,
                 unsigned char *buffer, size_t room);

#endif
