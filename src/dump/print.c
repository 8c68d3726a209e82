#define _GNU_SOURCE
#include "dump/print.h"

#include "base/alloc.h"
#include "sched/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

/* ---- pieces, for other writers ---- */

const struct lt_word_of_thing lt_things[LT_THINGS] = {
    { "task", 't' },       { "thread", 'h' },  { "block", 'b' },
    { "callback", 'k' },   { "timer", 'm' },   { "channel", 'c' },
    { "descriptor", 'd' }, { "batcher", 'g' }, { "stage", 'p' },
};

/* What the linker knows of the code and of its file; or NULL. */
static const struct link_map *find_code(const void *code, Dl_info *info)
{
    struct link_map *map = NULL;
    *info = (Dl_info){ 0 };
    return dladdr1(code, info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

/* A place in a file, as addr2line expects it, also in a program that is not
 * position-independent. */
static void print_place(FILE *to, const void *code, const Dl_info *info, const struct link_map *map,
                        const char *escaped)
{
    const char *slash = map && info->dli_fname ? strrchr(info->dli_fname, '/') : NULL;
    if (!map || !info->dli_fname) {
        fprintf(to, "%p", code);
        return;
    }
    lt_print_name(to, slash ? slash + 1 : info->dli_fname, escaped);
    fprintf(to, "+0x%zx", (size_t)((uintptr_t)code - map->l_addr));
}

void lt_print_code(FILE *to, const void *code, const char *escaped)
{
    Dl_info info;
    const struct link_map *map = find_code(code, &info);
    if (info.dli_sname && info.dli_saddr == code)
        fputs(info.dli_sname, to);
    else
        print_place(to, code, &info, map, escaped);
}

void lt_print_frame(FILE *to, const void *code, const char *escaped)
{
    Dl_info info;
    const struct link_map *map = find_code(code, &info);
    print_place(to, code, &info, map, escaped);
    if (info.dli_sname)
        fprintf(to, " %s+0x%zx", info.dli_sname,
                (size_t)((const char *)code - (const char *)info.dli_saddr));
}

void lt_print_descriptor(FILE *to, uint32_t number)
{
    if (number > INT_MAX)
        fputs("simulated descriptor", to);
    else
        fprintf(to, "descriptor %u", number);
}

void lt_print_time(FILE *to, int64_t ns)
{
    int64_t ms = (ns < 0 ? 0 : ns) / LEAT_MS;
    fprintf(to, "%lld.%03lld s", (long long)(ms / 1000), (long long)(ms % 1000));
}

/* The length of the UTF-8 character at `at` in bytes; 0: it is not one (RFC 3629). */
static size_t utf8_length(const unsigned char *at)
{
    size_t n = at[0] < 0x80                     ? 1
               : at[0] >= 0xC2 && at[0] <= 0xDF ? 2
               : (at[0] & 0xF0) == 0xE0         ? 3
               : at[0] >= 0xF0 && at[0] <= 0xF4 ? 4
                                                : 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0, beyond = at[0] == 0xF4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* The length of the character at `text`, if it may be in a line of text; 0 for a control character
 * (also one of two bytes), and for bytes that are no UTF-8. */
static size_t shown_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    bool controls = at[0] < 0x20 || at[0] == 0x7F || (at[0] == 0xC2 && at[1] < 0xA0);
    return controls ? 0 : utf8_length(at);
}

void lt_print_name(FILE *to, const char *name, const char *escaped)
{
    for (size_t n; *name; name += n ? n : 1) {
        n = shown_length(name);
        if (n && strchr(escaped, *name))
            putc('\\', to);
        if (n)
            fwrite(name, 1, n, to);
        else
            putc('?', to);
    }
}

void lt_print_json(FILE *to, const char *text)
{
    if (!text) {
        fputs("null", to);
        return;
    }
    putc('"', to);
    while (*text) {
        size_t run = 0;
        while (is_plain((unsigned char)text[run]))
            run++;
        fwrite(text, 1, run, to);
        text += run;
        unsigned char c = (unsigned char)*text;
        size_t n = c ? utf8_length((const unsigned char *)text) : 0;
        if (n > 1)
            fwrite(text, 1, n, to);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c)
            fprintf(to, "\\u%04x", n ? c : 0xFFFD);
        text += n ? n : c != 0;
    }
    putc('"', to);
}

size_t lt_resident(const char *low, size_t size)
{
    enum { PAGES = 512 };
    unsigned char there[PAGES];
    size_t page = lt_page_size(), count = 0, pages = (size + page - 1) / page;
    int saved = errno;
    for (size_t i = 0; i < pages; i += PAGES) {
        size_t n = pages - i < PAGES ? pages - i : PAGES;
        if (mincore((void *)(uintptr_t)(low + i * page), n * page, there) != 0)
            break;
        for (size_t k = 0; k < n; k++)
            count += there[k] & 1;
    }
    errno = saved;
    return count * page;
}

/* ---- pieces of a line ---- */

/* A party or channel, by its record or, if there is none, by its number. */
static void print_who(FILE *to, enum lt_thing thing, uint32_t number,
                      const struct lt_record *record)
{
    bool nameless = thing == LT_A_THREAD && !(record && record->name);
    fprintf(to, "%s%s", nameless ? "a " : "", lt_things[thing].word);
    if (number)
        fprintf(to, " %u", number);
    if (record && record->name) {
        putc(' ', to);
        lt_print_name(to, record->name, "");
    }
    if (record && record->code) {
        fputs(" ", to);
        lt_print_code(to, record->code, "");
    }
}

static void print_holder(FILE *to, const struct lt_look *look, const struct lt_record *channel)
{
    const struct lt_record *holder = channel ? lt_look_find_holder(look, channel) : NULL;
    if (!holder)
        return;
    fputs(", held by ", to);
    print_who(to, holder->thing, holder->number, holder);
}

static void print_aim(FILE *to, const struct lt_look *look, const struct lt_aim_record *aim)
{
    const struct lt_record *record = lt_look_find(look, aim->object, aim->number);
    switch (aim->aim) {
    case LT_TO_RECEIVE:
    case LT_TO_SEND:
        fputs(aim->aim == LT_TO_RECEIVE ? "to receive from " : "to send to ", to);
        print_who(to, LT_A_CHANNEL, aim->number, record);
        print_holder(to, look, record);
        break;
    case LT_TO_READ:
    case LT_TO_WRITE:
        fputs(aim->aim == LT_TO_READ ? "to read from " : "to write to ", to);
        lt_print_descriptor(to, aim->number);
        break;
    case LT_FOR_SCOPE: fprintf(to, "for the tasks of scope %u", aim->number); break;
    case LT_FOR_BLOCK:
        fputs("for the end of ", to);
        print_who(to, LT_A_BLOCK, 0, record);
        break;
    case LT_FOR_CALL:
        fputs("for a call of ", to);
        lt_print_code(to, aim->object, "");
        break;
    }
}

/* With a bound, so that a dump of many scopes inside each other stays short. */
static void indent(FILE *to, unsigned depth)
{
    fprintf(to, "%*s", depth < 32 ? (int)(2 * depth) : 64, "");
}

/* ---- lines ---- */

static void print_waiting(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    fputs(!record->aims && record->until != LEAT_NEVER ? "sleeps" : "waits", to);
    if (record->line)
        fprintf(to, " at line %u", record->line);
    if (record->aims && !record->aims->next) {
        fputs(" ", to);
        print_aim(to, look, record->aims);
    } else if (record->aims) {
        fputs(" in a select", to);
    }
    if (record->until != LEAT_NEVER) {
        fputs(", ", to);
        lt_print_time(to, record->until - look->now);
        fputs(record->aims ? " more at most" : " more", to);
    }
    if (record->since) {
        fputs(", since ", to);
        lt_print_time(to, look->now - record->since);
    }
}

static void print_state(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    switch (record->state) {
    case LT_IS_THERE:
        fputs(record->thing == LT_A_THREAD  ? "runs, or waits elsewhere"
              : record->thing == LT_A_TIMER ? "is set"
              : record->worker < 0          ? "runs, or is about to"
                                            : "has started",
              to);
        break;
    case LT_IS_QUEUED: fputs("has not started", to); break;
    case LT_IS_WAITING: print_waiting(to, look, record); break;
    case LT_IS_READY: fputs("is ready to go on", to); break;
    case LT_IS_RUNNING: fputs("runs", to); break;
    }
    if (record->worker >= 0 && look->worker_count > 1)
        fprintf(to, ", on worker %d", record->worker);
    if (record->stack) {
        size_t used = lt_resident(record->stack, record->stack_size);
        fprintf(to, "; stack %zu of %zu KiB", used / 1024, (record->stack_size + 1023) / 1024);
    }
}

static void print_frames(FILE *to, const struct lt_frames *frames, unsigned depth)
{
    for (size_t i = 0; frames && i < frames->count; i++) {
        indent(to, depth);
        fputs("at ", to);
        lt_print_frame(to, frames->code[i], "");
        fputs("\n", to);
    }
    if (frames && frames->count == LT_FRAMES) {
        indent(to, depth);
        fputs("at ...\n", to);
    }
}

static void print_party(FILE *to, const struct lt_look *look, const struct lt_record *record,
                        unsigned depth)
{
    print_who(to, record->thing, record->number, record);
    fputs(": ", to);
    print_state(to, look, record);
    fputs("\n", to);
    bool selects = record->state == LT_IS_WAITING && record->aims && record->aims->next;
    for (const struct lt_aim_record *aim = selects ? record->aims : NULL; aim; aim = aim->next) {
        indent(to, depth + 1);
        print_aim(to, look, aim);
        fputs("\n", to);
    }
    print_frames(to, record->frames, depth + 1);
}

static void print_waiters(FILE *to, const struct lt_look *look, const struct lt_record *record,
                          unsigned depth)
{
    static const char *const purposes[] = { [LT_TO_RECEIVE] = "receive",
                                            [LT_TO_SEND] = "send",
                                            [LT_TO_READ] = "read",
                                            [LT_TO_WRITE] = "write" };
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        const struct lt_record *party = lt_look_find(look, aim->object, aim->number);
        if (!party)
            continue;
        indent(to, depth);
        print_who(to, party->thing, party->number, party);
        fprintf(to, " waits to %s\n", purposes[aim->aim]);
    }
}

