#include "look/lists.h"

#include "look/format.h"

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

static void add_count(struct table *t, double count)
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

static void add_name_cell(struct table *t, const char *name)
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

/* ---- lists ---- */

static void fill_party(struct table *t, const struct document *d, const struct party *p)
{
    table_row(t, p->id, 0);
    table_text(t, p->id);
    table_text(t, p->kind);
    table_text(t, p->state);
    add_seconds(t, p->since);
    add_seconds(t, p->more);
    add_count(t, p->worker);
    add_bytes(t, p->stack);
    table_text(t, p->scope);
    add_name_cell(t, list_title(p));
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
    add_count(t, c->items);
    add_count(t, c->capacity);
    add_count(t, c->receivers);
    add_count(t, c->senders);
    add_count(t, list_rate(c, d, before));
    add_count(t, c->passed);
    table_text(t, c->scope);
    add_name_cell(t, c->name);
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
    add_count(t, s->members);
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
    add_count(t, p->worker);
    add_name_cell(t, list_title(p));
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
    if (list == LIST_WAITS)
        fill_waits(t, d);
    table_end(t);
}
