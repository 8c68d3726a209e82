/* looks.h: bounded looks whose bounds are checked, and what they have recorded. */
#pragma once

#include "support.h"

#include "watch/look.h"

static inline size_t count(const struct lt_look *look, bool parties)
{
    size_t n = 0;
    for (size_t i = 0; i < look->record_count; i++)
        n += lt_is_party(look->records[i]->thing) == parties;
    return n;
}

static inline bool all_answered(const struct lt_look *look)
{
    unsigned n = 0;
    for (unsigned i = 0; i < look->worker_count; i++)
        n += look->workers[i].answered;
    return n == look->worker_count;
}

/* It is in a scope that was left out. */
static inline bool is_hidden(const struct lt_record *record)
{
    return record->place == LT_NOWHERE && record->scope_number;
}

/* Looks until all workers have had the time to answer. */
static inline void begin(struct lt_look *look, const struct lt_look_bound *bound)
{
    CHECK_IS(0, lt_look_begin(look, NULL, bound));
    while (!all_answered(look)) {
        lt_look_end(look);
        leat_yield();
        CHECK_IS(0, lt_look_begin(look, NULL, bound));
    }
    CHECK(count(look, true) <= bound->parties);
    CHECK(count(look, false) <= bound->channels);
    CHECK(look->scope_count <= bound->scopes);
    for (size_t i = 0; i < look->record_count; i++)
        CHECK(!is_hidden(look->records[i]) || look->sampled);
}

static const struct lt_record *find(const struct lt_look *look, const char *name)
{
    for (size_t i = 0; i < look->record_count; i++)
        if (look->records[i]->name && strcmp(look->records[i]->name, name) == 0)
            return look->records[i];
    return NULL;
}

/* Parties whose names begin so. */
static inline size_t count_waiting(const struct lt_look *look, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < look->record_count; i++) {
        const struct lt_record *record = look->records[i];
        n += record->name && strncmp(record->name, name, strlen(name)) == 0 &&
             record->state == LT_IS_WAITING;
    }
    return n;
}

static inline size_t parked(const char *name)
{
    struct lt_look look;
    CHECK_IS(0, lt_look_begin(&look, NULL, NULL));
    size_t n = count_waiting(&look, name);
    lt_look_end(&look);
    return n;
}
