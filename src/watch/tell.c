#define _GNU_SOURCE
#include "watch/tell.h"

#include "sched/runtime.h"
#include "watch/peek.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

static const char *const things[] = { "task",    "thread",     "block",   "callback", "timer",
                                      "channel", "descriptor", "batcher", "stage" };

const char *lt_tell_thing(enum lt_thing thing)
{
    return things[thing];
}

/* The file that has the code, and what the linker knows of it; NULL: not known. */
static const char *find_code(const void *code, Dl_info *info, const struct link_map **map)
{
    if (dladdr1(code, info, (void **)map, RTLD_DL_LINKMAP) == 0 || !info->dli_fname || !*map)
        return NULL;
    const char *slash = strrchr(info->dli_fname, '/');
    return slash ? slash + 1 : info->dli_fname;
}

/* A place in a file, as addr2line wants it: in a program that is not position-independent, too. */
static void tell_place_in(struct lt_text *text, const char *file, const struct link_map *map,
                          const void *code)
{
    lt_text_add(text, "%s+0x%zx", file, (size_t)((uintptr_t)code - map->l_addr));
}

void lt_tell_code(struct lt_text *text, const void *code)
{
    Dl_info info;
    const struct link_map *map = NULL;
    const char *file = find_code(code, &info, &map);
    if (!file)
        lt_text_add(text, "%p", code);
    else if (info.dli_sname && info.dli_saddr == code)
        lt_text_add(text, "%s", info.dli_sname);
    else
        tell_place_in(text, file, map, code);
}

void lt_tell_frame(struct lt_text *text, const void *code)
{
    Dl_info info;
    const struct link_map *map = NULL;
    const char *file = find_code(code, &info, &map);
    if (!file) {
        lt_text_add(text, "%p", code);
        return;
    }
    tell_place_in(text, file, map, code);
    if (info.dli_sname)
        lt_text_add(text, " %s+0x%zx", info.dli_sname,
                    (size_t)((const char *)code - (const char *)info.dli_saddr));
}

void lt_tell_time(struct lt_text *text, int64_t ns)
{
    int64_t ms = (ns < 0 ? 0 : ns) / LEAT_MS;
    lt_text_add(text, "%lld.%03lld s", (long long)(ms / 1000), (long long)(ms % 1000));
}

/* ---- pieces of a line ---- */

void lt_tell_descriptor(struct lt_text *text, uint32_t number)
{
    if (number > INT_MAX)
        lt_text_add(text, "simulated descriptor");
    else
        lt_text_add(text, "descriptor %u", number);
}

/* A party or channel, by what is known of it; without a record, by its number. */
static void tell_who(struct lt_text *text, enum lt_thing thing, uint32_t number,
                     const struct lt_record *record)
{
    if (thing == LT_A_DESCRIPTOR) {
        lt_tell_descriptor(text, number);
        return;
    }
    bool nameless = thing == LT_A_THREAD && !(record && record->name);
    lt_text_add(text, "%s%s", nameless ? "a " : "", things[thing]);
    if (number)
        lt_text_add(text, " %u", number);
    if (record && record->name)
        lt_text_add(text, " %s", record->name);
    if (record && record->code) {
        lt_text_add(text, " ");
        lt_tell_code(text, record->code);
    }
}

static void tell_aim(struct lt_text *text, const struct lt_look *look,
                     const struct lt_aim_record *aim)
{
    const struct lt_record *record = lt_look_find(look, aim->object, aim->number);
    switch (aim->aim) {
    case LT_TO_RECEIVE:
    case LT_TO_SEND:
        lt_text_add(text, aim->aim == LT_TO_RECEIVE ? "to receive from " : "to send to ");
        tell_who(text, LT_A_CHANNEL, aim->number, record);
        break;
    case LT_TO_READ:
    case LT_TO_WRITE:
        lt_text_add(text, aim->aim == LT_TO_READ ? "to read from " : "to write to ");
        lt_tell_descriptor(text, aim->number);
        break;
    case LT_FOR_SCOPE: lt_text_add(text, "for the tasks of scope %u", aim->number); break;
    case LT_FOR_BLOCK:
        lt_text_add(text, "for the end of ");
        tell_who(text, LT_A_BLOCK, 0, record);
        break;
    case LT_FOR_CALL:
        lt_text_add(text, "for a call of ");
        lt_tell_code(text, aim->object);
        break;
    }
}

