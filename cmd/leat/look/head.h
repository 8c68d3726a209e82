/* head.h: the lines above the list: the program, its counts, its workers. */
#pragma once

#include "look/canvas.h"
#include "look/document.h"
#include "look/history.h"
#include "look/trouble.h"

/* Rates and loads are those since `before`; with NULL, averages since the start. */
void head_draw(struct canvas *c, const struct document *d, const struct document *before,
               const struct trouble *why);

/* One line for each worker, at most `most`: if there are more, the last line is about those that
 * are left out. The history may be NULL. */
void head_draw_workers(struct canvas *c, const struct document *d, const struct document *before,
                       const struct history *h, size_t most);