static void print_channel(FILE *to, const struct lt_look *look, const struct lt_record *record,
                          unsigned depth)
{
    print_who(to, LT_A_CHANNEL, record->number, record);
    fprintf(to, ": %zu of %zu items%s", record->length, record->capacity,
            record->closed ? ", closed" : "");
    print_holder(to, look, record);
    fputs("\n", to);
    print_waiters(to, look, record, depth + 1);
}

/* "1 waits to read, 2 wait to write"; without waiters, "open" or "closed". */
static void print_descriptor(FILE *to, const struct lt_look *look, const struct lt_record *record,
                             unsigned depth)
{
    lt_print_descriptor(to, record->number);
    fputs(record->closed ? ": closed" : ": ", to);
    if (record->receivers)
        fprintf(to, "%u %s to read", record->receivers, record->receivers == 1 ? "waits" : "wait");
    if (record->senders)
        fprintf(to, "%s%u %s to write", record->receivers ? ", " : "", record->senders,
                record->senders == 1 ? "waits" : "wait");
    if (!record->closed && !record->receivers && !record->senders)
        fputs("open", to);
    fputs("\n", to);
    print_waiters(to, look, record, depth + 1);
}

static void print_batcher(FILE *to, const struct lt_record *record)
{
    const struct lt_sight *seen = record->sight;
    print_who(to, LT_A_BATCHER, 0, record);
    fprintf(to, ": %zu forming, %zu running, %llu item%s in %llu batch%s so far%s\n", seen->forming,
            seen->running, (unsigned long long)seen->items, seen->items == 1 ? "" : "s",
            (unsigned long long)seen->batches, seen->batches == 1 ? "" : "es",
            seen->closed ? ", closed" : "");
}

