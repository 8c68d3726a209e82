/* avx2.c: compiled for processors with AVX2. */

#define SETS 1
#define WIDTH 8
#include "width.h"

#define SETS 2
#define WIDTH 8
#include "width.h"
