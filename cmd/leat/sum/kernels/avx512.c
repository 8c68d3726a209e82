/* avx512.c: compiled for processors with AVX-512. */

#define SETS 1
#define WIDTH 16
#include "width.h"

#define SETS 2
#define WIDTH 16
#include "width.h"
