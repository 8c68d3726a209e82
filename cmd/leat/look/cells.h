/* cells.h: what stands in the cells of the lists. */
#pragma once

#include "look/document.h"
#include "look/table.h"

/* Fill the next cell with a count, seconds, bytes, or a name, of which NULL is shown as `-`. */
void cells_add_count(struct table *t, double count);
void cells_add_seconds(struct table *t, double seconds);
void cells_add_bytes(struct table *t, double bytes);
void cells_add_title(struct table *t, const char *name);

/* Adds a name such as "reader (/src/mill.c:30)", without the folders: they would fill the line. */
void cells_add_name(struct text *to, const char *name);

/* The name of the channel or party of this id; NULL: it has none. */
const char *cells_name(const struct document *d, const char *id);

/* Adds the id of a channel or party, and its name if it has one. */
void cells_add_id(struct text *to, const struct document *d, const char *id);

/* The name of a party; a callback or timer without one has its function. NULL: nothing is known. */
const char *cells_title(const struct party *p);

/* Adds what the party waits for: receive c34 quotes, send c35 log */
void cells_add_wait(struct text *to, const struct document *d, const struct wait *w);

/* Fills the next cell with the ids: c34 quotes, c35 log and 2 more, which are the rest of `all`. */
void cells_add_ends(struct table *t, const struct document *d, const char *const *ids, size_t count,
                    double all);

/* The number of items a second that the channel has passed, or the stage has taken; NAN if that is
 * not known. */
double cells_rate(const struct channel *c, const struct document *d, const struct document *before);
double cells_stage_rate(const struct stage *s, const struct document *d,
                        const struct document *before);
