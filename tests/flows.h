/* flows.h: what the tests of operators share; their items are ints. */
#pragma once

#include "support.h"

/* A leat_test_fn. */
static inline int is_odd(void *arg, const void *item)
{
    (void)arg;
    return *(const int *)item % 2 != 0;
}

/* Receives the next item, which must be x. */
static inline void expect(leat_chan *ch, int x)
{
    int got = -1;
    CHECK_IS(0, leat_recv_until(ch, &got, leat_after(60 * LEAT_S)));
    CHECK_IS(x, got);
}
