/* md5.h: MD5 (RFC 1321) of many messages at once, one in each lane of a core's vector registers.
 *
 * A message cannot go faster than its steps follow each other; sixteen that have nothing to do with
 * each other take no longer than one. So lanes are what is kept busy here: the states of the
 * messages stand side by side, those that are at work in lanes 0 to n - 1, and a kernel takes all of
 * them forward by the same number of blocks. Whoever has the lanes puts the next message into a lane
 * whose own has ended, or moves the last one there.
 *
 * A `struct md5_way` is a row of a constant table: the kernels for one kind of vector register. All of
 * them give the same bytes, and a lane may go from any to any other between two runs. */
#ifndef LEAT_CMD_MD5_H
#define LEAT_CMD_MD5_H

#include <stddef.h>
#include <stdint.h>

enum {
    MD5_SIZE = 16,  /* bytes of a digest */
    MD5_BLOCK = 64, /* bytes that are digested at a time */
    MD5_PAD = 128,  /* room for what md5_pad adds, at most */
    MD5_LANES = 32, /* of the widest kernel */
};

struct md5_states {
    uint32_t word[4][MD5_LANES];
};

/* Takes every lane of the kernel forward by `blocks` whole blocks, each from its place in `in`. */
typedef void md5_run_fn(struct md5_states *states, const unsigned char *const *in, size_t blocks);

struct md5_kernel {
    unsigned lanes;
    md5_run_fn *run;
};

struct md5_way {
    const char *name;
    unsigned lanes;                   /* of its widest kernel, */
    const struct md5_kernel *kernels; /* which is the last; each is wider than the one before */
};

/* The ways that this processor knows, the fastest first; NULL after the last. */
const struct md5_way *md5_way_at(size_t i);

/* The kernel for so many lanes at work. It may have fewer: the others wait then. */
const struct md5_kernel *md5_kernel_for(const struct md5_way *way, unsigned active);

/* Runs a kernel with only the first `active` of its lanes at work. `in` has room for MD5_LANES. */
void md5_run(const struct md5_kernel *k, struct md5_states *states, const unsigned char **in,
             unsigned active, size_t blocks);

/* A lane's message begins, moves to another lane, has ended. */
void md5_begin(struct md5_states *states, unsigned lane);
void md5_move(struct md5_states *states, unsigned to, unsigned from);
void md5_end(const struct md5_states *states, unsigned lane, unsigned char digest[MD5_SIZE]);

/* Ends the last bytes of a message of `total` bytes, the `len` at `tail`, with the padding that
 * makes them whole blocks. Returns how many bytes they are then. */
size_t md5_pad(unsigned char *tail, size_t len, uint64_t total);

#endif
