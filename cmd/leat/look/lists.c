#include "look/lists.h"

#include "look/counts.h"
#include "look/format.h"
#include "look/stacks.h"

#include <math.h>
#include <string.h>

enum { NAME_MOST = 40, WAITS_MOST = 60, STATE_MOST = 12 };

static const struct column parties[] = {
    { "id", BY_ID, NAME_MOST }, { "kind", BY_TEXT, STATE_MOST }, { "state", BY_TEXT, STATE_MOST },
    { "since", BY_NUMBER, 0 },  { "more", BY_NUMBER, 0 },        { "worker", BY_NUMBER, 0 },
    { "stack", BY_NUMBER, 0 },  { "scope", BY_ID, NAME_MOST },   { "name", BY_TEXT, NAME_MOST },
    { "waits", BY_TEXT, 0 },
};

static const struct column channels[] = {
    { "id", BY_ID, NAME_MOST },   { "state", BY_TEXT, STATE_MOST }, { "items", BY_NUMBER, 0 },
    { "capacity", BY_NUMBER, 0 }, { "receivers", BY_NUMBER, 0 },    { "senders", BY_NUMBER, 0 },
    { "rate", BY_NUMBER, 0 },     { "passed", BY_NUMBER, 0 },       { "scope", BY_ID, NAME_MOST },
    { "name", BY_TEXT, 0 },
};

static const struct column scopes[] = {
    { "tree", BY_PLACE, 32 }, { "members", BY_NUMBER, 0 }, { "state", BY_TEXT, STATE_MOST },
    { "ends", BY_NUMBER, 0 }, { "since", BY_NUMBER, 0 },   { "around", BY_ID, NAME_MOST },
    { "opener", BY_TEXT, 0 },
};

static const struct column waits[] = {
    { "since", BY_NUMBER, 0 },       { "more", BY_NUMBER, 0 },      { "id", BY_ID, NAME_MOST },
    { "kind", BY_TEXT, STATE_MOST }, { "worker", BY_NUMBER, 0 },    { "name", BY_TEXT, NAME_MOST },
    { "for", BY_TEXT, WAITS_MOST },  { "scope", BY_ID, NAME_MOST },
};

static const struct column stages[] = {
    { "id", BY_ID, NAME_MOST },       { "kind", BY_TEXT, STATE_MOST },
    { "state", BY_TEXT, STATE_MOST }, { "running", BY_NUMBER, 0 },
    { "of", BY_NUMBER, 0 },           { "held", BY_NUMBER, 0 },
    { "window", BY_NUMBER, 0 },       { "rate", BY_NUMBER, 0 },
    { "scope", BY_ID, NAME_MOST },    { "name", BY_TEXT, NAME_MOST },
    { "from", BY_TEXT, NAME_MOST },   { "to", BY_TEXT, 0 },
};

static const struct column stacks[] = {
    { "parties", BY_NUMBER, 0 },      { "first", BY_ID, NAME_MOST }, { "name", BY_TEXT, NAME_MOST },
    { "state", BY_TEXT, STATE_MOST }, { "calls", BY_TEXT, 0 },
};

static const struct column descriptors[] = {
    { "id", BY_ID, NAME_MOST },  { "state", BY_TEXT, STATE_MOST },
    { "readers", BY_NUMBER, 0 }, { "writers", BY_NUMBER, 0 },
    { "scope", BY_ID, 0 },
};

static const struct column batchers[] = {
    { "id", BY_ID, NAME_MOST },  { "state", BY_TEXT, STATE_MOST }, { "forming", BY_NUMBER, 0 },
    { "running", BY_NUMBER, 0 }, { "batches", BY_NUMBER, 0 },      { "items", BY_NUMBER, 0 },
    { "rate", BY_NUMBER, 0 },    { "scope", BY_ID, NAME_MOST },    { "name", BY_TEXT, 0 },
};

static const struct column counts[] = {
    { "count", BY_PLACE, NAME_MOST },
    { "number", BY_NUMBER, 0 },
    { "rate", BY_NUMBER, 0 },
    { "meaning", BY_TEXT, 0 },
};

#define COLUMNS(of) of, sizeof of / sizeof *(of)
static const struct {
    const char *name;
    const struct column *columns;
    size_t count, first;
} lists[LISTS] = {
    [LIST_PARTIES] = { "parties", COLUMNS(parties), 3 },
    [LIST_CHANNELS] = { "channels", COLUMNS(channels), 6 },
    [LIST_SCOPES] = { "scopes", COLUMNS(scopes), 0 },
    [LIST_WAITS] = { "waits", COLUMNS(waits), 0 },
    [LIST_STAGES] = { "stages", COLUMNS(stages), 7 },
    [LIST_STACKS] = { "stacks", COLUMNS(stacks), 0 },
    [LIST_DESCRIPTORS] = { "descriptors", COLUMNS(descriptors), 0 },
    [LIST_BATCHERS] = { "batchers", COLUMNS(batchers), 6 },
    [LIST_COUNTS] = { "counts", COLUMNS(counts), 0 },
};