/* "from channel 3, channel 4 and 7 more" */
static void print_ends(FILE *to, const char *before, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < LT_SIGHT_ENDS; i++, before = ",")
        fprintf(to, "%s channel %u", before, numbers[i]);
    if (n > LT_SIGHT_ENDS)
        fprintf(to, " and %u more", n - LT_SIGHT_ENDS);
}

/* An operator is a block: the block's line says what it does. */
static void print_stage(FILE *to, const struct lt_record *record)
{
    const struct lt_sight *seen = record->sight;
    fprintf(to, "%s ", seen->what);
    print_who(to, LT_A_STAGE, 0, record);
    putc(':', to);
    print_ends(to, " from", seen->in, seen->ins);
    print_ends(to, " to", seen->out, seen->outs);
    if (seen->n)
        fprintf(to, ", %zu of %u run, %u of %u items in flight, %llu so far", seen->running,
                seen->n, seen->held, seen->window, (unsigned long long)seen->items);
    fprintf(to, "%s\n", seen->closed ? ", closed" : "");
}

/* The records of a scope, or those in none. */
static void print_records(FILE *to, const struct lt_look *look, size_t place, unsigned depth)
{
    for (size_t i = lt_look_first_record(look, place);
         i < look->record_count && look->records[i]->place == place; i++) {
        const struct lt_record *record = look->records[i];
        indent(to, depth);
        switch (record->thing) {
        case LT_A_CHANNEL: print_channel(to, look, record, depth); break;
        case LT_A_DESCRIPTOR: print_descriptor(to, look, record, depth); break;
        case LT_A_BATCHER: print_batcher(to, record); break;
        case LT_A_STAGE: print_stage(to, record); break;
        default: print_party(to, look, record, depth);
        }
    }
}

