#include "look/lists.h"

#include "look/cells.h"
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

static void fill_party(struct table *t, const struct document *d, const struct party *p)
{
    table_row(t, p->id, 0);
    table_text(t, p->id);
    table_text(t, p->kind);
    table_text(t, p->state);
    cells_add_seconds(t, p->since);
    cells_add_seconds(t, p->more);
    cells_add_count(t, p->worker);
    cells_add_bytes(t, p->stack);
    table_text(t, p->scope);
    cells_add_title(t, cells_title(p));
    table_open_cell(t);
    for (size_t i = 0; i < p->wait_count; i++) {
        if (i)
            text_str(&t->words, ", ");
        cells_add_wait(&t->words, d, &p->waits[i]);
    }
    table_close_cell(t);
}

static void fill_channel(struct table *t, const struct document *d, const struct document *before,
                         const struct channel *c)
{
    table_row(t, c->id, 0);
    table_text(t, c->id);
    table_text(t, c->closed ? "closed" : c->items > 0 && c->items >= c->capacity ? "full" : "open");
    cells_add_count(t, c->items);
    cells_add_count(t, c->capacity);
    cells_add_count(t, c->receivers);
    cells_add_count(t, c->senders);
    cells_add_count(t, cells_rate(c, d, before));
    cells_add_count(t, c->passed);
    table_text(t, c->scope);
    cells_add_title(t, c->name);
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
    cells_add_count(t, s->members);
    table_text(t, s->cancelled ? "cancelled" : s->joins ? "joins" : "open");
    cells_add_seconds(t, s->ends);
    cells_add_seconds(t, s->since);
    table_text(t, s->around);
    table_open_cell(t);
    if (s->opener)
        cells_add_id(&t->words, d, s->opener);
    else
        text_str(&t->words, "a thread");
    table_close_cell(t);
}

static void fill_wait(struct table *t, const struct document *d, const struct party *p, size_t at)
{
    table_row(t, p->id, at);
    cells_add_seconds(t, p->since);
    cells_add_seconds(t, p->more);
    table_text(t, p->id);
    table_text(t, p->kind);
    cells_add_count(t, p->worker);
    cells_add_title(t, cells_title(p));
    table_open_cell(t);
    cells_add_wait(&t->words, d, &p->waits[at]);
    table_close_cell(t);
    table_text(t, p->scope);
}

static void fill_waits(struct table *t, const struct document *d)
{
    for (size_t i = 0; i < d->party_count; i++)
        for (size_t at = 0; at < d->parties[i].wait_count; at++)
            fill_wait(t, d, &d->parties[i], at);
}

static void fill_stage(struct table *t, const struct document *d, const struct document *before,
                       const struct stage *s)
{
    /* An operator's block does its work. */
    const struct party *block = isnan(s->n) ? document_find(d, s->block, A_PARTY) : NULL;
    table_row(t, s->id, 0);
    table_text(t, s->id);
    table_text(t, s->kind);
    table_text(t, s->closed ? "closed" : block ? block->state : "open");
    cells_add_count(t, s->running);
    cells_add_count(t, s->n);
    cells_add_count(t, s->held);
    cells_add_count(t, s->window);
    cells_add_count(t, cells_stage_rate(s, d, before));
    table_text(t, s->scope);
    cells_add_title(t, s->name);
    cells_add_ends(t, d, s->in, s->in_count, s->inputs);
    cells_add_ends(t, d, s->out, s->out_count, s->outputs);
}

static void fill_descriptor(struct table *t, const struct descriptor *one)
{
    table_row(t, one->id, 0);
    table_text(t, one->id);
    table_text(t, one->closed ? "closed" : "open");
    cells_add_count(t, one->readers);
    cells_add_count(t, one->writers);
    table_text(t, one->scope);
}

static void fill_batcher(struct table *t, const struct document *d, const struct document *before,
                         const struct batcher *b)
{
    const struct batcher *was = document_find(before, b->id, A_BATCHER);
    double items = was ? fmax(b->items - was->items, 0) : (double)NAN;
    table_row(t, b->id, 0);
    table_text(t, b->id);
    table_text(t, b->closed ? "closed" : "open");
    cells_add_count(t, b->forming);
    cells_add_count(t, b->running);
    cells_add_count(t, b->batches);
    cells_add_count(t, b->items);
    cells_add_count(t, was ? items / (d->uptime - before->uptime) : items);
    table_text(t, b->scope);
    cells_add_title(t, b->name);
}

static void fill_count(struct table *t, const char *name, double number, double rate,
                       const char *meaning)
{
    table_row(t, name, 0);
    table_text(t, name);
    cells_add_count(t, number);
    cells_add_count(t, rate);
    table_text(t, meaning);
}

static void fill_counts(struct table *t, const struct document *d, const struct document *before)
{
    static const char *const meanings[COUNTS] = {
        "a task, block or callback began to run or ran again",
        "tasks have started",
        "parties were made ready by another thread",
        "parties were stolen before they started",
        "started parties were stolen",
        "a worker found nothing to do",
        "deadlines have not passed yet",
    };
    double none = (double)NAN;
    for (size_t i = 0; i < COUNTS; i++) {
        double rate = none;
        if (i < COUNT_TIMERS && before)
            rate = (d->counts.n[i] - before->counts.n[i]) / (d->uptime - before->uptime);
        fill_count(t, document_counts[i], d->counts.n[i], rate, meanings[i]);
    }
    fill_count(t, "stacks", d->stacks_used, none, "stacks are in use");
    fill_count(t, "stacks, free", d->stacks_free, none, "stacks are mapped and not in use");
    fill_count(t, "threads", d->threads, none, "threads are in the pool for calls that block");
    fill_count(t, "threads, free", d->threads_free, none, "of these have no work");
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
        fill_counts(t, d, before);
    table_end(t);
}
