/* lists.h: the lists that can be shown, as tables. */
#ifndef LEAT_LOOK_LISTS_H
#define LEAT_LOOK_LISTS_H

#include "look/document.h"
#include "look/table.h"

enum list {
    LIST_PARTIES,
    LIST_CHANNELS,
    LIST_SCOPES,
    LIST_WAITS,
    LIST_STAGES,
    LIST_STACKS,
    LIST_DESCRIPTORS,
    LIST_BATCHERS,
    LIST_COUNTS,
    LISTS
};

const char *list_name(enum list list);
const struct column *list_columns(enum list list, size_t *count);

/* The column by which the list is sorted unless the user says otherwise. */
size_t list_first_column(enum list list);

/* The column of this name, or SIZE_MAX. */
size_t list_find_column(enum list list, const char *name);

/* Fills the table. `before` is an earlier document of the same run, or NULL: then no rate is known.
 */
void list_fill(struct table *t, enum list list, const struct document *d,
               const struct document *before);

/* Fill the next cell with a count, or with a name, of which NULL is shown as `-`. */
void list_add_count(struct table *t, double count);
void list_add_title(struct table *t, const char *name);

/* Adds a name such as "reader (/src/mill.c:30)", without the folders: they would fill the line. */
void list_add_name(struct text *to, const char *name);

/* The name of a party; a callback or timer without one has its function. NULL: nothing is known. */
const char *list_title(const struct party *p);

/* Adds what the party waits for: receive c34 quotes, send c35 log */
void list_add_wait(struct text *to, const struct document *d, const struct wait *w);

/* Adds "c34 quotes, c35 log and 2 more": of `all` channels, the ids of those that are told. */
void list_add_ends(struct text *to, const struct document *d, const char *const *ids, size_t count,
                   double all);

/* The number of items a second that the channel has passed, or the stage has taken; NAN if that is
 * not known. */
double list_rate(const struct channel *c, const struct document *d, const struct document *before);
double list_stage_rate(const struct stage *s, const struct document *d,
                       const struct document *before);

#endif
