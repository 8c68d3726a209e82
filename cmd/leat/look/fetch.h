/* fetch.h: gets the document, or another thing, from the program, by HTTP.
 *
 * It reads at most FETCH_MOST bytes of a document, or FETCH_MOST_RAW of an answer that is not
 * parsed. It waits for the first byte at most FETCH_PATIENCE longer than the program needs, and as
 * long for each that follows: a long answer may take its time. Whatever the server sends, the
 * outcome is the body of a whole answer, or a trouble. */
#pragma once

#include "look/address.h"
#include "look/trouble.h"
#include "shared/text.h"

#include <leat/base.h>

enum { FETCH_MOST = 64 << 20, FETCH_MOST_RAW = 1 << 30 };
#define FETCH_PATIENCE (10 * LEAT_S)

/* Targets. With `?stacks=1` the document has call stacks, if the program keeps them. */
#define FETCH_DOCUMENT "/json"
#define FETCH_STACKS "/json?stacks=1"

struct wanted {
    const char *target;
    size_t most;  /* bytes */
    int64_t time; /* nanoseconds until the program answers, as for a trace */
};

/* Writes the body to `to`, which is empty. Call it in a task or thread. */
void fetch(const struct address *from, const struct wanted *wanted, struct text *to,
           struct trouble *why);
