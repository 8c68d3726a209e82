#define _GNU_SOURCE
#include "look/table.h"

#include "look/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void table_begin(struct table *t, const struct column *columns, size_t count)
{
    t->columns = columns;
    t->column_count = count;
    t->count = t->filled = 0;
    text_clear(&t->words);
}

void table_row(struct table *t, const char *id, size_t part)
{
    if (t->count == t->room && !t->words.broken) {
        size_t room = t->room ? 2 * t->room : 64;
        struct row *rows = reallocarray(t->rows, room, sizeof *rows);
        t->words.broken = !rows;
        if (rows) {
            t->rows = rows;
            t->room = room;
        }
    }
    if (t->words.broken)
        return;
    t->rows[t->count] = (struct row){ .id = id, .part = part, .place = t->count };
    t->count++;
    t->filled = 0;
}

void table_open_cell(struct table *t)
{
    if (!t->words.broken && t->count && t->filled < t->column_count)
        t->rows[t->count - 1].cells[t->filled++] = (struct cell){ t->words.len, (double)NAN };
}

void table_close_cell(struct table *t)
{
    text_char(&t->words, '\0');
}

void table_text(struct table *t, const char *text)
{
    table_open_cell(t);
    text_str(&t->words, text ? text : "-");
    table_close_cell(t);
}

void table_number(struct table *t, double number, const char *text)
{
    table_text(t, text);
    if (!t->words.broken && t->count && t->filled)
        t->rows[t->count - 1].cells[t->filled - 1].number = number;
}

void table_end(struct table *t)
{
    if (t->words.broken)
        t->count = 0;
}

void table_free(struct table *t)
{
    free(t->rows);
    text_free(&t->words);
    *t = (struct table){ 0 };
}

const char *table_cell(const struct table *t, const struct row *r, size_t column)
{
    return t->words.bytes + r->cells[column].at;
}

static bool fits(const struct table *t, const struct row *r, const char *text)
{
    for (size_t i = 0; i < t->column_count; i++)
        if (strcasestr(table_cell(t, r, i), text))
            return true;
    return false;
}

void table_filter(struct table *t, const char *text)
{
    size_t kept = 0;
    if (!*text)
        return;
    for (size_t i = 0; i < t->count; i++)
        if (fits(t, &t->rows[i], text))
            t->rows[kept++] = t->rows[i];
    t->count = kept;
}

struct order {
    const struct table *table;
    size_t column;
    bool reverse;
};

static int compare_numbers(double x, double y, bool reverse)
{
    if (isnan(x) || isnan(y))
        return (int)isnan(x) - (int)isnan(y);
    int sign = x < y ? 1 : x > y ? -1 : 0;
    return reverse ? -sign : sign;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct row *x = a, *y = b;
    const struct order *o = arg;
    const char *text = table_cell(o->table, x, o->column);
    const char *other = table_cell(o->table, y, o->column);
    int sign = 0;
    switch (o->table->columns[o->column].by) {
    case BY_NUMBER:
        sign = compare_numbers(x->cells[o->column].number, y->cells[o->column].number, o->reverse);
        break;
    case BY_ID: sign = index_compare(text, other); break;
    case BY_TEXT: sign = strcmp(text, other); break;
    case BY_PLACE: sign = x->place < y->place ? -1 : 1; break;
    }
    if (o->reverse && o->table->columns[o->column].by != BY_NUMBER)
        sign = -sign;
    return sign ? sign : x->place < y->place ? -1 : 1;
}

void table_sort(struct table *t, size_t column, bool reverse)
{
    struct order o = { t, column, reverse };
    if (t->count)
        qsort_r(t->rows, t->count, sizeof *t->rows, compare_rows, &o);
}
