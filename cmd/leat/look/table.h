/* table.h: rows of cells with texts, which can be filtered and sorted.
 *
 * A table is filled row by row, each row cell by cell. A table whose memory has run out has no
 * rows. A zeroed struct is an empty table. The ids of rows belong to the document. */
#pragma once

#include "shared/text.h"

enum { COLUMNS_MOST = 12 };

/* Numbers are sorted largest first, and unknown ones last. BY_PLACE is the order of filling. */
enum sorting { BY_TEXT, BY_NUMBER, BY_ID, BY_PLACE };

struct column {
    const char *name;
    enum sorting by;
    unsigned most; /* columns of the terminal; 0: as many as there are */
};

struct cell {
    size_t at; /* of its text, in `words` */
    double number;
};

struct row {
    const char *id;
    size_t part;  /* which of the rows with this id */
    size_t place; /* its number in the order of filling */
    struct cell cells[COLUMNS_MOST];
};

struct table {
    const struct column *columns;
    size_t column_count;
    struct row *rows;
    size_t count, room;
    size_t filled; /* cells of the last row */
    struct text words;
};

/* Empties the table, and keeps its memory. */
void table_begin(struct table *t, const struct column *columns, size_t count);
void table_row(struct table *t, const char *id, size_t part);

/* These fill the next cell. A NULL text is shown as `-`. */
void table_text(struct table *t, const char *text);
void table_number(struct table *t, double number, const char *text);

/* The same for a text of several parts, which are added to `words` between the two calls. */
void table_open_cell(struct table *t);
void table_close_cell(struct table *t);

/* Ends the filling. */
void table_end(struct table *t);
void table_free(struct table *t);

const char *table_cell(const struct table *t, const struct row *r, size_t column);

/* Keeps the rows that have a cell with the text; case does not matter. */
void table_filter(struct table *t, const char *text);
void table_sort(struct table *t, size_t column, bool reverse);
