/* tally.h: counts the jobs that have ended, and how, and how long the successful ones took. */
#pragma once

#include "map/plan.h"

enum { TALLY_CLASSES = 64 * 16 }; /* of durations: 16 for each power of two */

struct tally {
    uint64_t started, running, succeeded, failed;
    uint64_t passed; /* skipped by --resume */
    uint64_t durations[TALLY_CLASSES];
};

/* Counts a job that has succeeded after `duration` nanoseconds. */
void tally_succeeded(struct tally *t, int64_t duration);

/* The median duration of successful jobs, at most a sixteenth too long; 0: fewer than 10 have
 * succeeded. */
int64_t tally_median(const struct tally *t);

/* Whether the run has reached the goal of --halt. */
bool tally_reached(const struct tally *t, const struct halt *h);
