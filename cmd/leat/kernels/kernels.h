/* kernels.h: MD5, SHA-1 and SHA-2 of many messages at once, one in each lane of a core's vector registers.
 *
 * A message cannot go faster than its steps follow each other; sixteen that have nothing to do with
 * each other take no longer than one. So lanes are what is kept busy here: the states of the
 * messages stand side by side, those that are at work in lanes 0 to n - 1, and a kernel takes all of
 * them forward by the same number of blocks. Whoever has the lanes puts the next message into a lane
 * whose own has ended, or moves the last one there.
 *
 * A `struct lane_digest` and a `struct lane_way` are rows of constant tables: a digest, and its kernels
 * for one kind of vector register. All of them give the same bytes, and a lane may go from any to any
 * other between two runs. */
#ifndef LEAT_CMD_KERNELS_KERNELS_H
#define LEAT_CMD_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LANE_BLOCK = 64, /* bytes that are digested at a time */
    LANE_PAD = 128,  /* room for what lane_pad adds, at most */
    LANE_MOST = 32,  /* of the widest kernel */
    LANE_WORDS = 8,  /* of the longest state */
};

struct lane_states {
    uint32_t word[LANE_WORDS][LANE_MOST];
};

/* Takes every lane of the kernel forward by `blocks` whole blocks, each from its place in `in`. */
typedef void lane_run_fn(struct lane_states *states, const unsigned char *const *in, size_t blocks);

struct lane_kernel {
    unsigned lanes;
    lane_run_fn *run;
};

/* `worth` is the least number of messages at work for which the kernels are faster than libcrypto
 * with one message after the other: on a processor without instructions for SHA, and on one with them.
 * 0 where they never are. */
struct lane_way {
    const char *name;
    unsigned lanes;                    /* of its widest kernel, */
    const struct lane_kernel *kernels; /* which is the last; each is wider than the one before */
    unsigned worth[2];
};

struct lane_digest {
    size_t size;                /* bytes of a digest: the state's first */
    unsigned words;             /* of the state */
    bool big;                   /* words begin with their highest byte */
    uint32_t first[LANE_WORDS]; /* the state before the first block */
    const struct lane_way *ways;
};

extern const struct lane_digest lane_md5, lane_sha1, lane_sha224, lane_sha256;

/* The ways that this processor knows, the fastest first; NULL after the last. */
const struct lane_way *lane_way_at(const struct lane_digest *d, size_t i);

/* Of these the first that is worth it for any number of messages, or NULL. */
const struct lane_way *lane_way_best(const struct lane_digest *d);

/* The way's `worth` on this processor. */
unsigned lane_way_worth(const struct lane_way *way);

/* The kernel for so many lanes at work. It may have fewer: the others wait then. */
const struct lane_kernel *lane_kernel_for(const struct lane_way *way, unsigned active);

/* Runs a kernel with only the first `active` of its lanes at work. `in` has room for LANE_MOST. */
void lane_run(const struct lane_kernel *k, struct lane_states *states, const unsigned char **in,
              unsigned active, size_t blocks);

/* A lane's message begins, moves to another lane, has ended: `digest` takes as many bytes as it has. */
void lane_begin(const struct lane_digest *d, struct lane_states *states, unsigned lane);
void lane_move(struct lane_states *states, unsigned to, unsigned from);
void lane_end(const struct lane_digest *d, const struct lane_states *states, unsigned lane,
              unsigned char *digest);

/* Ends the last bytes of a message of `total` bytes, the `len` at `tail`, with the padding that
 * makes them whole blocks. Returns how many bytes they are then. */
size_t lane_pad(const struct lane_digest *d, unsigned char *tail, size_t len, uint64_t total);

#endif
