#define _GNU_SOURCE /* program_invocation_short_name */
#include "look/answer.h"

#include "base/clock.h"
#include "dump/print.h"
#include "watch/look.h"

#include <leat/watch.h>

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- values: `key` has the comma before it, as in ",\"line\":" ---- */

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static void put_number(FILE *to, const char *key, uint64_t value)
{
    fprintf(to, "%s%llu", key, (unsigned long long)value);
}

static void put_if(FILE *to, const char *key, bool known, uint64_t value)
{
    if (known)
        put_number(to, key, value);
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
    lt_print_json(to, text);
}

/* A letter with a number, or if there is none, with an address. */
static void put_id(FILE *to, const char *key, char letter, uint32_t number, const void *place)
{
    if (number)
        fprintf(to, "%s\"%c%u\"", key, letter, number);
    else if (place)
        fprintf(to, "%s\"%c%llx\"", key, letter, (unsigned long long)(uintptr_t)place);
    else
        fprintf(to, "%snull", key);
}

/* NULL: null. */
static void put_record_id(FILE *to, const char *key, const struct lt_record *record)
{
    if (record)
        put_id(to, key, lt_things[record->thing].letter, record->number, record->self);
    else
        fprintf(to, "%snull", key);
}

static void put_scope(FILE *to, const char *key, const struct lt_look *look, size_t place)
{
    put_id(to, key, 's', place == LT_NOWHERE ? 0 : look->scopes[place].number, NULL);
}

