#include "look/details.h"

#include "look/cells.h"
#include "look/format.h"
#include "look/stacks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct column columns[] = { { "", BY_TEXT, 16 }, { "", BY_TEXT, 0 } };

/* A line, unless the value is not known. */
static void add(struct table *t, const char *what, const char *value)
{
    if (!value)
        return;
    table_row(t, NULL, t->count);
    table_text(t, what);
    table_text(t, value);
}

static void add_seconds(struct table *t, const char *what, double seconds)
{
    char shown[FORMATTED];
    add(t, what, isnan(seconds) ? NULL : format_seconds(shown, seconds));
}

static void add_count(struct table *t, const char *what, double count)
{
    char shown[FORMATTED];
    add(t, what, isnan(count) ? NULL : format_count(shown, count));
}

/* "3 of 8", by format_count or format_bytes. */
static void add_part(struct table *t, const char *what, double part, double all,
                     const char *(*format)(char to[FORMATTED], double number))
{
    char shown[2 * FORMATTED + 8], some[FORMATTED], most[FORMATTED];
    snprintf(shown, sizeof shown, "%s of %s", format(some, part), format(most, all));
    add(t, what, isnan(part) ? NULL : shown);
}

static void add_named(struct table *t, const char *what, const char *id, const char *name)
{
    if (!id)
        return;
    table_row(t, NULL, t->count);
    table_text(t, what);
    table_open_cell(t);
    text_str(&t->words, id);
    if (name) {
        text_char(&t->words, ' ');
        text_str(&t->words, name);
    }
    table_close_cell(t);
}

static void add_calls(struct table *t, const struct document *d, const struct party *p)
{
    size_t count;
    const char *const *calls = stacks_calls(d, p, &count);
    for (size_t i = 0; i < count; i++)
        add(t, i ? "" : "calls", calls[i]);
    if (!count)
        add(t, "calls",
            d->stacks ? "not known" : "not known: start the program with LEAT_WATCH=stacks");
}

static void add_party(struct table *t, const struct document *d, const struct party *p)
{
    add_named(t, p->kind, p->id, p->name);
    add(t, "code", p->code);
    add(t, "state", p->state);
    add_seconds(t, "since", p->since);
    add_seconds(t, "more", p->more);
    add_count(t, "worker", p->worker);
    add(t, "scope", p->scope);
    add_count(t, "line", p->line);
    add_part(t, "stack", p->stack, p->stack_size, format_bytes);
    for (size_t i = 0; i < p->wait_count; i++) {
        table_row(t, NULL, t->count);
        table_text(t, i ? "" : "waits to");
        table_open_cell(t);
        cells_add_wait(&t->words, d, &p->waits[i]);
        table_close_cell(t);
    }
    add_calls(t, d, p);
}

static void add_users(struct table *t, const struct document *d, const char *id, const char *what,
                      const char *said)
{
    for (size_t i = 0; i < d->party_count; i++)
        for (size_t w = 0; w < d->parties[i].wait_count; w++) {
            const struct wait *wait = &d->parties[i].waits[w];
            if (wait->of && strcmp(wait->of, id) == 0 && strcmp(wait->what, what) == 0)
                add_named(t, said, d->parties[i].id, d->parties[i].name);
        }
}

static void add_channel(struct table *t, const struct document *d, const struct document *before,
                        const struct channel *c)
{
    add_named(t, "channel", c->id, c->name);
    add(t, "state", c->closed ? "closed" : "open");
    add_part(t, "items", c->items, c->capacity, format_count);
    add_count(t, "passed", c->passed);
    add_count(t, "passed a second", cells_rate(c, d, before));
    add(t, "scope", c->scope);
    add_named(t, "held by", c->holder, cells_name(d, c->holder));
    add_users(t, d, c->id, "receive", "receiver");
    add_users(t, d, c->id, "send", "sender");
}

static bool is_in(const char *scope, const struct scope *s)
{
    return scope && strcmp(scope, s->id) == 0;
}

