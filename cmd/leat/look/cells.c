#include "look/cells.h"

#include "look/format.h"

#include <math.h>
#include <string.h>

void cells_add_seconds(struct table *t, double seconds)
{
    char shown[FORMATTED];
    table_number(t, seconds, format_seconds(shown, seconds));
}

void cells_add_count(struct table *t, double count)
{
    char shown[FORMATTED];
    table_number(t, count, format_count(shown, count));
}

void cells_add_bytes(struct table *t, double bytes)
{
    char shown[FORMATTED];
    table_number(t, bytes, format_bytes(shown, bytes));
}

const char *cells_name(const struct document *d, const char *id)
{
    const struct channel *c = document_find(d, id, A_CHANNEL);
    const struct party *p = c ? NULL : document_find(d, id, A_PARTY);
    return c ? c->name : p ? p->name : NULL;
}

void cells_add_name(struct text *to, const char *name)
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
        cells_add_name(to, part);
    }
}

void cells_add_id(struct text *to, const struct document *d, const char *id)
{
    text_str(to, id);
    add_part(to, cells_name(d, id));
}

void cells_add_title(struct table *t, const char *name)
{
    table_open_cell(t);
    cells_add_name(&t->words, name ? name : "-");
    table_close_cell(t);
}

void cells_add_wait(struct text *to, const struct document *d, const struct wait *w)
{
    text_str(to, w->what);
    add_part(to, w->of);
    add_part(to, cells_name(d, w->of));
}

const char *cells_title(const struct party *p)
{
    return p->name ? p->name : p->code;
}

double cells_rate(const struct channel *c, const struct document *d, const struct document *before)
{
    const struct channel *was = document_find(before, c->id, A_CHANNEL);
    if (!was)
        return (double)NAN;
    double items = c->passed - was->passed;
    if (items < 0)
        items += 0x1p32; /* the program counts modulo 2^32 */
    return items / (d->uptime - before->uptime);
}

double cells_stage_rate(const struct stage *s, const struct document *d,
                        const struct document *before)
{
    const struct stage *was = document_find(before, s->id, A_STAGE);
    if (!was || isnan(s->items)) /* fmax is not NAN then */
        return (double)NAN;
    return fmax(s->items - was->items, 0) / (d->uptime - before->uptime);
}

void cells_add_ends(struct table *t, const struct document *d, const char *const *ids, size_t count,
                    double all)
{
    char more[FORMATTED];
    table_open_cell(t);
    for (size_t i = 0; i < count; i++) {
        text_str(&t->words, i ? ", " : "");
        cells_add_id(&t->words, d, ids[i]);
    }
    if (all > (double)count) {
        text_str(&t->words, " and ");
        text_str(&t->words, format_count(more, all - (double)count));
        text_str(&t->words, " more");
    }
    if (!count)
        text_char(&t->words, '-');
    table_close_cell(t);
}
