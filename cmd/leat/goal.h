/* goal.h: how much there is to digest, as far as that is known, for telling how long it will take.
 *
 * The producer counts what it sends off, and it runs ahead; so the whole is known at the latest
 * when it is through. Of files on the command line the number is known before, and of check lists
 * it follows from how much of them has been read; their bytes are taken to be on average those of
 * the files sent off by then.
 *
 * The producer writes it, the collector reads it. The atomics are relaxed: each is a figure on its own, and
 * what is shown a moment too early or too late harms nobody. */
#ifndef LEAT_CMD_GOAL_H
#define LEAT_CMD_GOAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct goal {
    bool wanted;                       /* else nobody looks at it, and it costs nothing */
    atomic_uint_fast64_t files, bytes; /* sent off */
    atomic_uint_fast64_t all_files;    /* 0: not known */
    atomic_bool unsized;               /* of some, nobody knows how long they are */
};

/* One more file is sent off; `about` is NULL when the system does not tell of it. */
void goal_add(struct goal *g, const struct stat *about);

/* There are so many in all. */
void goal_set(struct goal *g, uint64_t files);

/* Those sent off stand in the first `done` bytes of lists that have `all`. */
void goal_guess(struct goal *g, uint64_t done, uint64_t all);

/* There are no more than were sent off. */
void goal_end(struct goal *g);

/* How many bytes there are in all; 0 when that is not known. */
double goal_bytes(const struct goal *g);

#endif
