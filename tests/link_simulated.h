/* link_simulated.h: what an engine has of the runs of a stage, for tests: a run's keys in the
 * engine are members of struct run_keys. link/scripts/common.lua describes them, and its functions
 * are here in C. link_scripts.h has the scripts.
 *
 * Nothing here waits, so each script runs alone, as in an engine. */
#pragma once

#include "support.h"

#include "src/engine.h"

#include <inttypes.h>

enum { RUNS = 4, WAITERS = 64, NAME_ROOM = 80, MESSAGES = 12, MESSAGE_ROOM = 512 };

/* The engine's data for an index. */
struct cell {
    char *item; /* NULL: none */
    size_t size;
    bool leased;
    int64_t ends_at;       /* of the lease */
    char owner[NAME_ROOM]; /* empty: none */
    uint64_t owned_since;  /* owners are listed by this */
    int64_t tries;
};

struct field {
    char name[48];
    char *data;
    size_t size;
};

struct entry {
    int64_t ms;
    uint64_t number;
    struct field *fields;
    size_t n;
};

struct run_keys {
    char name[LK_NAME + 1];
    bool exists, open, listed, expires;
    int64_t epoch, published, delivered, n, limit;
    struct cell *cells;
    uint64_t cell_count;
    uint64_t *queue;
    size_t queue_count, queue_room;
    struct entry *entries;
    size_t entry_count, entry_room;
    struct waiter {
        char far_end[NAME_ROOM];
        int64_t lease, number, places;
    } waiting[WAITERS];
    size_t waiting_count;
    struct handed {
        char far_end[NAME_ROOM];
        int64_t count;
    } handed[WAITERS];
    size_t handed_count;
};

struct engine {
    struct run_keys runs[RUNS];
    int64_t us, uptime; /* of the engine's clock, and in seconds; the caller sets them */
    uint64_t owned;
    /* The messages that the last script has published, and whether it has added an entry. */
    struct message {
        char channel[2 * NAME_ROOM];
        char text[MESSAGE_ROOM];
        size_t size;
    } messages[MESSAGES];
    size_t message_count;
    /* Whether a far end listens to the channel. NULL: none does. */
    bool (*is_heard)(const struct engine *engine, const char *channel);
    /* Chooses the waiting far end that hears next; NULL: any. */
    size_t (*choose)(const struct engine *engine, const struct run_keys *run);
    bool added;
};

/* The words of a call after the keys, from 1 on as in Lua, and the place for its reply. */
struct call {
    struct engine *engine;
    struct run_keys *run;
    redisReply *const *words;
    size_t n;
    struct lk_request *reply;
};

/* ---- replies ---- */