static void print_scope(FILE *to, const struct lt_look *look, const struct lt_scope_record *scope,
                        unsigned depth)
{
    const struct lt_record *opener = lt_look_find(look, scope->opener, scope->opener_number);
    indent(to, depth);
    fprintf(to, "scope %u, opened by ", scope->number);
    print_who(to, scope->opener_is_thread ? LT_A_THREAD : LT_A_TASK, scope->opener_number, opener);
    if (scope->opener_joins)
        fputs(", which waits for its end", to);
    if (scope->opener_since) {
        fputs(", since ", to);
        lt_print_time(to, look->now - scope->opener_since);
    }
    if (scope->cancelled)
        fputs(", cancelled", to);
    else if (scope->deadline != LEAT_NEVER) {
        fputs(", cancelled in ", to);
        lt_print_time(to, scope->deadline - look->now);
    }
    fputs("\n", to);
}

static void print_scopes(FILE *to, const struct lt_look *look)
{
    unsigned depth = 0;
    for (size_t at = look->scope_count ? 0 : LT_NOWHERE; at != LT_NOWHERE;
         at = lt_look_next_scope(look, at, &depth)) {
        print_scope(to, look, &look->scopes[at], depth);
        print_records(to, look, at, depth + 1);
    }
    size_t rest = lt_look_first_record(look, LT_NOWHERE);
    bool late = false;
    for (size_t i = rest; i < look->record_count; i++)
        late |= look->records[i]->scope || look->records[i]->thing == LT_A_TASK;
    if (rest < look->record_count)
        fprintf(to, "in no scope%s\n", late ? ", or in one that opened meanwhile" : "");
    print_records(to, look, LT_NOWHERE, 1);
}

/* Only if the environment asks for rings. */
static void print_rings(FILE *to)
{
    int refusal = lt_uring_refusal();
    if (refusal)
        fprintf(to, "descriptors: epoll; the system refuses io_uring, error %d\n", -refusal);
    else if (lt_uring_is_wanted())
        fputs("descriptors: io_uring and epoll\n", to);
}

static void print_worker(FILE *to, const struct lt_look *look, unsigned i)
{
    const struct lt_worker_record *worker = &look->workers[i];
    fprintf(to, "worker %u", i);
    if (!worker->answered)
        fprintf(to, " did not answer within %d ms:", look->answer_ms);
    else
        fputs(":", to);
    if (worker->running) {
        fputs(worker->answered ? " runs " : " it has been running ", to);
        print_who(to, LT_A_TASK, worker->running->number, worker->running);
    } else {
        fputs(worker->answered ? " runs nothing" : " it runs a block or a callback", to);
    }
    if (worker->ready)
        fprintf(to, ", %u ready", worker->ready);
    if (worker->queued)
        fprintf(to, ", %u to start", worker->queued);
    if (worker->timers)
        fprintf(to, ", %llu timer%s", (unsigned long long)worker->timers,
                worker->timers == 1 ? "" : "s");
    fputs("\n", to);
    print_frames(to, worker->frames, 1);
}

void lt_print(FILE *to, const struct lt_look *look)
{
    size_t count[LT_THINGS] = { 0 };
    for (size_t i = 0; i < look->record_count; i++)
        count[look->records[i]->thing]++;
    fputs("leat: ", to);
    for (enum lt_thing thing = LT_A_TASK; thing < LT_THINGS; thing++)
        if (thing <= LT_A_CHANNEL || count[thing])
            fprintf(to, "%zu %s%s, ", count[thing], lt_things[thing].word,
                    count[thing] == 1 ? "" : "s");
    fprintf(to, "%zu scope%s\n", look->scope_count, look->scope_count == 1 ? "" : "s");
    print_rings(to);
    for (unsigned i = 0; i < look->worker_count; i++)
        print_worker(to, look, i);
    print_scopes(to, look);
}
