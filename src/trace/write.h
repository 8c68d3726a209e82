/* write.h: the file of a trace: its events become slices, flows and scopes. */
#pragma once

#include "watch/picture.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A trace, besides its tracks. */
struct lt_recording {
    unsigned workers;
    uint64_t lost; /* events lost: there are gaps */
    /* The rest is for a late trace. */
    bool late;
    int64_t begin, end;  /* later events do not belong to it */
    struct lt_look look; /* soon after the beginning; empty, if the look failed */
    int64_t looked;      /* when the look was over */
};

/* Writes the file: 0, -ENOMEM or -EIO. */
int lt_trace_write(FILE *to, const struct lt_recording *recording);