static inline void reply_line(struct lk_request *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void reply_line(struct lk_request *to, const char *format, ...)
{
    char line[256];
    va_list values;
    va_start(values, format);
    int n = vsnprintf(line, sizeof line - 2, format, values);
    va_end(values);
    memcpy(line + n, "\r\n", 2);
    lk_request_raw(to, line, (size_t)n + 2);
}

static inline void reply_number(struct lk_request *to, int64_t number)
{
    reply_line(to, ":%" PRId64, number);
}

static inline void reply_array(struct lk_request *to, size_t n)
{
    reply_line(to, "*%zu", n);
}

static inline void reply_stale(const struct call *call)
{
    reply_line(call->reply, "-STALE the run was opened again, or removed");
}

static inline void reply_lost(const struct call *call)
{
    reply_line(call->reply, "-LOST the engine has lost items that it had been given");
}

/* ---- words ---- */

static inline const char *word(const struct call *call, size_t i)
{
    CHECK(i >= 1 && i <= call->n);
    return call->words[i - 1]->str;
}

static inline int64_t number_of(const struct call *call, size_t i)
{
    return strtoll(word(call, i), NULL, 10);
}

/* ---- what there is ---- */

static inline int64_t ms_of(const struct engine *engine)
{
    return engine->us / 1000;
}

static inline struct cell *cell_of(struct run_keys *run, uint64_t index)
{
    CHECK(index < 1000000);
    if (index >= run->cell_count) {
        uint64_t count = 2 * index + 8;
        run->cells = realloc(run->cells, count * sizeof *run->cells);
        CHECK(run->cells);
        memset(run->cells + run->cell_count, 0, (count - run->cell_count) * sizeof *run->cells);
        run->cell_count = count;
    }
    return &run->cells[index];
}

static inline void drop_item(struct cell *cell)
{
    free(cell->item);
    cell->item = NULL;
    cell->tries = 0;
}

static inline void drop_lease(struct cell *cell)
{
    cell->leased = false;
    cell->owner[0] = '\0';
}

static inline char *copy_of(const char *data, size_t size)
{
    char *copy = malloc(size + 1);
    CHECK(copy);
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static inline void push(struct run_keys *run, uint64_t index, bool first)
{
    if (run->queue_count == run->queue_room) {
        run->queue_room = 2 * run->queue_room + 16;
        run->queue = realloc(run->queue, run->queue_room * sizeof *run->queue);
        CHECK(run->queue);
    }
    if (first)
        memmove(run->queue + 1, run->queue, run->queue_count * sizeof *run->queue);
    run->queue[first ? 0 : run->queue_count] = index;
    run->queue_count++;
}

static inline uint64_t pop(struct run_keys *run)
{
    uint64_t index = run->queue[0];
    memmove(run->queue, run->queue + 1, --run->queue_count * sizeof *run->queue);
    return index;
}

static inline int64_t count_leases(const struct run_keys *run)
{
    int64_t n = 0;
    for (uint64_t i = 0; i < run->cell_count; i++)
        n += run->cells[i].leased;
    return n;
}

static inline void free_entry(struct entry *entry)
{
    for (size_t i = 0; i < entry->n; i++)
        free(entry->fields[i].data);
    free(entry->fields);
}

/* DEL of all keys but the set of runs. */
static inline void free_run(struct run_keys *run)
{
    for (uint64_t i = 0; i < run->cell_count; i++)
        free(run->cells[i].item);
    for (size_t i = 0; i < run->entry_count; i++)
        free_entry(&run->entries[i]);
    free(run->cells);
    free(run->queue);
    free(run->entries);
    *run = (struct run_keys){ 0 };
}

/* The run of that name, or a free place for one that has it then. */
static inline struct run_keys *run_named(struct engine *engine, const char *name)
{
    struct run_keys *run = engine->runs;
    while (run < engine->runs + RUNS && run->name[0] && strcmp(run->name, name) != 0)
        run++;
    CHECK(run < engine->runs + RUNS);
    snprintf(run->name, sizeof run->name, "%s", name);
    return run;
}

/* ---- common.lua ---- */

static inline struct message *publish(struct engine *engine, const char *channel, const char *text)
{
    CHECK(engine->message_count < MESSAGES);
    struct message *message = &engine->messages[engine->message_count++];
    snprintf(message->channel, sizeof message->channel, "%s", channel);
    message->size = (size_t)snprintf(message->text, sizeof message->text, "%s", text);
    return message;
}

/* The engine takes any of those that wait. */
static inline struct waiter take_waiting(const struct call *call)
{
    const struct engine *engine = call->engine;
    struct run_keys *run = call->run;
    size_t at = engine->choose ? engine->choose(engine, run) : engine->owned % run->waiting_count;
    struct waiter taken = run->waiting[at];
    run->waiting[at] = run->waiting[--run->waiting_count];
    return taken;
}

static inline bool hears(const struct engine *engine, const char *channel,
                         const struct waiter *waiter, char own[2 * NAME_ROOM])
{
    snprintf(own, 2 * NAME_ROOM, "%s:%s", channel, waiter->far_end);
    return engine->is_heard && engine->is_heard(engine, own);
}

static inline void wake(const struct call *call, const char *channel, const char *name,
                        int64_t count)
{
    struct engine *engine = call->engine;
    struct run_keys *run = call->run;
    if (!run->waiting_count)
        return;
    if (count > 8 || (count > 1 && count >= (int64_t)run->waiting_count)) {
        publish(engine, channel, name);
        run->waiting_count = 0;
    }
    while (count > 0 && run->waiting_count) {
        char own[2 * NAME_ROOM];
        struct waiter waiter = take_waiting(call);
        if (!hears(engine, channel, &waiter, own))
            continue;
        publish(engine, own, name);
        count--;
    }
}

static inline bool is_near_end(const struct call *call, int64_t epoch)
{
    return call->run->exists && call->run->epoch == epoch;
}

static inline void add_field(struct entry *to, uint64_t index, int64_t status, const char *data,
                             size_t size)
{
    to->fields = realloc(to->fields, (to->n + 1) * sizeof *to->fields);
    CHECK(to->fields);
    struct field *field = &to->fields[to->n++];
    *field = (struct field){ .data = copy_of(data, size), .size = size };
    int n = snprintf(field->name, sizeof field->name, "%" PRIu64, index);
    if (status)
        snprintf(field->name + n, sizeof field->name - (size_t)n, ":%" PRId64, status);
}

static inline void try_again(struct run_keys *run, uint64_t index, int64_t status,
                             struct entry *failed)
{
    struct cell *cell = cell_of(run, index);
    drop_lease(cell);
    if (++cell->tries < run->limit) {
        push(run, index, true);
    } else {
        drop_item(cell);
        add_field(failed, index, status, "", 0);
    }
}

/* Takes the fields over. */
static inline void store(const struct call *call, struct entry *fields)
{
    struct run_keys *run = call->run;
    if (!fields->n)
        return;
    const struct entry *last = run->entry_count ? &run->entries[run->entry_count - 1] : NULL;
    fields->ms = ms_of(call->engine);
    if (last && last->ms >= fields->ms) {
        fields->ms = last->ms;
        fields->number = last->number + 1;
    }
    if (run->entry_count == run->entry_room) {
        run->entry_room = 2 * run->entry_room + 16;
        run->entries = realloc(run->entries, run->entry_room * sizeof *run->entries);
        CHECK(run->entries);
    }
    run->entries[run->entry_count++] = *fields;
    call->engine->added = true;
}
