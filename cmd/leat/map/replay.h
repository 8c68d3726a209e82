/* replay.h: a job that begins again because its machine was lost: the part of its standard output
 * that is already printed must come again, byte for byte, and is not printed twice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct XXH3_state_s;

struct replay {
    struct XXH3_state_s *state; /* of the bytes of this try; NULL: not needed */
    uint64_t taken;             /* bytes of this try */
    uint64_t owed, digest;      /* the output that must come again */
    bool differs;               /* it came differently */
};

/* Called before the first try on another machine. False: no memory. */
bool replay_open(struct replay *r);
void replay_free(struct replay *r);

/* The job begins again. `printed`: its output so far is printed and must come again. */
void replay_begin(struct replay *r, bool printed);

/* Takes output of the job. Returns how many of its bytes are already printed. */
size_t replay_take(struct replay *r, const char *bytes, size_t n);

/* At the end of a try: whether the owed output has come. */
bool replay_is_whole(const struct replay *r);
