/* single.h: libcrypto's compression for the first lane alone, as kernels: for when so few lanes are at
 * work that their messages are done sooner one after the other. */
#ifndef LEAT_CMD_SINGLE_H
#define LEAT_CMD_SINGLE_H

#include "kernels/kernels.h"

extern const struct lane_kernel single_sha1, single_sha256;

#endif