static void add_others(struct table *t, const struct document *d, const struct scope *s)
{
    char said[5 * FORMATTED + 60], n[4][FORMATTED];
    for (size_t i = 0; i < d->descriptor_count; i++) {
        const struct descriptor *one = &d->descriptors[i];
        snprintf(said, sizeof said, "%s, %s readers, %s writers", format_count(n[0], one->fd),
                 format_count(n[1], one->readers), format_count(n[2], one->writers));
        add(t, "descriptor", is_in(one->scope, s) ? said : NULL);
    }
    for (size_t i = 0; i < d->batcher_count; i++) {
        const struct batcher *b = &d->batchers[i];
        snprintf(said, sizeof said, "%s forming, %s running, %s batches of %s items",
                 format_count(n[0], b->forming), format_count(n[1], b->running),
                 format_count(n[2], b->batches), format_count(n[3], b->items));
        add(t, "batcher", is_in(b->scope, s) ? said : NULL);
    }
    for (size_t i = 0; i < d->stage_count; i++)
        if (is_in(d->stages[i].scope, s))
            add_named(t, d->stages[i].kind, d->stages[i].id, d->stages[i].name);
}

static void add_scope(struct table *t, const struct document *d, const struct scope *s)
{
    add(t, "scope", s->id);
    add(t, "around it", s->around);
    add_named(t, "opener", s->opener ? s->opener : "a thread", cells_name(d, s->opener));
    add(t, "state",
        s->cancelled ? "cancelled"
        : s->joins   ? "its opener waits for its end"
                     : "open");
    add_seconds(t, "cancelled in", s->ends);
    add_seconds(t, "joins since", s->since);
    add_count(t, "members", s->members);
    for (size_t i = 0; i < d->scope_count; i++)
        if (is_in(d->scopes[i].around, s))
            add(t, "scope inside", d->scopes[i].id);
    for (size_t i = 0; i < d->party_count; i++)
        if (is_in(d->parties[i].scope, s))
            add_named(t, d->parties[i].kind, d->parties[i].id, d->parties[i].name);
    for (size_t i = 0; i < d->channel_count; i++)
        if (is_in(d->channels[i].scope, s))
            add_named(t, "channel", d->channels[i].id, d->channels[i].name);
    add_others(t, d, s);
}

/* ---- descriptors, batchers, stages ---- */

static void add_descriptor(struct table *t, const struct document *d, const struct descriptor *one)
{
    add(t, "descriptor", one->id);
    add(t, "state", one->closed ? "closed" : "open");
    add(t, "scope", one->scope);
    add_users(t, d, one->id, "read", "reader");
    add_users(t, d, one->id, "write", "writer");
}

static void add_batcher(struct table *t, const struct batcher *b)
{
    add_named(t, "batcher", b->id, b->name);
    add(t, "state", b->closed ? "closed" : "open");
    add_count(t, "forming", b->forming);
    add_count(t, "running", b->running);
    add_count(t, "batches", b->batches);
    add_count(t, "items", b->items);
    add(t, "scope", b->scope);
}

static void add_ends(struct table *t, const struct document *d, const char *what,
                     const char *const *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_named(t, i ? "" : what, ids[i], cells_name(d, ids[i]));
}

static void add_stage(struct table *t, const struct document *d, const struct document *before,
                      const struct stage *s)
{
    add_named(t, s->kind, s->id, s->name);
    add(t, "state", s->closed ? "closed" : "open");
    add_part(t, "running", s->running, s->n, format_count);
    add_part(t, "in flight", s->held, s->window, format_count);
    add_count(t, "taken", s->items);
    add_count(t, "taken a second", cells_stage_rate(s, d, before));
    add(t, "scope", s->scope);
    add(t, "block", s->block);
    add_ends(t, d, "from", s->in, s->in_count);
    add_ends(t, d, "to", s->out, s->out_count);
}

static void add_thing(struct table *t, const struct document *d, const struct document *before,
                      const struct entry *e)
{
    switch (e->thing) {
    case A_PARTY: add_party(t, d, e->at); break;
    case A_CHANNEL: add_channel(t, d, before, e->at); break;
    case A_SCOPE: add_scope(t, d, e->at); break;
    case A_DESCRIPTOR: add_descriptor(t, d, e->at); break;
    case A_BATCHER: add_batcher(t, e->at); break;
    case A_STAGE: add_stage(t, d, before, e->at); break;
    }
}

void details_fill(struct table *t, const char *id, const struct document *d,
                  const struct document *before)
{
    const struct entry *e = document_entry(d, id);
    table_begin(t, columns, 2);
    if (e)
        add_thing(t, d, before, e);
    table_end(t);
}
