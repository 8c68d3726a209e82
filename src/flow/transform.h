/* transform.h: what the ready-made transforms and their compositions share. */
#ifndef LT_FLOW_TRANSFORM_H
#define LT_FLOW_TRANSFORM_H

#include <leat/transform.h>

#include <stdbool.h>

/* What the steps of one operator share, however its transform is composed. */
struct lt_passage {
    leat_drop_fn *drop; /* for inputs that are left out; may be NULL */
    int failure;        /* the first error that a `failed` function returned */
    bool taken;         /* the step that failed was an inner one: the input is another's by now */
};

struct leat_emit {
    int (*put)(leat_emit *emit, const void *item);
    struct lt_passage *passage; /* NULL in a pipeline's stage */
    bool inner;                 /* the step's inputs are outputs of another step */
};

typedef int lt_step_fn(leat_transform *t, const void *item, leat_emit *emit);

/* Makes a transform at the head of `bytes` bytes, with the rest zeroed. Its `free` is lt_free. NULL
 * when the sizes are wrong or memory has run out. */
void *lt_transform_make(size_t bytes, size_t in_size, size_t out_size, size_t most,
                        lt_step_fn *step);

/* A step has failed: asks the transform's `failed`. Returns what that returns, or the error. */
int lt_transform_failed(leat_transform *t, int error, const void *item, leat_emit *emit);

#endif
