/* rng.h: random numbers, by Steele, Lea and Flood's SplitMix64 ("Fast Splittable Pseudorandom
 * Number Generators", OOPSLA 2014). One state per thread; no locking. */
#pragma once

#include <stdint.h>

static inline uint64_t lt_rng_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A number below `bound`, which is 1 or more. Each is equally likely, up to 2^-32: Lemire's
 * multiply and shift. */
static inline uint32_t lt_rng_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((lt_rng_next(state) >> 32) * bound) >> 32);
}
