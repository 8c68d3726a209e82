/* kernels_avx512.c: compiled for processors with AVX-512. */

#define KERNEL md5_1x16
#define SETS 1
#define WIDTH 16
#include "kernel.h"

#define KERNEL md5_2x16
#define SETS 2
#define WIDTH 16
#include "kernel.h"
