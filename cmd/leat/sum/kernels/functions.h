/* functions.h: the kernels. A name has the digest, the number of vectors, and the messages in each
 * vector. Before a call, the caller makes sure that the processor has such vectors. */
#pragma once

#include "kernels.h"
#include "nodes.h"

lane_run_fn md5_1x1, md5_2x1, md5_1x4, md5_2x4, md5_1x8, md5_2x8, md5_1x16, md5_2x16;
lane_run_fn sha1_1x4, sha1_1x8, sha1_1x16;
lane_run_fn sha256_1x4, sha256_1x8, sha256_1x16;
node_run_fn blake3_1x1, blake3_1x4, blake3_1x8, blake3_1x16;

extern const uint32_t sha256_constants[64];

/* Whether the processor has the vectors that ways with this name need. */
bool has_vectors(const char *name);