static void indent(struct lt_text *text, unsigned depth)
{
    lt_text_add(text, "%*s", (int)(2 * depth), "");
}

/* ---- lines ---- */

static void tell_waiting(struct lt_text *text, const struct lt_look *look,
                         const struct lt_record *record)
{
    lt_text_add(text, !record->aims && record->until != LEAT_NEVER ? "sleeps" : "waits");
    if (record->line)
        lt_text_add(text, " at line %u", record->line);
    if (record->aims && !record->aims->next) {
        lt_text_add(text, " ");
        tell_aim(text, look, record->aims);
    } else if (record->aims) {
        lt_text_add(text, " in a select");
    }
    if (record->until != LEAT_NEVER) {
        lt_text_add(text, ", ");
        lt_tell_time(text, record->until - look->now);
        lt_text_add(text, " more");
        lt_text_add(text, record->aims ? " at most" : "");
    }
    if (record->since) {
        lt_text_add(text, ", since ");
        lt_tell_time(text, look->now - record->since);
    }
}

static void tell_state(struct lt_text *text, const struct lt_look *look,
                       const struct lt_record *record)
{
    switch (record->state) {
    case LT_IS_THERE:
        lt_text_add(text, record->thing == LT_A_THREAD  ? "runs, or waits elsewhere"
                          : record->thing == LT_A_TIMER ? "is set"
                          : record->worker < 0          ? "runs, or is about to"
                                                        : "has started");
        break;
    case LT_IS_QUEUED: lt_text_add(text, "has not started"); break;
    case LT_IS_WAITING: tell_waiting(text, look, record); break;
    case LT_IS_READY: lt_text_add(text, "is ready to go on"); break;
    case LT_IS_RUNNING: lt_text_add(text, "runs"); break;
    }
    if (record->worker >= 0 && look->worker_count > 1)
        lt_text_add(text, ", on worker %d", record->worker);
    if (record->stack) {
        size_t used = lt_resident(record->stack, record->stack_size);
        lt_text_add(text, "; stack %zu of %zu KiB", used / 1024,
                    (record->stack_size + 1023) / 1024);
    }
}

static void tell_frames(struct lt_text *text, const struct lt_frames *frames, unsigned depth)
{
    for (size_t i = 0; frames && i < frames->count; i++) {
        indent(text, depth);
        lt_text_add(text, "at ");
        lt_tell_frame(text, frames->code[i]);
        lt_text_add(text, "\n");
    }
    if (frames && frames->count == LT_FRAMES) {
        indent(text, depth);
        lt_text_add(text, "at ...\n");
    }
}

static void tell_party(struct lt_text *text, const struct lt_look *look,
                       const struct lt_record *record, unsigned depth)
{
    indent(text, depth);
    tell_who(text, record->thing, record->number, record);
    lt_text_add(text, ": ");
    tell_state(text, look, record);
    if (record->hidden && record->scope_number)
        lt_text_add(text, "; in scope %u, which is not shown", record->scope_number);
    else if (record->hidden)
        lt_text_add(text, "; in a scope that is not shown");
    lt_text_add(text, "\n");
    bool selects = record->state == LT_IS_WAITING && record->aims && record->aims->next;
    for (const struct lt_aim_record *aim = selects ? record->aims : NULL; aim; aim = aim->next) {
        indent(text, depth + 1);
        tell_aim(text, look, aim);
        lt_text_add(text, "\n");
    }
    tell_frames(text, record->frames, depth + 1);
}

static const char *purpose(enum lt_aim aim)
{
    switch (aim) {
    case LT_TO_RECEIVE: return "receive";
    case LT_TO_SEND: return "send";
    case LT_TO_READ: return "read";
    default: return "write";
    }
}

