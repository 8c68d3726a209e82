#define _GNU_SOURCE
#include "look/canvas.h"

#include "look/shown.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct canvas canvas_screen(struct text *out, size_t columns, size_t rows)
{
    const char *refused = getenv("NO_COLOR");
    struct canvas c = { .out = out, .columns = columns, .rows = rows };
    c.colours = !refused || !*refused;
    text_str(out, "\033[H");
    return c;
}

struct canvas canvas_plain(struct text *out)
{
    return (struct canvas){ .out = out, .columns = SIZE_MAX, .rows = SIZE_MAX, .plain = true };
}

size_t canvas_rows_left(const struct canvas *c)
{
    return c->rows - c->line;
}

static bool is_styled(const struct canvas *c, enum style style)
{
    return !c->plain && style != NORMAL && (c->colours || style == BOLD || style == REVERSE);
}

static void begin_style(struct canvas *c, enum style style)
{
    static const char *const codes[] = { "",         "\033[1m",  "\033[7m",
                                         "\033[31m", "\033[33m", "\033[32m" };
    if (is_styled(c, style))
        text_str(c->out, codes[style]);
}

static void end_style(struct canvas *c, enum style style)
{
    if (is_styled(c, style))
        text_str(c->out, "\033[m");
}

void canvas_put(struct canvas *c, enum style style, const char *text)
{
    if (!canvas_rows_left(c) || c->at >= c->columns)
        return;
    begin_style(c, style);
    c->at += shown_add(c->out, text, c->columns - c->at);
    end_style(c, style);
}

void canvas_print(struct canvas *c, enum style style, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        c->out->broken = true;
        return;
    }
    canvas_put(c, style, text);
    free(text);
}

void canvas_to(struct canvas *c, enum style style, size_t column)
{
    if (column > c->columns)
        column = c->columns;
    if (!canvas_rows_left(c) || c->at >= column)
        return;
    begin_style(c, style);
    for (; c->at < column; c->at++)
        text_char(c->out, ' ');
    end_style(c, style);
}

static void end_plain_line(struct text *out)
{
    while (out->len && out->bytes[out->len - 1] == ' ')
        out->len--;
    text_char(out, '\n');
}

void canvas_end_line(struct canvas *c)
{
    if (!canvas_rows_left(c))
        return;
    if (c->plain)
        end_plain_line(c->out);
    else if (c->at < c->columns) /* after the last column, this would clear that column */
        text_str(c->out, "\033[K");
    c->at = 0;
    c->line++;
    if (!c->plain && canvas_rows_left(c))
        text_str(c->out, "\r\n");
}

void canvas_to_line(struct canvas *c, size_t line)
{
    while (c->line < line && canvas_rows_left(c))
        canvas_end_line(c);
}
