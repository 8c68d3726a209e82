#include "base/table.h"

#include "base/alloc.h"
#include "base/config.h"

enum { FIRST_ROOM = LT_OR(2, 64) };

static size_t next(const struct lt_table *table, size_t at)
{
    return (at + 1) & (table->room - 1);
}

/* Fibonacci hashing: it spreads multiples of any number evenly. */
static size_t own_place(const struct lt_table *table, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - __builtin_ctzll(table->room)));
}

/* The place of the key's entry, or the free place for it. */
static struct lt_entry *place_of(const struct lt_table *table, uint64_t key)
{
    size_t at = own_place(table, key);
    while (table->entries[at].key && table->entries[at].key != key)
        at = next(table, at);
    return &table->entries[at];
}

struct lt_entry *lt_table_find(const struct lt_table *table, uint64_t key)
{
    struct lt_entry *found = table->count ? place_of(table, key) : NULL;
    return found && found->key ? found : NULL;
}

static bool grow(struct lt_table *table)
{
    struct lt_table grown = { .room = table->room ? 2 * table->room : FIRST_ROOM,
                              .count = table->count };
    grown.entries = lt_alloc(grown.room * sizeof *grown.entries);
    if (!grown.entries)
        return false;
    for (size_t i = 0; i < table->room; i++)
        if (table->entries[i].key)
            *place_of(&grown, table->entries[i].key) = table->entries[i];
    lt_free(table->entries);
    *table = grown;
    return true;
}

bool lt_table_put(struct lt_table *table, uint64_t key, uint64_t value)
{
    if (2 * (table->count + 1) > table->room && !grow(table))
        return false;
    struct lt_entry *place = place_of(table, key);
    table->count += !place->key;
    *place = (struct lt_entry){ key, value };
    return true;
}

/* Moves up the entries after the gap that a search would no longer find. */
void lt_table_remove(struct lt_table *table, uint64_t key)
{
    struct lt_entry *found = lt_table_find(table, key);
    if (!found)
        return;
    size_t gap = (size_t)(found - table->entries), mask = table->room - 1;
    for (size_t at = next(table, gap); table->entries[at].key; at = next(table, at)) {
        size_t own = own_place(table, table->entries[at].key);
        if (((at - own) & mask) < ((at - gap) & mask))
            continue;
        table->entries[gap] = table->entries[at];
        gap = at;
    }
    table->entries[gap].key = 0;
    table->count--;
}

void lt_table_free(struct lt_table *table)
{
    lt_free(table->entries);
    *table = (struct lt_table){ 0 };
}