static void tell_waiters(struct lt_text *text, const struct lt_look *look,
                         const struct lt_record *record, unsigned depth)
{
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        const struct lt_record *party = lt_look_find(look, aim->object, aim->number);
        if (!party)
            continue;
        indent(text, depth);
        tell_who(text, party->thing, party->number, party);
        lt_text_add(text, " waits to %s\n", purpose(aim->aim));
    }
}

static void tell_channel(struct lt_text *text, const struct lt_look *look,
                         const struct lt_record *record, unsigned depth)
{
    indent(text, depth);
    tell_who(text, LT_A_CHANNEL, record->number, record);
    lt_text_add(text, ": %zu of %zu items%s\n", record->length, record->capacity,
                record->closed ? ", closed" : "");
    tell_waiters(text, look, record, depth + 1);
}

/* "1 waits to read, 2 wait to write"; with nobody, "open" or "closed". */
static void tell_descriptor(struct lt_text *text, const struct lt_look *look,
                            const struct lt_record *record, unsigned depth)
{
    indent(text, depth);
    lt_tell_descriptor(text, record->number);
    lt_text_add(text, record->closed ? ": closed" : ": ");
    if (record->receivers)
        lt_text_add(text, "%u %s to read", record->receivers,
                    record->receivers == 1 ? "waits" : "wait");
    if (record->senders)
        lt_text_add(text, "%s%u %s to write", record->receivers ? ", " : "", record->senders,
                    record->senders == 1 ? "waits" : "wait");
    if (!record->closed && !record->receivers && !record->senders)
        lt_text_add(text, "open");
    lt_text_add(text, "\n");
    tell_waiters(text, look, record, depth + 1);
}

static void tell_batcher(struct lt_text *text, const struct lt_record *record, unsigned depth)
{
    indent(text, depth);
    tell_who(text, LT_A_BATCHER, 0, record);
    lt_text_add(text, ": %zu forming, %zu running, %llu item%s in %llu batch%s so far%s\n",
                record->forming, record->running, (unsigned long long)record->items,
                record->items == 1 ? "" : "s", (unsigned long long)record->batches,
                record->batches == 1 ? "" : "es", record->closed ? ", closed" : "");
}

/* "channel 3, channel 4 and 7 more" */
static void tell_ends(struct lt_text *text, const struct lt_record *record, enum lt_aim way)
{
    uint32_t left = way == LT_TO_RECEIVE ? record->receivers : record->senders;
    const char *before = way == LT_TO_RECEIVE ? " from" : " to";
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        if (aim->aim != way)
            continue;
        lt_text_add(text, "%s channel %u", before, aim->number);
        before = ",";
        left--;
    }
    if (left)
        lt_text_add(text, " and %u more", left);
}

/* An operator is a block: what it does stands there. */
static void tell_stage(struct lt_text *text, const struct lt_record *record, unsigned depth)
{
    indent(text, depth);
    lt_text_add(text, "%s ", record->what);
    tell_who(text, LT_A_STAGE, 0, record);
    lt_text_add(text, ":");
    tell_ends(text, record, LT_TO_RECEIVE);
    tell_ends(text, record, LT_TO_SEND);
    if (record->n)
        lt_text_add(text, ", %zu of %u run, %u of %u items in flight, %llu so far", record->running,
                    record->n, record->held, record->window, (unsigned long long)record->items);
    lt_text_add(text, "%s\n", record->closed ? ", closed" : "");
}

static void tell_place(struct lt_text *text, const struct lt_look *look, size_t *next, size_t place,
                       unsigned depth)
{
    for (; *next < look->record_count && look->records[*next]->place == place; ++*next) {
        const struct lt_record *record = look->records[*next];
        switch (record->thing) {
        case LT_A_CHANNEL: tell_channel(text, look, record, depth); break;
        case LT_A_DESCRIPTOR: tell_descriptor(text, look, record, depth); break;
        case LT_A_BATCHER: tell_batcher(text, record, depth); break;
        case LT_A_STAGE: tell_stage(text, record, depth); break;
        default: tell_party(text, look, record, depth);
        }
    }
}

