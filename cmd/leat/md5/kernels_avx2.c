/* kernels_avx2.c: compiled for processors with AVX2. */

#define KERNEL md5_1x8
#define SETS 1
#define WIDTH 8
#include "kernel.h"

#define KERNEL md5_2x8
#define SETS 2
#define WIDTH 8
#include "kernel.h"