/* A function or a call, as a text. NULL: null. */
static void put_code(FILE *to, const char *key,
                     void (*print)(FILE *to, const void *code, const char *escaped),
                     const void *code)
{
    char *text = NULL;
    size_t size;
    FILE *file = code ? open_memstream(&text, &size) : NULL;
    if (file) {
        print(file, code, "");
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
        put_code(to, i ? "," : "", lt_print_frame, frames->code[i]);
    putc(']', to);
}

/* ---- workers ---- */

static void put_counts(FILE *to, const leat_counts *counts)
{
    put_number(to, "\"switches\":", counts->switches);
    put_number(to, ",\"started\":", counts->started);
    put_number(to, ",\"received\":", counts->received);
    put_number(to, ",\"stolen\":", counts->stolen);
    put_number(to, ",\"moved\":", counts->moved);
    put_number(to, ",\"sleeps\":", counts->sleeps);
    put_number(to, ",\"timers\":", counts->timers);
}

static void put_worker(FILE *to, const struct lt_look *look, unsigned i)
{
    const struct lt_worker_record *worker = &look->workers[i];
    fprintf(to, "%s{\"worker\":%u", i ? "," : "", i);
    put_time(to, ",\"cpu\":", worker->cpu >= 0, worker->cpu);
    fprintf(to, ",\"answered\":%s", truth(worker->answered));
    put_record_id(to, ",\"runs\":", worker->running);
    put_frames(to, worker->frames);
    fprintf(to, ",\"ready\":%u,\"queued\":%u,", worker->ready, worker->queued);
    put_counts(to, &worker->counts);
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
    put_number(to, ",\"members\":", scope->tasks);
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
    put_if(to, ",\"line\":", waits && record->line, record->line);
    fputs(",\"waits\":[", to);
    for (const struct lt_aim_record *aim = waits ? record->aims : NULL; aim; aim = aim->next)
        put_aim(to, aim, aim == record->aims ? "" : ",");
    putc(']', to);
}

/* Writes the members of a record, after its id. */
typedef void puts_record(FILE *to, const struct lt_look *look, const struct lt_record *record);

static void put_party(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    static const char *const states[] = { "started", "queued", "waiting", "ready", "running" };
    fprintf(to, ",\"kind\":\"%s\"", lt_things[record->thing].word);
    put_text(to, ",\"name\":", record->name);
    put_code(to, ",\"code\":", lt_print_code, record->code);
    /* A scope that was left out may still have a number. */
    put_id(to, ",\"scope\":", 's',
           record->place == LT_NOWHERE ? record->scope_number : look->scopes[record->place].number,
           NULL);
    fprintf(to, ",\"state\":\"%s\"", states[record->state]);
    put_waits(to, look, record);
    put_if(to, ",\"worker\":", record->worker >= 0, (unsigned)record->worker);
    put_if(to, ",\"stack\":", record->stack,
           record->stack ? lt_resident(record->stack, record->stack_size) : 0);
    put_if(to, ",\"stack_size\":", record->stack, record->stack_size);
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
    put_record_id(to, ",\"holder\":", lt_look_find_holder(look, record));
}

static void put_descriptor(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    put_if(to, ",\"fd\":", record->number <= INT_MAX, record->number);
    put_scope(to, ",\"scope\":", look, record->place);
    fprintf(to, ",\"closed\":%s,\"readers\":%u,\"writers\":%u", truth(record->closed),
            record->receivers, record->senders);
}

static void put_batcher(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    const struct lt_sight *seen = record->sight;
    put_text(to, ",\"name\":", record->name);
    put_scope(to, ",\"scope\":", look, record->place);
    fprintf(to, ",\"closed\":%s,\"forming\":%zu,\"running\":%zu", truth(seen->closed),
            seen->forming, seen->running);
    put_number(to, ",\"batches\":", seen->batches);
    put_number(to, ",\"items\":", seen->items);
}

static void put_ends(FILE *to, const char *key, const uint32_t *numbers, uint32_t n)
{
    fputs(key, to);
    for (uint32_t i = 0; i < n && i < LT_SIGHT_ENDS; i++)
        put_id(to, i ? "," : "", 'c', numbers[i], NULL);
    putc(']', to);
}

static void put_stage(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    const struct lt_sight *seen = record->sight;
    put_text(to, ",\"kind\":", seen->what);
    put_text(to, ",\"name\":", record->name);
    put_scope(to, ",\"scope\":", look, record->place);
    put_id(to, ",\"block\":", 'b', 0, seen->block);
    fprintf(to, ",\"closed\":%s", truth(seen->closed));
    put_if(to, ",\"n\":", seen->n, seen->n);
    put_if(to, ",\"running\":", seen->n, seen->running);
    put_if(to, ",\"window\":", seen->n, seen->window);
    put_if(to, ",\"held\":", seen->n, seen->held);
    put_if(to, ",\"items\":", seen->n, seen->items);
    put_number(to, ",\"inputs\":", seen->ins);
    put_ends(to, ",\"in\":[", seen->in, seen->ins);
    put_number(to, ",\"outputs\":", seen->outs);
    put_ends(to, ",\"out\":[", seen->out, seen->outs);
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

static void put_lists(FILE *to, const struct lt_look *look)
{
    fputs(",\"workers\":[", to);
    for (unsigned i = 0; i < look->worker_count; i++)
        put_worker(to, look, i);
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
    put_text(to, "{\"leat\":", leat_version());
    put_text(to, ",\"program\":", program_invocation_short_name);
    put_number(to, ",\"pid\":", (uint64_t)getpid());
    put_time(to, ",\"uptime\":", true, look->now - lt_runtime.started);
    put_time(to, ",\"took\":", true, lt_clock_now() - look->now);
    fprintf(to, ",\"watches\":{\"waits\":%s,\"stacks\":%s},\"sampled\":%s",
            truth(lt_probing() & LT_PROBE_WAITS), truth(lt_frames_wanted()), truth(look->sampled));
    put_number(to, ",\"members\":", look->members);
    fputs(",\"counts\":{", to);
    put_counts(to, all);
    put_number(to, ",\"stacks\":", all->stacks);
    put_number(to, ",\"stacks_free\":", all->stacks_free);
    put_number(to, ",\"threads\":", all->threads);
    put_number(to, ",\"threads_free\":", all->threads_free);
    putc('}', to);
}

int lt_document(FILE *to, const void *caller)
{
    struct lt_look look;
    leat_counts all;
    int error = lt_look_begin(&look, caller, LT_LOOK_USUAL);
    if (error)
        return error;
    error = leat_count(&all);
    if (!error) {
        put_head(to, &look, &all);
        put_lists(to, &look);
        fputs("}\n", to);
    }
    lt_look_end(&look);
    return error;
}