static void tell_scope(struct lt_text *text, const struct lt_look *look,
                       const struct lt_scope_record *scope, unsigned depth)
{
    const struct lt_record *opener = lt_look_find(look, scope->opener, scope->opener_number);
    indent(text, depth);
    lt_text_add(text, "scope %u, opened by ", scope->number);
    tell_who(text, scope->opener_is_thread ? LT_A_THREAD : LT_A_TASK, scope->opener_number, opener);
    if (scope->opener_joins)
        lt_text_add(text, ", which waits for its end");
    if (scope->opener_since) {
        lt_text_add(text, ", since ");
        lt_tell_time(text, look->now - scope->opener_since);
    }
    if (scope->cancelled)
        lt_text_add(text, ", cancelled");
    else if (scope->deadline != LEAT_NEVER) {
        lt_text_add(text, ", cancelled in ");
        lt_tell_time(text, scope->deadline - look->now);
    }
    lt_text_add(text, "\n");
}

static void tell_scopes(struct lt_text *text, const struct lt_look *look)
{
    unsigned depth = 0;
    for (size_t at = look->scope_count ? 0 : LT_NOWHERE; at != LT_NOWHERE;
         at = lt_look_next_scope(look, at, &depth)) {
        size_t next = lt_look_first_record(look, at);
        tell_scope(text, look, &look->scopes[at], depth);
        tell_place(text, look, &next, at, depth + 1);
    }
    size_t next = lt_look_first_record(look, LT_NOWHERE);
    if (next == look->record_count)
        return;
    lt_text_add(text, "in no scope\n");
    tell_place(text, look, &next, LT_NOWHERE, 1);
}

/* Only where the environment asks for rings. */
static void tell_rings(struct lt_text *text)
{
    int refusal = lt_uring_refusal();
    if (refusal)
        lt_text_add(text, "descriptors: epoll; the system refuses io_uring, error %d\n", -refusal);
    else if (lt_uring_is_wanted())
        lt_text_add(text, "descriptors: io_uring and epoll\n");
}

static void tell_worker(struct lt_text *text, const struct lt_look *look, unsigned i)
{
    const struct lt_worker_record *worker = &look->workers[i];
    lt_text_add(text, "worker %u", i);
    if (!worker->answered)
        lt_text_add(text, " did not answer within %d ms:", look->answer_ms);
    else
        lt_text_add(text, ":");
    if (worker->running) {
        lt_text_add(text, worker->answered ? " runs " : " it has been running ");
        tell_who(text, LT_A_TASK, worker->running->number, worker->running);
    } else {
        lt_text_add(text, worker->answered ? " runs nothing" : " it runs a block or a callback");
    }
    if (worker->ready)
        lt_text_add(text, ", %u%s ready", worker->ready, worker->more ? " or more" : "");
    if (worker->queued)
        lt_text_add(text, ", %u to start", worker->queued);
    if (worker->timers)
        lt_text_add(text, ", %llu timers", (unsigned long long)worker->timers);
    lt_text_add(text, "\n");
    tell_frames(text, worker->frames, 1);
}

void lt_tell(struct lt_text *text, const struct lt_look *look)
{
    size_t count[LT_THINGS] = { 0 };
    for (size_t i = 0; i < look->record_count; i++)
        count[look->records[i]->thing]++;
    lt_text_add(text, "leat: ");
    for (enum lt_thing thing = LT_A_TASK; thing < LT_THINGS; thing++)
        if (thing <= LT_A_CHANNEL || count[thing])
            lt_text_add(text, "%zu %s%s, ", count[thing], things[thing],
                        count[thing] == 1 ? "" : "s");
    lt_text_add(text, "%zu scope%s%s\n", look->scope_count, look->scope_count == 1 ? "" : "s",
                look->sampled ? ", and more that is not shown" : "");
    tell_rings(text);
    for (unsigned i = 0; i < look->worker_count; i++)
        tell_worker(text, look, i);
    tell_scopes(text, look);
}
