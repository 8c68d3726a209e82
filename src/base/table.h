/* table.h: finds numbers by keys that are numbers. All entries are in one piece of memory, so a
 * search mostly touches one cache line: if neither the key nor its owner is in the cache, it costs
 * half as much as in base/index.h. But a table needs memory, which can run out.
 *
 * Two entries with the same place are put side by side ("linear probing"). At most half of the
 * places are taken. The caller locks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lt_entry {
    uint64_t key; /* 0: the place is free */
    uint64_t value;
};

/* All zero: empty, without memory. */
struct lt_table {
    struct lt_entry *entries;
    size_t room, count; /* room: a power of two, or 0 */
};

/* The entry of a key that is not 0; or NULL. */
struct lt_entry *lt_table_find(const struct lt_table *table, uint64_t key);

/* Sets the value of a key that is not 0. False: there is no memory. */
bool lt_table_put(struct lt_table *table, uint64_t key, uint64_t value);

/* Removes the key's entry, if there is one. */
void lt_table_remove(struct lt_table *table, uint64_t key);

/* Frees the memory. The table is empty then. */
void lt_table_free(struct lt_table *table);
