#include "look/screen.h"

#include "look/head.h"
#include "look/shown.h"

static const char hints[] = "q quit  Tab list  s sort  r reverse  / filter  p pause  Enter details"
                            "  h help";

static const char *const help[HELP_LINES] = {
    "q                  quit",
    "Tab, 1 to 9        the list: parties, channels, scopes, waits, stages, stacks,",
    "                   descriptors, batchers, counts",
    "Up Down k j        one line",
    "PgUp PgDn          one page",
    "Home End           the first line, the last line",
    "s                  sort by the next column",
    "r                  the other way round",
    "/                  filter: show lines with a text; Enter keeps it, Esc clears it",
    "p                  pause, and go on",
    "Enter              all that is known of the line; back",
    "Esc                back; clear the filter",
    "h ?                this help",
    "",
    "since and more are times; since is known after a start with LEAT_WATCH=waits,",
    "and call stacks after a start with LEAT_WATCH=stacks.",
};

/* ---- the line above the list ---- */

static void draw_lists(struct canvas *c, const struct view *v)
{
    canvas_put(c, NORMAL, "   ");
    for (enum list l = 0; l < LISTS; l++)
        canvas_print(c, l == v->list ? REVERSE : NORMAL, " %u %s ", (unsigned)l + 1, list_name(l));
}

static void draw_title(struct canvas *c, struct view *v, const struct document *d)
{
    const char *filter = view_filter(v);
    size_t columns;
    const struct column *column = list_columns(v->list, &columns) + v->order[v->list].column;
    if (v->mode == MODE_DETAILS) {
        canvas_put(c, BOLD, v->detailed);
        canvas_put(c, NORMAL, v->table.count ? "" : " is gone");
    } else if (v->mode == MODE_HELP) {
        canvas_put(c, BOLD, "help");
    } else {
        canvas_print(c, BOLD, "%s:", list_name(v->list));
        canvas_print(c, NORMAL, " %zu", v->table.count);
        if (*filter)
            canvas_print(c, NORMAL, " of %zu with '%s'", v->all, filter);
        canvas_print(c, NORMAL, ", by %s%s", column->name,
                     v->order[v->list].reverse ? ", reversed" : "");
        if (v->list == LIST_STACKS && !d->stacks)
            canvas_put(c, NORMAL, ", not known: start the program with LEAT_WATCH=stacks");
    }
    if (v->paused)
        canvas_put(c, YELLOW, ", paused");
    if (v->mode == MODE_LIST && !c->plain)
        draw_lists(c, v);
    canvas_end_line(c);
}

/* ---- rows ---- */

static void measure(const struct table *t, size_t widths[COLUMNS_MOST])
{
    for (size_t column = 0; column < t->column_count; column++) {
        size_t most = t->columns[column].most ? t->columns[column].most : SIZE_MAX;
        size_t width = shown_width(t->columns[column].name);
        for (size_t i = 0; i < t->count && width < most; i++) {
            size_t wide = shown_width(table_cell(t, &t->rows[i], column));
            width = wide > width ? wide : width;
        }
        widths[column] = width < most ? width : most;
    }
}

/* Cuts a text that is longer than its column, but not in plain text. */
static void draw_cell(struct canvas *c, enum style style, const char *text, size_t width,
                      bool right, bool last)
{
    size_t begin = c->at, all = c->columns, wide = shown_width(text);
    if (right && wide < width)
        canvas_to(c, style, begin + width - wide);
    if (!c->plain && !last && begin + width < all)
        c->columns = begin + width;
    canvas_put(c, style, text);
    c->columns = all;
    if (!last)
        canvas_to(c, style, (c->plain && wide > width ? c->at : begin + width));
}

/* With a NULL row: the names of the columns, of which the `sorted` one is bold. */
static void draw_row(struct canvas *c, const struct table *t, const struct row *r, enum style style,
                     size_t sorted, const size_t widths[COLUMNS_MOST])
{
    for (size_t i = 0; i < t->column_count; i++) {
        bool right = t->columns[i].by == BY_NUMBER, last = i + 1 == t->column_count;
        const char *text = r ? table_cell(t, r, i) : t->columns[i].name;
        draw_cell(c, !r && i == sorted ? BOLD : style, text, widths[i], right, last);
        if (!last)
            canvas_put(c, style, "  ");
    }
    if (style == REVERSE && !c->plain)
        canvas_to(c, style, c->columns);
    canvas_end_line(c);
}

static void draw_rows(struct canvas *c, const struct view *v, size_t count,
                      const size_t widths[COLUMNS_MOST])
{
    for (size_t i = v->top; i < v->table.count && i - v->top < count; i++) {
        bool here = v->mode == MODE_LIST && i == v->cursor && !c->plain;
        draw_row(c, &v->table, &v->table.rows[i], here ? REVERSE : NORMAL, 0, widths);
    }
}

static void draw_help(struct canvas *c, size_t top)
{
    for (size_t i = top; i < HELP_LINES; i++) {
        canvas_put(c, NORMAL, help[i]);
        canvas_end_line(c);
    }
}

/* The last line of a screen. */
static void draw_foot(struct canvas *c, struct view *v)
{
    if (v->typing) {
        canvas_put(c, BOLD, "filter: ");
        canvas_put(c, NORMAL, view_filter(v));
        canvas_put(c, REVERSE, " ");
    } else {
        canvas_put(c, NORMAL, hints);
    }
    canvas_end_line(c);
}

static void draw_body(struct canvas *c, struct view *v, size_t foot)
{
    size_t widths[COLUMNS_MOST] = { 0 }, room = canvas_rows_left(c);
    room = room > foot ? room - foot : 0;
    measure(&v->table, widths);
    if (v->mode == MODE_LIST && room) {
        draw_row(c, &v->table, NULL, REVERSE, v->order[v->list].column, widths);
        room--;
    }
    view_scroll(v, room);
    if (v->mode == MODE_HELP)
        draw_help(c, v->top);
    else
        draw_rows(c, v, room, widths);
}

void screen_draw(struct canvas *c, struct view *v, const struct document *d,
                 const struct document *before, const struct history *h, const struct trouble *why)
{
    size_t foot = c->plain || c->rows < 4 ? 0 : 1;
    head_draw(c, d, before, why);
    head_draw_workers(c, d, before, h, c->plain ? SIZE_MAX : c->rows / 3);
    draw_title(c, v, d);
    draw_body(c, v, foot);
    if (!foot)
        return;
    canvas_to_line(c, c->rows - foot);
    draw_foot(c, v);
}
