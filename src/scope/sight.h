/* sight.h: how a look (watch/look.h) sees what a room makes that the look's room may not include: a
 * descriptor, a batcher. That room fills in a sight, by a function in its lt_owned_kind or its
 * lt_keeper. What a sight points to lives as long as the thing. */
#ifndef LT_SCOPE_SIGHT_H
#define LT_SCOPE_SIGHT_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lt_sight_kind { LT_SEES_DESCRIPTOR, LT_SEES_BATCHER };

struct lt_sight {
    enum lt_sight_kind kind;
    const void *self;
    const leat_scope *scope; /* or NULL */
    const char *name;        /* or NULL */
    bool closed;
    /* Of a descriptor. */
    int fd;             /* negative: it is simulated */
    leat_chan *ways[2]; /* on which parties wait to read, and to write; NULL: none has yet */
    /* Of a batcher. */
    size_t forming, running; /* batches */
    uint64_t batches, items; /* that have begun */
    /* The nodes of lists that the function may pass, and, when it returns, those that are left. At
     * 0 it has not counted all. */
    size_t steps;
};

#endif
