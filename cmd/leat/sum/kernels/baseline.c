/* baseline.c: for every processor: plain words, and vectors of 16 bytes (SSE2, NEON). */

#define SETS 1
#define WIDTH 1
#include "width.h"

#define SETS 2
#define WIDTH 1
#include "width.h"

#define SETS 1
#define WIDTH 4
#include "width.h"

#define SETS 2
#define WIDTH 4
#include "width.h"
