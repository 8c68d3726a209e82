/* digester.h: a digester takes files from the flow, and hands their digests over.
 *
 * One that digests a single file at a time does so through a hasher (digester.c); where the digest can
 * be had for many files at once, it has lanes (lanes.c). What was finished is handed over in runs, but
 * never waits for something that may take long. */
#ifndef LEAT_CMD_DIGESTER_H
#define LEAT_CMD_DIGESTER_H

#include "hashers.h"
#include "reading.h"

struct digester {
    struct flow *flow;
    struct hashers hashers;
    unsigned char *chunk;
    struct chain finished;
    int64_t handed_over; /* when */
    struct turn turn;
};

/* Hands over what is finished; or only when it is many, or has waited. 0 or -ECANCELED. */
int digester_hand_over(struct digester *d);
int digester_hand_over_when_due(struct digester *d);

/* Reads and digests an open file and closes it; `read` reads the first of it. What goes wrong is the slot's.
 * Returned is only why the slot is not finished: -ECANCELED; or READING_LATER, and then the file is open
 * still. */
int digester_digest(struct digester *d, struct reading *r, reading_fn *read);

/* The slot is finished, with this error, or READING_KNOWN, or 0. */
void digester_finish(struct digester *d, struct slot *s, int error);

/* All files, many at a time. 0, -ECANCELED or -ENOMEM. */
int lanes_work(struct digester *d);

#endif
