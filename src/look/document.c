#define _GNU_SOURCE /* program_invocation_short_name */
#include "look/answer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "watch/tell.h"

#include <leat/watch.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TEXT(word) #word
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

/* ---- values: `key` has the comma before it, as in ",\"line\":" ---- */

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static void put_number(FILE *to, const char *key, bool known, uint64_t value)
{
    if (known)
        fprintf(to, "%s%llu", key, (unsigned long long)value);
    else
        fprintf(to, "%snull", key);
}

/* Nanoseconds, written as seconds. */
static void put_time(FILE *to, const char *key, bool known, int64_t ns)
{
    long long us = (long long)((ns < 0 ? 0 : ns) / LEAT_US);
    if (known)
        fprintf(to, "%s%lld.%06lld", key, us / 1000000, us % 1000000);
    else
        fprintf(to, "%snull", key);
}

static void put_text(FILE *to, const char *key, const char *text)
{
    fputs(key, to);
    lt_tell_json(to, text);
}

/* A letter with a number or, without one, with an address. */
static void put_id(FILE *to, const char *key, char letter, uint32_t number, const void *place)
{
    if (number)
        fprintf(to, "%s\"%c%u\"", key, letter, number);
    else if (place)
        fprintf(to, "%s\"%c%llx\"", key, letter, (unsigned long long)(uintptr_t)place);
    else
        fprintf(to, "%snull", key);
}

static void put_record_id(FILE *to, const char *key, const struct lt_record *record)
{
    static const char letters[LT_THINGS] = { 't', 'h', 'b', 'k', 'm', 'c', 'd', 'g', 'p' };
    put_id(to, key, letters[record->thing], record->number, record->self);
}

static void put_scope(FILE *to, const char *key, const struct lt_look *look, size_t place)
{
    put_id(to, key, 's', place == LT_NOWHERE ? 0 : look->scopes[place].number, NULL);
}

/* A function or a call, as a text. NULL: null. */
static void put_code(FILE *to, const char *key, void (*tell)(FILE *to, const void *code),
                     const void *code)
{
    char *text = NULL;
    size_t size;
    FILE *file = code ? open_memstream(&text, &size) : NULL;
    if (file) {
        tell(file, code);
        fclose(file);
    }
    put_text(to, key, text);
    free(text);
}

static void put_frames(FILE *to, const struct lt_frames *frames)
{
    if (!frames) {
        fputs(",\"calls\":null", to);
        return;
    }
    fputs(",\"calls\":[", to);
    for (size_t i = 0; i < frames->count; i++)
        put_code(to, i ? "," : "", lt_tell_frame, frames->code[i]);
    putc(']', to);
}

/* ---- workers ---- */

/* What is read of a worker beside the look. */
struct worker_counts {
    leat_counts counts;
    int64_t cpu; /* nanoseconds; -1: not known */
};

static int64_t cpu_time(pthread_t thread)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return -1;
    return used.tv_sec * LEAT_S + used.tv_nsec;
}

static int count_workers(struct worker_counts *counts, unsigned n)
{
    int error = 0;
    for (unsigned i = 0; !error && i < n; i++)
        error = leat_count_worker(&counts[i].counts, i);
    if (!error)
        error = lt_look_turn();
    if (error)
        return error;
    for (unsigned i = 0; i < n; i++)
        counts[i].cpu = cpu_time(lt_runtime.workers[i]->thread);
    lt_runtime_look_away();
    return 0;
}

static void put_counts(FILE *to, const leat_counts *counts)
{
    put_number(to, "\"switches\":", true, counts->switches);
    put_number(to, ",\"started\":", true, counts->started);
    put_number(to, ",\"received\":", true, counts->received);
    put_number(to, ",\"stolen\":", true, counts->stolen);
    put_number(to, ",\"moved\":", true, counts->moved);
    put_number(to, ",\"sleeps\":", true, counts->sleeps);
    put_number(to, ",\"timers\":", true, counts->timers);
}

static void put_worker(FILE *to, const struct lt_look *look, unsigned i,
                       const struct worker_counts *counts)
{
    const struct lt_worker_record *worker = &look->workers[i];
    fprintf(to, "%s{\"worker\":%u", i ? "," : "", i);
    put_time(to, ",\"cpu\":", counts->cpu >= 0, counts->cpu);
    fprintf(to, ",\"answered\":%s", truth(worker->answered));
    if (worker->running)
        put_record_id(to, ",\"runs\":", worker->running);
    else
        fputs(",\"runs\":null", to);
    put_frames(to, worker->frames);
    fprintf(to, ",\"ready\":%u,\"queued\":%u,", worker->ready, worker->queued);
    put_counts(to, &counts->counts);
    putc('}', to);
}

