/* goal.h: the amount to digest, as far as it is known, to estimate the remaining time.
 *
 * The producer counts the files that it sends off. It runs ahead of the digesters, so the total is
 * known at the latest when it ends. The number of files is known earlier if the command line names
 * them all; with check lists it is estimated from how much of the lists has been read. A file that
 * is not sent off yet is assumed to be as long as those before it on average.
 *
 * The producer writes it, the collector reads it. The atomics are relaxed: each is used by itself,
 * and it does no harm to show it a moment too early or too late. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct goal {
    bool wanted;                       /* otherwise nothing is counted */
    atomic_uint_fast64_t files, bytes; /* sent off */
    atomic_uint_fast64_t all_files;    /* 0: not known */
    atomic_bool unsized;               /* the length of some files is not known */
};

/* Counts one more file that is sent off; `about` is NULL if the system does not know it. */
void goal_add(struct goal *g, const struct stat *about);

/* Sets the number of all files. */
void goal_set(struct goal *g, uint64_t files);

/* Estimates it: the first `done` of all `all` bytes of the lists name the files sent off so far. */
void goal_guess(struct goal *g, uint64_t done, uint64_t all);

/* Called when all files have been sent off. */
void goal_end(struct goal *g);

/* The bytes of all files; 0 if not known. */
double goal_bytes(const struct goal *g);
