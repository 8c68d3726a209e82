/* order.h: a job as it comes from a queue. Any user with a right to write to the queue may have
 * written it. */
#pragma once

#include "link/frame.h"

struct order {
    struct text strings; /* its variables, then its arguments */
    size_t count;        /* of strings */
    bool has_input;
    struct text input;
    const char *folder; /* points into the bytes that were read; "": the worker's own */
    int64_t grace;
    int64_t limit; /* the most time that it may run; 0: no limit */
};

/* Reads a job. 0; -EPROTONOSUPPORT: another version has written it; -EBADMSG: no `leat map` writes
 * this; -ENOMEM. */
int order_read(struct order *order, const char *bytes, size_t n);
void order_free(struct order *order);
