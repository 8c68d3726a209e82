/* replay.h: a job that begins again because its machine is lost: what is printed of its standard
 * output must come again, byte for byte, and is not printed twice. */
#ifndef LEAT_MAP_REPLAY_H
#define LEAT_MAP_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct XXH3_state_s;

struct replay {
    struct XXH3_state_s *state; /* of the bytes of this try; NULL: nobody needs them */
    uint64_t taken;             /* bytes of this try */
    uint64_t owed, digest;      /* what must come again */
    bool differs;               /* it has not */
};

/* Before the first try on another machine. False: no memory. */
bool replay_open(struct replay *r);
void replay_free(struct replay *r);

/* The job begins again. `printed`: what it has written is out and must come again. */
void replay_begin(struct replay *r, bool printed);

/* Takes what the job has written. Returns how many bytes of it are out already. */
size_t replay_take(struct replay *r, const char *bytes, size_t n);

/* At the end of a try: what was owed has come. */
bool replay_is_whole(const struct replay *r);

#endif
