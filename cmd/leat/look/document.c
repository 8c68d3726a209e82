#include "look/document.h"

#include "look/fields.h"
#include "look/index.h"

#include <stdlib.h>
#include <string.h>

/* Lists and objects nest at most so deep, and there are at most so many values. */
enum { NESTING_MOST = 32, VALUES_MOST = 4 << 20 };

const char *const document_counts[COUNTS] = { "switches", "started", "received", "stolen",
                                              "moved",    "sleeps",  "timers" };

/* Refuses JSON that no leat writes before it is parsed: the parser recurses, and takes some ten
 * times the memory of the text. */
static bool is_sane(const char *bytes, size_t len)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < len && depth <= NESTING_MOST && values <= VALUES_MOST; i++) {
        char c = bytes[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{'))
            depth++;
        else if (!in_string && (c == ']' || c == '}') && depth)
            depth--;
        if (!in_string && (c == ',' || c == '[' || c == '{'))
            values++;
    }
    return depth <= NESTING_MOST && values <= VALUES_MOST;
}

/* Zeroed memory that the document owns; NULL after a trouble, or for nothing. */
static void *make_list(struct document *d, size_t count, size_t size, struct trouble *why)
{
    if (count == 0 || is_trouble(why))
        return NULL;
    void *list = calloc(count, size);
    /* The number is doubled whenever it is a power of 2. */
    void **lists = d->lists;
    if (list && (d->list_count & (d->list_count - 1)) == 0)
        lists = realloc(d->lists, (d->list_count ? 2 * d->list_count : 1) * sizeof *lists);
    if (!list || !lists) {
        free(list);
        trouble_say(why, "memory exhausted");
        return NULL;
    }
    d->lists = lists;
    d->lists[d->list_count++] = list;
    return list;
}

static const char *const *read_strings(struct document *d, const struct fields *f, const char *name,
                                       enum nullable n, size_t *count)
{
    json_t *array = field_array(f, name, n);
    *count = json_array_size(array);
    const char **strings = make_list(d, *count, sizeof *strings, f->why);
    for (size_t i = 0; strings && i < *count; i++) {
        strings[i] = json_string_value(json_array_get(array, i));
        if (!strings[i]) {
            trouble_say(f->why, "its document is wrong: %s %zu of %s %zu is not a string", name, i,
                        f->list, f->at);
            strings[i] = "";
        }
    }
    *count = strings ? *count : 0;
    return strings;
}

static const char *const *read_calls(struct document *d, const struct fields *f, size_t *count)
{
    return read_strings(d, f, "calls", MAYBE_NULL, count);
}

static struct counts read_counts(const struct fields *f)
{
    struct counts counts;
    for (size_t i = 0; i < COUNTS; i++)
        counts.n[i] = field_count(f, document_counts[i], NEVER_NULL);
    return counts;
}

/* ---- the lists: each of these reads one element ---- */

typedef void reads(struct document *d, const struct fields *f, void *to);

static void read_worker(struct document *d, const struct fields *f, void *to)
{
    struct worker *w = to;
    w->number = field_count(f, "worker", NEVER_NULL);
    w->cpu = field_number(f, "cpu", MAYBE_NULL);
    w->answered = field_bool(f, "answered");
    w->runs = field_string(f, "runs", MAYBE_NULL);
    w->calls = read_calls(d, f, &w->call_count);
    w->ready = field_count(f, "ready", NEVER_NULL);
    w->queued = field_count(f, "queued", NEVER_NULL);
    w->counts = read_counts(f);
}

static void read_scope(struct document *d, const struct fields *f, void *to)
{
    (void)d;
    struct scope *s = to;
    s->id = field_string(f, "id", NEVER_NULL);
    s->around = field_string(f, "around", MAYBE_NULL);
    s->opener = field_string(f, "opener", MAYBE_NULL);
    s->joins = field_bool(f, "joins");
    s->cancelled = field_bool(f, "cancelled");
    s->ends = field_number(f, "ends", MAYBE_NULL);
    s->members = field_count(f, "members", NEVER_NULL);
    s->since = field_number(f, "since", MAYBE_NULL);
}

static const struct wait *read_waits(struct document *d, const struct fields *f, size_t *count)
{
    json_t *array = field_array(f, "waits", NEVER_NULL);
    *count = json_array_size(array);
    struct wait *waits = make_list(d, *count, sizeof *waits, f->why);
    for (size_t i = 0; waits && i < *count; i++) {
        struct fields one = fields_at(array, i, "wait", f->why);
        waits[i].what = field_string(&one, "for", NEVER_NULL);
        waits[i].of = field_string(&one, "of", MAYBE_NULL);
    }
    *count = waits ? *count : 0;
    return waits;
}

static void read_party(struct document *d, const struct fields *f, void *to)
{
    struct party *p = to;
    p->id = field_string(f, "id", NEVER_NULL);
    p->kind = field_string(f, "kind", NEVER_NULL);
    p->name = field_string(f, "name", MAYBE_NULL);
    p->code = field_string(f, "code", MAYBE_NULL);
    p->scope = field_string(f, "scope", MAYBE_NULL);
    p->state = field_string(f, "state", NEVER_NULL);
    p->since = field_number(f, "since", MAYBE_NULL);
    p->more = field_number(f, "more", MAYBE_NULL);
    p->worker = field_count(f, "worker", MAYBE_NULL);
    p->line = field_count(f, "line", MAYBE_NULL);
    p->stack = field_count(f, "stack", MAYBE_NULL);
    p->stack_size = field_count(f, "stack_size", MAYBE_NULL);
    p->waits = read_waits(d, f, &p->wait_count);
    if (!p->wait_count && strcmp(p->state, "waiting") == 0) {
        static const struct wait sleeps = { .what = "sleep" };
        p->waits = &sleeps;
        p->wait_count = 1;
    }
    p->calls = read_calls(d, f, &p->call_count);
}

static void read_channel(struct document *d, const struct fields *f, void *to)
{
    (void)d;
    struct channel *c = to;
    c->id = field_string(f, "id", NEVER_NULL);
    c->name = field_string(f, "name", MAYBE_NULL);
    c->scope = field_string(f, "scope", MAYBE_NULL);
    c->closed = field_bool(f, "closed");
    c->items = field_count(f, "items", NEVER_NULL);
    c->capacity = field_count(f, "capacity", NEVER_NULL);
    c->receivers = field_count(f, "receivers", NEVER_NULL);
    c->senders = field_count(f, "senders", NEVER_NULL);
    c->passed = field_count(f, "passed", NEVER_NULL);
    c->holder = field_string(f, "holder", MAYBE_NULL);
}

static void read_descriptor(struct document *d, const struct fields *f, void *to)
{
    (void)d;
    struct descriptor *one = to;
    one->id = field_string(f, "id", NEVER_NULL);
    one->scope = field_string(f, "scope", MAYBE_NULL);
    one->closed = field_bool(f, "closed");
    one->fd = field_count(f, "fd", MAYBE_NULL);
    one->readers = field_count(f, "readers", NEVER_NULL);
    one->writers = field_count(f, "writers", NEVER_NULL);
}

static void read_batcher(struct document *d, const struct fields *f, void *to)
{
    (void)d;
    struct batcher *b = to;
    b->id = field_string(f, "id", NEVER_NULL);
    b->name = field_string(f, "name", MAYBE_NULL);
    b->scope = field_string(f, "scope", MAYBE_NULL);
    b->closed = field_bool(f, "closed");
    b->forming = field_count(f, "forming", NEVER_NULL);
    b->running = field_count(f, "running", NEVER_NULL);
    b->batches = field_count(f, "batches", NEVER_NULL);
    b->items = field_count(f, "items", NEVER_NULL);
}

static void read_stage(struct document *d, const struct fields *f, void *to)
{
    struct stage *s = to;
    s->id = field_string(f, "id", NEVER_NULL);
    s->kind = field_string(f, "kind", NEVER_NULL);
    s->name = field_string(f, "name", MAYBE_NULL);
    s->scope = field_string(f, "scope", MAYBE_NULL);
    s->block = field_string(f, "block", MAYBE_NULL);
    s->closed = field_bool(f, "closed");
    s->n = field_count(f, "n", MAYBE_NULL);
    s->running = field_count(f, "running", MAYBE_NULL);
    s->window = field_count(f, "window", MAYBE_NULL);
    s->held = field_count(f, "held", MAYBE_NULL);
    s->items = field_count(f, "items", MAYBE_NULL);
    s->inputs = field_count(f, "inputs", NEVER_NULL);
    s->outputs = field_count(f, "outputs", NEVER_NULL);
    s->in = read_strings(d, f, "in", NEVER_NULL, &s->in_count);
    s->out = read_strings(d, f, "out", NEVER_NULL, &s->out_count);
}

static void *read_list(struct document *d, const struct fields *f, const char *name, size_t size,
                       size_t *count, reads *read)
{
    json_t *array = field_array(f, name, NEVER_NULL);
    *count = json_array_size(array);
    char *list = make_list(d, *count, size, f->why);
    for (size_t i = 0; list && i < *count && !is_trouble(f->why); i++) {
        struct fields one = fields_at(array, i, name, f->why);
        read(d, &one, list + i * size);
    }
    *count = list ? *count : 0;
    return list;
}

/* An older leat does not send this list. */
static void *read_extra(struct document *d, const struct fields *f, const char *name, size_t size,
                        size_t *count, reads *read)
{
    return json_object_get(f->object, name) ? read_list(d, f, name, size, count, read) : NULL;
}

static void read_head(struct document *d, const struct fields *f)
{
    d->program = field_string(f, "program", NEVER_NULL);
    d->leat = field_string(f, "leat", NEVER_NULL);
    d->pid = field_count(f, "pid", NEVER_NULL);
    d->uptime = field_number(f, "uptime", NEVER_NULL);
    d->members = field_count(f, "members", NEVER_NULL);
    d->sampled = field_bool(f, "sampled");
    struct fields watches = field_object(f, "watches"), counts = field_object(f, "counts");
    d->stacks = field_bool(&watches, "stacks");
    d->counts = read_counts(&counts);
    d->stacks_used = field_count(&counts, "stacks", NEVER_NULL);
    d->stacks_free = field_count(&counts, "stacks_free", NEVER_NULL);
    d->threads = field_count(&counts, "threads", NEVER_NULL);
    d->threads_free = field_count(&counts, "threads_free", NEVER_NULL);
}

static void read_all(struct document *d, struct trouble *why)
{
    struct fields f = { d->json, NULL, 0, why };
    if (!json_is_object(f.object)) {
        trouble_say(why, "its document is wrong: it is not an object");
        return;
    }
    read_head(d, &f);
    d->workers = read_list(d, &f, "workers", sizeof *d->workers, &d->worker_count, read_worker);
    d->scopes = read_list(d, &f, "scopes", sizeof *d->scopes, &d->scope_count, read_scope);
    d->parties = read_list(d, &f, "parties", sizeof *d->parties, &d->party_count, read_party);
    d->channels =
        read_list(d, &f, "channels", sizeof *d->channels, &d->channel_count, read_channel);
    d->descriptors = read_extra(d, &f, "descriptors", sizeof *d->descriptors, &d->descriptor_count,
                                read_descriptor);
    d->batchers =
        read_extra(d, &f, "batchers", sizeof *d->batchers, &d->batcher_count, read_batcher);
    d->stages = read_extra(d, &f, "stages", sizeof *d->stages, &d->stage_count, read_stage);
    size_t things = d->party_count + d->channel_count + d->scope_count + d->descriptor_count +
                    d->batcher_count + d->stage_count;
    d->index = make_list(d, things, sizeof *d->index, why);
    if (!is_trouble(why))
        index_make(d);
}

struct document *document_read(const char *bytes, size_t len, struct trouble *why)
{
    if (!is_sane(bytes, len)) {
        trouble_say(why, "its answer is no document of leat");
        return NULL;
    }
    struct document *d = calloc(1, sizeof *d);
    if (!d) {
        trouble_say(why, "memory exhausted");
        return NULL;
    }
    json_error_t error;
    d->json = json_loadb(bytes, len, 0, &error);
    if (!d->json)
        trouble_say(why, "its answer is no JSON: line %d, column %d: %s", error.line, error.column,
                    error.text);
    else
        read_all(d, why);
    if (!is_trouble(why))
        return d;
    document_free(d);
    return NULL;
}

void document_free(struct document *d)
{
    if (!d)
        return;
    json_decref(d->json);
    for (size_t i = 0; i < d->list_count; i++)
        free(d->lists[i]);
    free(d->lists);
    free(d);
}

const struct worker *document_worker(const struct document *d, double number)
{
    for (size_t i = 0; d && i < d->worker_count; i++)
        if (d->workers[i].number == number)
            return &d->workers[i];
    return NULL;
}
