#define _GNU_SOURCE /* program_invocation_short_name */
#include "look/document.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "look/json.h"
#include "watch/peek.h"
#include "watch/tell.h"

#include <leat/watch.h>

#include <errno.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#define TEXT(word) #word
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

/* ---- ids ---- */

static const char letters[LT_THINGS] = { 't', 'h', 'b', 'k', 'm', 'c', 'd', 'g', 'p' };

static void add_id(struct lt_text *to, const char *key, const struct lt_record *record)
{
    if (record->number)
        lt_json_id(to, key, letters[record->thing], record->number);
    else
        lt_json_place(to, key, letters[record->thing], record->self);
}

static void add_scope_id(struct lt_text *to, const char *key, const struct lt_look *look,
                         size_t place)
{
    if (place == LT_NOWHERE)
        lt_json_null(to, key);
    else
        lt_json_id(to, key, 's', look->scopes[place].number);
}

/* A scope that was left out may still have a number. */
static void add_scope_of(struct lt_text *to, const struct lt_look *look,
                         const struct lt_record *record)
{
    if (record->place == LT_NOWHERE && record->scope_number)
        lt_json_id(to, "scope", 's', record->scope_number);
    else
        add_scope_id(to, "scope", look, record->place);
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

static void add_counts(struct lt_text *to, const leat_counts *counts)
{
    lt_json_number(to, "switches", counts->switches);
    lt_json_number(to, "started", counts->started);
    lt_json_number(to, "received", counts->received);
    lt_json_number(to, "stolen", counts->stolen);
    lt_json_number(to, "moved", counts->moved);
    lt_json_number(to, "sleeps", counts->sleeps);
    lt_json_number(to, "timers", counts->timers);
}

static void add_frames(struct lt_text *to, const struct lt_frames *frames)
{
    struct lt_text call = { 0 };
    if (!frames) {
        lt_json_null(to, "calls");
        return;
    }
    lt_json_open(to, "calls", '[');
    for (size_t i = 0; i < frames->count; i++) {
        call.length = 0;
        lt_tell_frame(&call, frames->code[i]);
        lt_json_string(to, NULL, call.failed ? "" : call.bytes);
        to->failed |= call.failed;
    }
    lt_text_free(&call);
    lt_json_close(to, ']');
}

static void add_worker(struct lt_text *to, const struct lt_look *look, unsigned i,
                       const struct worker_counts *counts)
{
    const struct lt_worker_record *worker = &look->workers[i];
    lt_json_open(to, NULL, '{');
    lt_json_number(to, "worker", i);
    if (counts->cpu >= 0)
        lt_json_time(to, "cpu", counts->cpu);
    else
        lt_json_null(to, "cpu");
    lt_json_bool(to, "answered", worker->answered);
    if (worker->running)
        add_id(to, "runs", worker->running);
    else
        lt_json_null(to, "runs");
    add_frames(to, worker->frames);
    lt_json_number(to, "ready", worker->ready);
    lt_json_number(to, "queued", worker->queued);
    add_counts(to, &counts->counts);
    lt_json_close(to, '}');
}

/* ---- scopes, parties, channels ---- */

static void add_scope(struct lt_text *to, const struct lt_look *look,
                      const struct lt_scope_record *scope)
{
    lt_json_open(to, NULL, '{');
    lt_json_id(to, "id", 's', scope->number);
    add_scope_id(to, "around", look, scope->around);
    if (scope->opener_number)
        lt_json_id(to, "opener", 't', scope->opener_number);
    else
        lt_json_null(to, "opener");
    lt_json_bool(to, "joins", scope->opener_joins);
    lt_json_bool(to, "cancelled", scope->cancelled);
    if (scope->cancelled || scope->deadline == LEAT_NEVER)
        lt_json_null(to, "ends");
    else
        lt_json_time(to, "ends", scope->deadline - look->now);
    lt_json_number(to, "members", scope->tasks);
    if (scope->opener_since)
        lt_json_time(to, "since", look->now - scope->opener_since);
    else
        lt_json_null(to, "since");
    lt_json_close(to, '}');
}

static void add_aim(struct lt_text *to, const struct lt_aim_record *aim)
{
    static const char *const words[] = {
        "receive", "send", "join", "block", "call", "read", "write"
    };
    lt_json_open(to, NULL, '{');
    lt_json_string(to, "for", words[aim->aim]);
    switch (aim->aim) {
    case LT_TO_RECEIVE:
    case LT_TO_SEND: lt_json_id(to, "of", 'c', aim->number); break;
    case LT_FOR_SCOPE: lt_json_id(to, "of", 's', aim->number); break;
    case LT_FOR_BLOCK: lt_json_place(to, "of", 'b', aim->object); break;
    case LT_TO_READ:
    case LT_TO_WRITE: lt_json_id(to, "of", 'd', aim->number); break;
    case LT_FOR_CALL: lt_json_null(to, "of"); break;
    }
    lt_json_close(to, '}');
}

static void add_code(struct lt_text *to, const void *code)
{
    struct lt_text place = { 0 };
    if (code)
        lt_tell_code(&place, code);
    lt_json_string(to, "code", place.bytes);
    to->failed |= place.failed;
    lt_text_free(&place);
}

static void add_waits(struct lt_text *to, const struct lt_look *look,
                      const struct lt_record *record)
{
    bool waits = record->state == LT_IS_WAITING;
    if (waits && record->since)
        lt_json_time(to, "since", look->now - record->since);
    else
        lt_json_null(to, "since");
    if (waits && record->until != LEAT_NEVER)
        lt_json_time(to, "more", record->until - look->now);
    else
        lt_json_null(to, "more");
    if (waits && record->line)
        lt_json_number(to, "line", record->line);
    else
        lt_json_null(to, "line");
    lt_json_open(to, "waits", '[');
    for (const struct lt_aim_record *aim = waits ? record->aims : NULL; aim; aim = aim->next)
        add_aim(to, aim);
    lt_json_close(to, ']');
}

static void add_party(struct lt_text *to, const struct lt_look *look,
                      const struct lt_record *record)
{
    static const char *const states[] = { "started", "queued", "waiting", "ready", "running" };
    lt_json_open(to, NULL, '{');
    add_id(to, "id", record);
    lt_json_string(to, "kind", lt_tell_thing(record->thing));
    lt_json_string(to, "name", record->name);
    add_code(to, record->code);
    add_scope_of(to, look, record);
    lt_json_string(to, "state", states[record->state]);
    add_waits(to, look, record);
    if (record->worker >= 0)
        lt_json_number(to, "worker", (unsigned)record->worker);
    else
        lt_json_null(to, "worker");
    if (record->stack) {
        lt_json_number(to, "stack", lt_resident(record->stack, record->stack_size));
        lt_json_number(to, "stack_size", record->stack_size);
    } else {
        lt_json_null(to, "stack");
        lt_json_null(to, "stack_size");
    }
    add_frames(to, record->frames);
    lt_json_close(to, '}');
}

static void add_channel(struct lt_text *to, const struct lt_look *look,
                        const struct lt_record *record)
{
    lt_json_open(to, NULL, '{');
    add_id(to, "id", record);
    lt_json_string(to, "name", record->name);
    add_scope_id(to, "scope", look, record->place);
    lt_json_number(to, "items", record->length);
    lt_json_number(to, "capacity", record->capacity);
    lt_json_bool(to, "closed", record->closed);
    lt_json_number(to, "receivers", record->receivers);
    lt_json_number(to, "senders", record->senders);
    lt_json_number(to, "passed", record->passed);
    lt_json_close(to, '}');
}

static void add_descriptor(struct lt_text *to, const struct lt_look *look,
                           const struct lt_record *record)
{
    lt_json_open(to, NULL, '{');
    lt_json_id(to, "id", 'd', record->number);
    if (record->number <= INT_MAX)
        lt_json_number(to, "fd", record->number);
    else
        lt_json_null(to, "fd");
    add_scope_id(to, "scope", look, record->place);
    lt_json_bool(to, "closed", record->closed);
    lt_json_number(to, "readers", record->receivers);
    lt_json_number(to, "writers", record->senders);
    lt_json_close(to, '}');
}

static void add_batcher(struct lt_text *to, const struct lt_look *look,
                        const struct lt_record *record)
{
    lt_json_open(to, NULL, '{');
    add_id(to, "id", record);
    lt_json_string(to, "name", record->name);
    add_scope_id(to, "scope", look, record->place);
    lt_json_bool(to, "closed", record->closed);
    lt_json_number(to, "forming", record->forming);
    lt_json_number(to, "running", record->running);
    lt_json_number(to, "batches", record->batches);
    lt_json_number(to, "items", record->items);
    lt_json_close(to, '}');
}

static void add_ends(struct lt_text *to, const char *key, const struct lt_record *record,
                     enum lt_aim way)
{
    lt_json_open(to, key, '[');
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next)
        if (aim->aim == way)
            lt_json_id(to, NULL, 'c', aim->number);
    lt_json_close(to, ']');
}