/* ---- scopes, parties, channels ---- */

static void put_scope_record(FILE *to, const struct lt_look *look, size_t i)
{
    const struct lt_scope_record *scope = &look->scopes[i];
    put_scope(to, i ? ",{\"id\":" : "{\"id\":", look, i);
    put_scope(to, ",\"around\":", look, scope->around);
    put_id(to, ",\"opener\":", 't', scope->opener_number, NULL);
    fprintf(to, ",\"joins\":%s,\"cancelled\":%s", truth(scope->opener_joins),
            truth(scope->cancelled));
    put_time(to, ",\"ends\":", !scope->cancelled && scope->deadline != LEAT_NEVER,
             scope->deadline - look->now);
    put_number(to, ",\"members\":", true, scope->tasks);
    put_time(to, ",\"since\":", scope->opener_since, look->now - scope->opener_since);
    putc('}', to);
}

static void put_aim(FILE *to, const struct lt_aim_record *aim, const char *before)
{
    static const char *const words[] = {
        "receive", "send", "join", "block", "call", "read", "write"
    };
    fprintf(to, "%s{\"for\":\"%s\"", before, words[aim->aim]);
    switch (aim->aim) {
    case LT_TO_RECEIVE:
    case LT_TO_SEND: put_id(to, ",\"of\":", 'c', aim->number, NULL); break;
    case LT_FOR_SCOPE: put_id(to, ",\"of\":", 's', aim->number, NULL); break;
    case LT_FOR_BLOCK: put_id(to, ",\"of\":", 'b', 0, aim->object); break;
    case LT_TO_READ:
    case LT_TO_WRITE: fprintf(to, ",\"of\":\"d%u\"", aim->number); break;
    case LT_FOR_CALL: fputs(",\"of\":null", to); break;
    }
    putc('}', to);
}

static void put_waits(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    bool waits = record->state == LT_IS_WAITING;
    put_time(to, ",\"since\":", waits && record->since, look->now - record->since);
    put_time(to, ",\"more\":", waits && record->until != LEAT_NEVER, record->until - look->now);
    put_number(to, ",\"line\":", waits && record->line, record->line);
    fputs(",\"waits\":[", to);
    for (const struct lt_aim_record *aim = waits ? record->aims : NULL; aim; aim = aim->next)
        put_aim(to, aim, aim == record->aims ? "" : ",");
    putc(']', to);
}

/* In each of these the record's id has been written. */
typedef void puts_record(FILE *to, const struct lt_look *look, const struct lt_record *record);

static void put_party(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    static const char *const states[] = { "started", "queued", "waiting", "ready", "running" };
    fprintf(to, ",\"kind\":\"%s\"", lt_tell_thing(record->thing));
    put_text(to, ",\"name\":", record->name);
    put_code(to, ",\"code\":", lt_tell_code, record->code);
    /* A scope that was left out may still have a number. */
    put_id(to, ",\"scope\":", 's',
           record->place == LT_NOWHERE ? record->scope_number : look->scopes[record->place].number,
           NULL);
    fprintf(to, ",\"state\":\"%s\"", states[record->state]);
    put_waits(to, look, record);
    put_number(to, ",\"worker\":", record->worker >= 0, (unsigned)record->worker);
    put_number(to, ",\"stack\":", record->stack,
               record->stack ? lt_resident(record->stack, record->stack_size) : 0);
    put_number(to, ",\"stack_size\":", record->stack, record->stack_size);
    put_frames(to, record->frames);
}

static void put_channel(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    put_text(to, ",\"name\":", record->name);
    put_scope(to, ",\"scope\":", look, record->place);
    fprintf(to, ",\"items\":%zu,\"capacity\":%zu,\"closed\":%s", record->length, record->capacity,
            truth(record->closed));
    fprintf(to, ",\"receivers\":%u,\"senders\":%u,\"passed\":%u", record->receivers,
            record->senders, record->passed);
}

static void put_descriptor(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    put_number(to, ",\"fd\":", record->number <= INT_MAX, record->number);
    put_scope(to, ",\"scope\":", look, record->place);
    fprintf(to, ",\"closed\":%s,\"readers\":%u,\"writers\":%u", truth(record->closed),
            record->receivers, record->senders);
}

static void put_batcher(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    put_text(to, ",\"name\":", record->name);
    put_scope(to, ",\"scope\":", look, record->place);
    fprintf(to, ",\"closed\":%s,\"forming\":%zu,\"running\":%zu", truth(record->closed),
            record->forming, record->running);
    put_number(to, ",\"batches\":", true, record->batches);
    put_number(to, ",\"items\":", true, record->items);
}

