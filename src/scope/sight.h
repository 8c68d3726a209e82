/* sight.h: how a look (watch/look.h) sees things of rooms that the look's room may not include: a
 * descriptor, a batcher, a stage, a mutex. The thing's room fills in a sight, by a function in its
 * lt_owned_kind or its lt_keeper. The sight's pointers are valid as long as the thing exists. */
#pragma once

#include <leat/chan.h>
#include <leat/scope.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lt_sight_kind { LT_SEES_DESCRIPTOR, LT_SEES_BATCHER, LT_SEES_STAGE, LT_SEES_MUTEX };

/* The number of a stage's inputs, and of its outputs, that are reported at most. */
enum { LT_SIGHT_ENDS = 8 };

struct lt_sight {
    enum lt_sight_kind kind;
    const void *self;        /* NULL: there is nothing to see, as the stage has ended */
    const leat_scope *scope; /* or NULL */
    const char *name;        /* or NULL */
    bool closed;
    /* Of a descriptor. */
    int fd;             /* negative: it is simulated */
    leat_chan *ways[2]; /* where parties wait to read, and to write; NULL: none has waited yet */
    bool in_ring[2];    /* one more party waits elsewhere */
    /* Of a batcher. */
    size_t forming, running; /* batches; of a stage, calls of its function */
    uint64_t batches, items; /* begun so far */
    /* Of a stage, which may be an operator. */
    const char *what;                /* "pipeline", "merge": never freed */
    const void *block;               /* of an operator: its party; or NULL */
    uint32_t n, window, held;        /* of a pipeline's stage; else n is 0 */
    uint32_t in[LT_SIGHT_ENDS], ins; /* numbers of channels, and their count */
    uint32_t out[LT_SIGHT_ENDS], outs;
    /* Of a mutex: `self` is its channel, in[0] the channel's number. The channel's own record, made
     * before, becomes that of both. */
    const struct lt_party *holder; /* compared, never followed; NULL: nobody holds it */
    /* How many list nodes the function may visit, and on return, how many are left. 0: it has not
     * counted all. */
    size_t steps;
};

/* Adds an input or an output to `in` and `ins`, or to `out` and `outs`; 0 is none. */
static inline void lt_sight_end(uint32_t ends[LT_SIGHT_ENDS], uint32_t *count, uint32_t number)
{
    if (number && *count < LT_SIGHT_ENDS)
        ends[*count] = number;
    *count += number != 0;
}
