/* transform.h: what the ready-made transforms and their compositions share. */
#pragma once

#include <leat/transform.h>

#include <stdbool.h>

/* Shared by the steps of one operator, however its transform is composed, or by those of one input
 * of a pipeline's stage. */
struct lt_passage {
    leat_drop_fn *drop; /* of inputs that are left out; may be NULL */
    int failure;        /* the first error that a `failed` function returned */
    bool taken;         /* an inner step failed: the input has been passed on */
    bool enough;        /* the output ends, although the step behind the last item failed */
};

struct leat_emit {
    int (*put)(leat_emit *emit, const void *item);
    struct lt_passage *passage;
    bool inner; /* the step's inputs are outputs of another step */
};

typedef int lt_step_fn(leat_transform *t, const void *item, leat_emit *emit);

/* Makes a transform at the head of `bytes` bytes, with the rest zeroed. Its `free` is lt_free. NULL
 * when the sizes are wrong or memory has run out. */
void *lt_transform_make(size_t bytes, size_t in_size, size_t out_size, size_t most,
                        lt_step_fn *step);

/* A step has failed: calls the transform's `failed`. Returns its result, or `error` if there is
 * none. */
int lt_transform_failed(leat_transform *t, int error, const void *item, leat_emit *emit);

/* The step of leat_take(size, 0), and of what is made of it: the output ends before the first
 * input. */
int lt_transform_take_none(leat_transform *t, const void *item, leat_emit *emit);
