/* canvas.h: writes lines of a screen, or of plain text, into a buffer.
 *
 * A line is cut at the screen's width, and lines that the screen has no room for are left out. All
 * text passes shown_add. Plain text has no limits and no styles. */
#pragma once

#include "shared/text.h"

enum style { NORMAL, BOLD, REVERSE, RED, YELLOW, GREEN };

struct canvas {
    struct text *out;
    size_t columns, rows; /* SIZE_MAX for plain text */
    size_t line, at;      /* the next line and column */
    bool plain, colours;
};

/* A screen; drawing begins at its top. NO_COLOR is heeded. */
struct canvas canvas_screen(struct text *out, size_t columns, size_t rows);
struct canvas canvas_plain(struct text *out);

void canvas_put(struct canvas *c, enum style style, const char *text);
__attribute__((format(printf, 3, 4))) void canvas_print(struct canvas *c, enum style style,
                                                        const char *format, ...);

/* Adds blanks up to the column. */
void canvas_to(struct canvas *c, enum style style, size_t column);
void canvas_end_line(struct canvas *c);

/* Goes to the line; clears those between. */
void canvas_to_line(struct canvas *c, size_t line);
size_t canvas_rows_left(const struct canvas *c);
