/* kernels.h: MD5, SHA-1 and SHA-2 of many messages at once, one in each lane of vector registers.
 *
 * In one message each step waits for the step before, so sixteen messages side by side take no
 * longer than one. The states of the messages at work are in lanes 0 to n - 1, and a kernel takes
 * all of them forward by the same number of blocks. When a message ends, the owner of the lanes
 * starts the next one in its lane, or moves the last one there.
 *
 * A `struct lane_digest` is a digest; a `struct lane_way` is its kernels for one kind of vector
 * register. Both are rows of constant tables. All kernels of a digest give the same result, and
 * between two runs a lane may change from any kernel to any other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LANE_BLOCK = 64, /* bytes that are digested at a time */
    LANE_PAD = 128,  /* bytes that lane_pad writes, at most */
    LANE_MOST = 32,  /* lanes of the widest kernel */
    LANE_WORDS = 8,  /* words of the longest state */
};

struct lane_states {
    uint32_t word[LANE_WORDS][LANE_MOST];
};

/* Takes every lane of the kernel forward by `blocks` whole blocks; lane i reads from in[i]. */
typedef void lane_run_fn(struct lane_states *states, const unsigned char *const *in, size_t blocks);

struct lane_kernel {
    unsigned lanes;
    lane_run_fn *run;
};

/* `worth`: the number of messages at work from which the kernels are faster than libcrypto, which
 * takes one message at a time; worth[1] on a processor with SHA instructions, worth[0] on others.
 * 0: they never are. */
struct lane_way {
    const char *name;
    unsigned lanes;                    /* of the widest kernel */
    const struct lane_kernel *kernels; /* each wider than the one before, the widest last */
    unsigned worth[2];
};

struct lane_digest {
    size_t size;                /* bytes of a digest, the first of the state */
    unsigned words;             /* of the state */
    bool big;                   /* words are big-endian */
    uint32_t first[LANE_WORDS]; /* the state before the first block */
    const struct lane_way *ways;
};

extern const struct lane_digest lane_md5, lane_sha1, lane_sha224, lane_sha256;

/* The i-th of the ways that this processor has, the fastest first; NULL after the last. */
const struct lane_way *lane_way_at(const struct lane_digest *d, size_t i);

/* The first of these whose `worth` on this processor is not 0, or NULL. */
const struct lane_way *lane_way_best(const struct lane_digest *d);

/* The way's `worth` on this processor. */
unsigned lane_way_worth(const struct lane_way *way);

/* The kernel for this many lanes at work. If it has fewer, the other lanes wait. */
const struct lane_kernel *lane_kernel_for(const struct lane_way *way, unsigned active);

/* Runs a kernel with only its first `active` lanes at work. `in` has room for LANE_MOST. */
void lane_run(const struct lane_kernel *k, struct lane_states *states, const unsigned char **in,
              unsigned active, size_t blocks);

/* Starts a message in a lane; moves it to another lane; writes its digest, of `size` bytes. */
void lane_begin(const struct lane_digest *d, struct lane_states *states, unsigned lane);
void lane_move(struct lane_states *states, unsigned to, unsigned from);
void lane_end(const struct lane_digest *d, const struct lane_states *states, unsigned lane,
              unsigned char *digest);

/* Pads the last `len` bytes of a message, at `tail`, to whole blocks. `total`: bytes of the
 * message. Returns the bytes of the padded tail. */
size_t lane_pad(const struct lane_digest *d, unsigned char *tail, size_t len, uint64_t total);
