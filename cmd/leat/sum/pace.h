/* pace.h: finds by trial how many readers a disk should have at a time.
 *
 * A disk's description of itself cannot be trusted, and the speed of one reader does not show that
 * of two. So, while files wait to be read, a second reader is let in for a moment. It stays if both
 * together get clearly more bytes; on a disk that is faster than any rotational one, also if they
 * get no fewer. Then the number is doubled as long as that succeeds, and halved now and then. A
 * trial costs a rotational disk some 50 ms. The first trial comes after half a second, or at once
 * if one reader gets more than a rotational disk can give. Each trial that fails doubles the time
 * until the next.
 *
 * These functions only calculate: the caller reports what was read, and applies the limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    unsigned limit;  /* readers at a time */
    unsigned before; /* during a trial, the limit before it; else 0 */
    bool climbs;     /* the last trial was of a higher limit, and gained something */
    bool lowers;     /* the next trial is of a lower limit, if possible */
    bool started;
    int64_t last;   /* the time of the last read */
    int64_t since;  /* the time from which bytes are counted */
    uint64_t bytes; /* read since then */
    double rate;    /* bytes per nanosecond, before the trial */
    int64_t next;   /* the earliest time of the next trial */
    int64_t pause;  /* nanoseconds from one trial to the next */
};

/* Starts with a limit of 1. */
void pace_open(struct pace *p);

/* Reports that at `now`, in nanoseconds, one of `busy` readers has read `bytes`, and `waiting` more
 * readers wait. May change the limit. */
void pace_read(struct pace *p, int64_t now, size_t bytes, unsigned busy, unsigned waiting);