static void put_ends(FILE *to, const char *key, const struct lt_record *record, enum lt_aim way)
{
    const char *before = "";
    fputs(key, to);
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        if (aim->aim != way)
            continue;
        put_id(to, before, 'c', aim->number, NULL);
        before = ",";
    }
    putc(']', to);
}

static void put_stage(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    put_text(to, ",\"kind\":", record->what);
    put_text(to, ",\"name\":", record->name);
    put_scope(to, ",\"scope\":", look, record->place);
    put_id(to, ",\"block\":", 'b', 0, record->block);
    fprintf(to, ",\"closed\":%s", truth(record->closed));
    put_number(to, ",\"n\":", record->n, record->n);
    put_number(to, ",\"running\":", record->n, record->running);
    put_number(to, ",\"window\":", record->n, record->window);
    put_number(to, ",\"held\":", record->n, record->held);
    put_number(to, ",\"items\":", record->n, record->items);
    put_number(to, ",\"inputs\":", true, record->receivers);
    put_ends(to, ",\"in\":[", record, LT_TO_RECEIVE);
    put_number(to, ",\"outputs\":", true, record->senders);
    put_ends(to, ",\"out\":[", record, LT_TO_SEND);
}

/* ---- the document ---- */

static void put_records(FILE *to, const char *key, const struct lt_look *look, enum lt_thing first,
                        enum lt_thing last, puts_record *put)
{
    const char *before = "{\"id\":";
    fputs(key, to);
    for (size_t i = 0; i < look->record_count; i++) {
        const struct lt_record *record = look->records[i];
        if (record->thing < first || record->thing > last)
            continue;
        if (record->thing == LT_A_DESCRIPTOR)
            fprintf(to, "%s\"d%u\"", before, record->number);
        else
            put_record_id(to, before, record);
        put(to, look, record);
        putc('}', to);
        before = ",{\"id\":";
    }
    putc(']', to);
}

static void put_lists(FILE *to, const struct lt_look *look, const struct worker_counts *counts)
{
    fputs(",\"workers\":[", to);
    for (unsigned i = 0; i < look->worker_count; i++)
        put_worker(to, look, i, &counts[i]);
    fputs("],\"scopes\":[", to);
    for (size_t i = 0; i < look->scope_count; i++)
        put_scope_record(to, look, i);
    put_records(to, "],\"parties\":[", look, LT_A_TASK, LT_A_TIMER, put_party);
    put_records(to, ",\"channels\":[", look, LT_A_CHANNEL, LT_A_CHANNEL, put_channel);
    put_records(to, ",\"descriptors\":[", look, LT_A_DESCRIPTOR, LT_A_DESCRIPTOR, put_descriptor);
    put_records(to, ",\"batchers\":[", look, LT_A_BATCHER, LT_A_BATCHER, put_batcher);
    put_records(to, ",\"stages\":[", look, LT_A_STAGE, LT_A_STAGE, put_stage);
}

static void put_head(FILE *to, const struct lt_look *look, const leat_counts *all)
{
    fputs("{\"leat\":\"" VERSION(LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR, LEAT_VERSION_PATCH) "\"",
          to);
    put_text(to, ",\"program\":", program_invocation_short_name);
    put_number(to, ",\"pid\":", true, (uint64_t)getpid());
    put_time(to, ",\"uptime\":", true, look->now - lt_runtime.started);
    put_time(to, ",\"took\":", true, lt_clock_now() - look->now);
    fprintf(to, ",\"watches\":{\"waits\":%s,\"stacks\":%s},\"sampled\":%s",
            truth(lt_probing() & LT_PROBE_WAITS), truth(lt_frames_wanted()), truth(look->sampled));
    put_number(to, ",\"members\":", true, look->members);
    fputs(",\"counts\":{", to);
    put_counts(to, all);
    put_number(to, ",\"stacks\":", true, all->stacks);
    put_number(to, ",\"stacks_free\":", true, all->stacks_free);
    put_number(to, ",\"threads\":", true, all->threads);
    put_number(to, ",\"threads_free\":", true, all->threads_free);
    putc('}', to);
}

static int write_document(FILE *to, const struct lt_look *look)
{
    leat_counts all;
    struct worker_counts *counts = lt_alloc(look->worker_count * sizeof *counts);
    int error = counts ? leat_count(&all) : -ENOMEM;
    if (!error)
        error = count_workers(counts, look->worker_count);
    if (!error) {
        put_head(to, look, &all);
        put_lists(to, look, counts);
        fputs("}\n", to);
    }
    lt_free(counts);
    return error;
}

int lt_document(FILE *to, const void *caller)
{
    struct lt_look look;
    int error = lt_look_begin(&look, caller, LT_LOOK_USUAL);
    if (error)
        return error;
    error = write_document(to, &look);
    lt_look_end(&look);
    return error;
}
