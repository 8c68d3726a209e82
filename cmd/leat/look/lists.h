/* lists.h: the lists that can be shown, as tables. */
#pragma once

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

/* The column by which the list is sorted by default. */
size_t list_first_column(enum list list);

/* The column of this name, or SIZE_MAX. */
size_t list_find_column(enum list list, const char *name);

/* Fills the table. Without `before` no rate is known. */
void list_fill(struct table *t, enum list list, const struct document *d,
               const struct document *before);
