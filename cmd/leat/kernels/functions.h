/* functions.h: the kernels, named by the digest, how many vectors they work on, and how many messages
 * each of these holds. Who calls one has made sure that the processor knows such vectors. */
#ifndef LEAT_CMD_KERNELS_FUNCTIONS_H
#define LEAT_CMD_KERNELS_FUNCTIONS_H

#include "kernels.h"

lane_run_fn md5_1x1, md5_2x1, md5_1x4, md5_2x4, md5_1x8, md5_2x8, md5_1x16, md5_2x16;
lane_run_fn sha1_1x4, sha1_1x8, sha1_1x16;
lane_run_fn sha256_1x4, sha256_1x8, sha256_1x16;

extern const uint32_t sha256_constants[64];

#endif