static void add_if(struct lt_text *to, const char *key, bool known, uint64_t value)
{
    if (known)
        lt_json_number(to, key, value);
    else
        lt_json_null(to, key);
}

static void add_stage(struct lt_text *to, const struct lt_look *look,
                      const struct lt_record *record)
{
    lt_json_open(to, NULL, '{');
    add_id(to, "id", record);
    lt_json_string(to, "kind", record->what);
    lt_json_string(to, "name", record->name);
    add_scope_id(to, "scope", look, record->place);
    if (record->block)
        lt_json_place(to, "block", 'b', record->block);
    else
        lt_json_null(to, "block");
    lt_json_bool(to, "closed", record->closed);
    add_if(to, "n", record->n, record->n);
    add_if(to, "running", record->n, record->running);
    add_if(to, "window", record->n, record->window);
    add_if(to, "held", record->n, record->held);
    add_if(to, "items", record->n, record->items);
    lt_json_number(to, "inputs", record->receivers);
    add_ends(to, "in", record, LT_TO_RECEIVE);
    lt_json_number(to, "outputs", record->senders);
    add_ends(to, "out", record, LT_TO_SEND);
    lt_json_close(to, '}');
}

/* ---- the document ---- */

typedef void adds_record(struct lt_text *to, const struct lt_look *look,
                         const struct lt_record *record);

