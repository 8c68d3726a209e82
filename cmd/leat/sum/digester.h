/* digester.h: a digester takes files from the flow, and hands them over with their digests.
 *
 * It digests one file at a time through hashers (digester.c), or many files at once in lanes
 * (lanes.c). It hands over finished slots many at a time, but always before anything that may take
 * long. */
#pragma once

#include "hashers.h"
#include "reading.h"

struct digester {
    struct flow *flow;
    struct hashers hashers;
    unsigned char *chunk;
    struct chain finished;
    int64_t handed_over; /* the time, as in leat_now */
    struct turn turn;
};

/* digester_hand_over hands over the finished slots; digester_hand_over_when_due only if there are
 * many, or they have waited. 0 or -ECANCELED. */
int digester_hand_over(struct digester *d);
int digester_hand_over_when_due(struct digester *d);

/* Reads, digests and closes an open file; `read` reads its first bytes. The slot gets the file's
 * errors. Returns 0, or why the slot is not finished: -ECANCELED, or READING_LATER, which leaves
 * the file open. */
int digester_digest(struct digester *d, struct reading *r, reading_fn *read);

/* Closes the file and finishes its slot. 0, or -ECANCELED if that is the error: then it does not
 * finish the slot. */
int digester_end(struct digester *d, struct reading *r, int error);

/* Adds the slot to the finished ones. `error`: 0, READING_KNOWN, or a negative errno value. */
void digester_finish(struct digester *d, struct slot *s, int error);

/* Digests all files, many at a time. 0, -ECANCELED or -ENOMEM. */
int lanes_work(struct digester *d);
