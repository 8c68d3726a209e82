/* pace.h: how many may read from a disk at a time, found out by trying.
 *
 * A disk's word is not to be believed, and the speed of one reader does not tell that of two. So a
 * second reader is let in for a moment while files wait to be read, and it stays if both together
 * get clearly more bytes. Then twice as many are tried, as long as that gains something, and half
 * as many now and then. A disk that turns loses some 50 ms by a trial. The first trial comes after
 * half a second, or at once where one reader gets more than a disk that turns can give. After each
 * trial that fails the next one takes twice as long to come.
 *
 * This room only calculates: it is told what was read, and says what the limit is. */
#ifndef LEAT_CMD_PACE_H
#define LEAT_CMD_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    unsigned limit;  /* readers at a time; */
    unsigned before; /* while another limit is tried, that before; else 0 */
    bool climbs;     /* the last trial was of a higher limit, and gained something */
    bool falls;      /* the next trial is of a lower limit, if it can be */
    bool started;
    int64_t last;   /* when something was read, */
    int64_t since;  /* since when bytes are counted, */
    uint64_t bytes; /* and how many there are */
    double rate;    /* bytes per nanosecond, before the trial */
    int64_t next;   /* when there may be a trial */
    int64_t pause;  /* from one that failed to the next */
};

/* The limit is 1. */
void pace_open(struct pace *p);

/* At `now`, in nanoseconds, the disk has given so many bytes to one of `busy` readers, and
 * `waiting` more want to be let in. The limit may be another afterwards. */
void pace_read(struct pace *p, int64_t now, size_t bytes, unsigned busy, unsigned waiting);

#endif