static void add_records(struct lt_text *to, const char *key, const struct lt_look *look,
                        enum lt_thing first, enum lt_thing last, adds_record *add)
{
    lt_json_open(to, key, '[');
    for (size_t i = 0; i < look->record_count; i++)
        if (look->records[i]->thing >= first && look->records[i]->thing <= last)
            add(to, look, look->records[i]);
    lt_json_close(to, ']');
}

static void add_lists(struct lt_text *to, const struct lt_look *look,
                      const struct worker_counts *counts)
{
    lt_json_open(to, "workers", '[');
    for (unsigned i = 0; i < look->worker_count; i++)
        add_worker(to, look, i, &counts[i]);
    lt_json_close(to, ']');
    lt_json_open(to, "scopes", '[');
    for (size_t i = 0; i < look->scope_count; i++)
        add_scope(to, look, &look->scopes[i]);
    lt_json_close(to, ']');
    add_records(to, "parties", look, LT_A_TASK, LT_A_TIMER, add_party);
    add_records(to, "channels", look, LT_A_CHANNEL, LT_A_CHANNEL, add_channel);
    add_records(to, "descriptors", look, LT_A_DESCRIPTOR, LT_A_DESCRIPTOR, add_descriptor);
    add_records(to, "batchers", look, LT_A_BATCHER, LT_A_BATCHER, add_batcher);
    add_records(to, "stages", look, LT_A_STAGE, LT_A_STAGE, add_stage);
}

static void add_head(struct lt_text *to, const struct lt_look *look)
{
    lt_json_string(to, "leat", VERSION(LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR, LEAT_VERSION_PATCH));
    lt_json_string(to, "program", program_invocation_short_name);
    lt_json_number(to, "pid", (uint64_t)getpid());
    lt_json_time(to, "uptime", look->now - lt_runtime.started);
    lt_json_time(to, "took", lt_clock_now() - look->now);
    lt_json_open(to, "watches", '{');
    lt_json_bool(to, "waits", lt_probing() & LT_PROBE_WAITS);
    lt_json_bool(to, "stacks", lt_frames_wanted());
    lt_json_close(to, '}');
    lt_json_bool(to, "sampled", look->sampled);
    lt_json_number(to, "members", look->members);
}

static int write_document(struct lt_text *to, const struct lt_look *look)
{
    leat_counts all;
    struct worker_counts *counts = lt_alloc(look->worker_count * sizeof *counts);
    int error = counts ? leat_count(&all) : -ENOMEM;
    if (!error)
        error = count_workers(counts, look->worker_count);
    if (!error) {
        lt_json_open(to, NULL, '{');
        add_head(to, look);
        lt_json_open(to, "counts", '{');
        add_counts(to, &all);
        lt_json_number(to, "stacks", all.stacks);
        lt_json_number(to, "stacks_free", all.stacks_free);
        lt_json_number(to, "threads", all.threads);
        lt_json_number(to, "threads_free", all.threads_free);
        lt_json_close(to, '}');
        add_lists(to, look, counts);
        lt_json_close(to, '}');
        lt_text_put(to, "\n", 1);
    }
    lt_free(counts);
    return error;
}

int lt_document(struct lt_text *to, const void *caller)
{
    struct lt_look look;
    int error = lt_look_begin(&look, caller, LT_LOOK_USUAL);
    if (error)
        return error;
    error = write_document(to, &look);
    lt_look_end(&look);
    return error ? error : to->failed ? -ENOMEM : 0;
}
