/* history.h: the load of each worker over the last looks, as a line of small bars. */
#pragma once

#include "look/canvas.h"
#include "look/document.h"

/* Workers with greater numbers have no line. */
enum { HISTORY_WORKERS = 64, HISTORY_POINTS = 120 };

/* A zeroed struct is an empty history. */
struct history {
    double pid, uptime; /* of the last document */
    size_t next;        /* the place of the next load */
    /* 0: not known; else the load in 255 steps from 1 on. */
    unsigned char loads[HISTORY_WORKERS][HISTORY_POINTS];
};

/* The part of the time that the worker has used a processor since `before`, or since the start if
 * `before` is NULL: from 0 to 1; NAN if it is not known. */
double history_load(const struct worker *w, const struct document *d,
                    const struct document *before);

/* Adds a document's loads. A new run of the program begins a new history. */
void history_add(struct history *h, const struct document *d, const struct document *before);

/* Draws the last `points` loads of that worker, a character for each, the newest last. */
void history_draw(const struct history *h, double worker, size_t points, struct canvas *to);
