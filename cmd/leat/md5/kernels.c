/* kernels.c: what every processor has: plain words, and vectors of 16 bytes (SSE2, NEON). */

#define KERNEL md5_1x1
#define SETS 1
#define WIDTH 1
#include "kernel.h"

#define KERNEL md5_2x1
#define SETS 2
#define WIDTH 1
#include "kernel.h"

#define KERNEL md5_1x4
#define SETS 1
#define WIDTH 4
#include "kernel.h"

#define KERNEL md5_2x4
#define SETS 2
#define WIDTH 4
#include "kernel.h"
