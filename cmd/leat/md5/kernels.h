/* kernels.h: MD5's kernels, named by how many vectors of how many messages each they work on. Who
 * calls one has made sure that the processor knows such vectors. */
#ifndef LEAT_CMD_MD5_KERNELS_H
#define LEAT_CMD_MD5_KERNELS_H

#include "md5.h"

md5_run_fn md5_1x1, md5_2x1, md5_1x4, md5_2x4, md5_1x8, md5_2x8, md5_1x16, md5_2x16;

#endif