const char *list_name(enum list list)
{
    return lists[list].name;
}

const struct column *list_columns(enum list list, size_t *count)
{
    *count = lists[list].count;
    return lists[list].columns;
}

size_t list_first_column(enum list list)
{
    return lists[list].first;
}

size_t list_find_column(enum list list, const char *name)
{
    for (size_t i = 0; i < lists[list].count; i++)
        if (strcmp(lists[list].columns[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* ---- cells ---- */

static void add_seconds(struct table *t, double seconds)
{
    char shown[FORMATTED];
    table_number(t, seconds, format_seconds(shown, seconds));
}

void list_add_count(struct table *t, double count)
{
    char shown[FORMATTED];
    table_number(t, count, format_count(shown, count));
}

static void add_bytes(struct table *t, double bytes)
{
    char shown[FORMATTED];
    table_number(t, bytes, format_bytes(shown, bytes));
}

static const char *name_of(const struct document *d, const char *id)
{
    const struct channel *c = document_channel(d, id);
    const struct party *p = c ? NULL : document_party(d, id);
    return c ? c->name : p ? p->name : NULL;
}

void list_add_name(struct text *to, const char *name)
{
    const char *place = strrchr(name, '(');
    const char *slash = place ? strrchr(place, '/') : NULL;
    if (slash && strchr(slash, ')')) {
        text_add(to, name, (size_t)(place + 1 - name));
        name = slash + 1;
    }
    text_str(to, name);
}

static void add_part(struct text *to, const char *part)
{
    if (part) {
        text_char(to, ' ');
        list_add_name(to, part);
    }
}

void list_add_title(struct table *t, const char *name)
{
    table_open_cell(t);
    list_add_name(&t->words, name ? name : "-");
    table_close_cell(t);
}

void list_add_wait(struct text *to, const struct document *d, const struct wait *w)
{
    text_str(to, w->what);
    add_part(to, w->of);
    add_part(to, name_of(d, w->of));
}

const char *list_title(const struct party *p)
{
    return p->name ? p->name : p->code;
}

static bool is_waiting(const struct party *p)
{
    return strcmp(p->state, "waiting") == 0;
}

double list_rate(const struct channel *c, const struct document *d, const struct document *before)
{
    const struct channel *was = document_channel(before, c->id);
    if (!was || !document_follows(d, before))
        return (double)NAN;
    double items = c->passed - was->passed;
    if (items < 0)
        items += 0x1p32; /* the program counts modulo 2^32 */
    return items / (d->uptime - before->uptime);
}

double list_stage_rate(const struct stage *s, const struct document *d,
                       const struct document *before)
{
    const struct stage *was = document_stage(before, s->id);
    if (!was || !document_follows(d, before) || isnan(s->items)) /* fmax is not NAN then */
        return (double)NAN;
    return fmax(s->items - was->items, 0) / (d->uptime - before->uptime);
}

void list_add_ends(struct text *to, const struct document *d, const char *const *ids, size_t count,
                   double all)
{
    char more[FORMATTED];
    for (size_t i = 0; i < count; i++) {
        text_str(to, i ? ", " : "");
        text_str(to, ids[i]);
        add_part(to, name_of(d, ids[i]));
    }
    if (all > (double)count) {
        text_str(to, " and ");
        text_str(to, format_count(more, all - (double)count));
        text_str(to, " more");
    }
    if (!count)
        text_char(to, '-');
}

/* ---- lists ---- */

static void fill_party(struct table *t, const struct document *d, const struct party *p)
{
    table_row(t, p->id, 0);
    table_text(t, p->id);
    table_text(t, p->kind);
    table_text(t, p->state);
    add_seconds(t, p->since);
    add_seconds(t, p->more);
    list_add_count(t, p->worker);
    add_bytes(t, p->stack);
    table_text(t, p->scope);
    list_add_title(t, list_title(p));
    table_open_cell(t);
    for (size_t i = 0; i < p->wait_count; i++) {
        if (i)
            text_str(&t->words, ", ");
        list_add_wait(&t->words, d, &p->waits[i]);
    }
    if (!p->wait_count && is_waiting(p))
        text_str(&t->words, "sleep");
    table_close_cell(t);
}

static void fill_channel(struct table *t, const struct document *d, const struct document *before,
                         const struct channel *c)
{
    table_row(t, c->id, 0);
    table_text(t, c->id);
    table_text(t, c->closed ? "closed" : c->items > 0 && c->items >= c->capacity ? "full" : "open");
    list_add_count(t, c->items);
    list_add_count(t, c->capacity);
    list_add_count(t, c->receivers);
    list_add_count(t, c->senders);
    list_add_count(t, list_rate(c, d, before));
    list_add_count(t, c->passed);
    table_text(t, c->scope);
    list_add_title(t, c->name);
}

enum { INDENT_MOST = 10 };

static void fill_scope(struct table *t, const struct document *d, const struct scope *s)
{
    table_row(t, s->id, 0);
    table_open_cell(t);
    for (unsigned i = 0; i < s->depth && i < INDENT_MOST; i++)
        text_str(&t->words, "  ");
    text_str(&t->words, s->id);
    table_close_cell(t);
    list_add_count(t, s->members);
    table_text(t, s->cancelled ? "cancelled" : s->joins ? "joins" : "open");
    add_seconds(t, s->ends);
    add_seconds(t, s->since);
    table_text(t, s->around);
    table_open_cell(t);
    text_str(&t->words, s->opener ? s->opener : "a thread");
    add_part(&t->words, name_of(d, s->opener));
    table_close_cell(t);
}

static void fill_wait(struct table *t, const struct document *d, const struct party *p, size_t at)
{
    table_row(t, p->id, at);
    add_seconds(t, p->since);
    add_seconds(t, p->more);
    table_text(t, p->id);
    table_text(t, p->kind);
    list_add_count(t, p->worker);
    list_add_title(t, list_title(p));
    table_open_cell(t);
    if (at < p->wait_count)
        list_add_wait(&t->words, d, &p->waits[at]);
    else
        text_str(&t->words, "sleep");
    table_close_cell(t);
    table_text(t, p->scope);
}

static void fill_waits(struct table *t, const struct document *d)
{
    for (size_t i = 0; i < d->party_count; i++) {
        const struct party *p = &d->parties[i];
        size_t count = !p->wait_count && is_waiting(p) ? 1 : p->wait_count;
        for (size_t at = 0; at < count; at++)
            fill_wait(t, d, p, at);
    }
}

static void fill_stage(struct table *t, const struct document *d, const struct document *before,
                       const struct stage *s)
{
    /* An operator's block does its work. */
    const struct party *block = isnan(s->n) ? document_party(d, s->block) : NULL;
    table_row(t, s->id, 0);
    table_text(t, s->id);
    table_text(t, s->kind);
    table_text(t, s->closed ? "closed" : block ? block->state : "open");
    list_add_count(t, s->running);
    list_add_count(t, s->n);
    list_add_count(t, s->held);
    list_add_count(t, s->window);
    list_add_count(t, list_stage_rate(s, d, before));
    table_text(t, s->scope);
    list_add_title(t, s->name);
    table_open_cell(t);
    list_add_ends(&t->words, d, s->in, s->in_count, s->inputs);
    table_close_cell(t);
    table_open_cell(t);
    list_add_ends(&t->words, d, s->out, s->out_count, s->outputs);
    table_close_cell(t);
}

static void fill_descriptor(struct table *t, const struct descriptor *one)
{
    table_row(t, one->id, 0);
    table_text(t, one->id);
    table_text(t, one->closed ? "closed" : "open");
    list_add_count(t, one->readers);
    list_add_count(t, one->writers);
    table_text(t, one->scope);
}

static void fill_batcher(struct table *t, const struct document *d, const struct document *before,
                         const struct batcher *b)
{
    const struct batcher *was =
        document_follows(d, before) ? document_batcher(before, b->id) : NULL;
    double items = was ? fmax(b->items - was->items, 0) : (double)NAN;
    table_row(t, b->id, 0);
    table_text(t, b->id);
    table_text(t, b->closed ? "closed" : "open");
    list_add_count(t, b->forming);
    list_add_count(t, b->running);
    list_add_count(t, b->batches);
    list_add_count(t, b->items);
    list_add_count(t, was ? items / (d->uptime - before->uptime) : items);
    table_text(t, b->scope);
    list_add_title(t, b->name);
}

void list_fill(struct table *t, enum list list, const struct document *d,
               const struct document *before)
{
    table_begin(t, lists[list].columns, lists[list].count);
    for (size_t i = 0; list == LIST_PARTIES && i < d->party_count; i++)
        fill_party(t, d, &d->parties[i]);
    for (size_t i = 0; list == LIST_CHANNELS && i < d->channel_count; i++)
        fill_channel(t, d, before, &d->channels[i]);
    for (size_t i = 0; list == LIST_SCOPES && i < d->scope_count; i++)
        fill_scope(t, d, &d->scopes[i]);
    for (size_t i = 0; list == LIST_STAGES && i < d->stage_count; i++)
        fill_stage(t, d, before, &d->stages[i]);
    for (size_t i = 0; list == LIST_DESCRIPTORS && i < d->descriptor_count; i++)
        fill_descriptor(t, &d->descriptors[i]);
    for (size_t i = 0; list == LIST_BATCHERS && i < d->batcher_count; i++)
        fill_batcher(t, d, before, &d->batchers[i]);
    if (list == LIST_WAITS)
        fill_waits(t, d);
    else if (list == LIST_STACKS)
        stacks_fill(t, d);
    else if (list == LIST_COUNTS)
        counts_fill(t, d, before);
    table_end(t);
}
