/* single.h: libcrypto's compression functions as kernels with one lane. They are for a few lanes at
 * work, whose messages end sooner one after the other. */
#ifndef LEAT_CMD_SINGLE_H
#define LEAT_CMD_SINGLE_H

#include "kernels/kernels.h"

extern const struct lane_kernel single_sha1, single_sha256;

#endif
