/* view.h: the user's choice of what to see, and how keys change it. */
#pragma once

#include "look/document.h"
#include "look/keys.h"
#include "look/lists.h"
#include "look/table.h"

enum mode { MODE_LIST, MODE_DETAILS, MODE_HELP };
enum { ID_MOST = 64, HELP_LINES = 16 };

struct view {
    enum mode mode;
    enum list list;
    struct {
        size_t column;
        bool reverse;
    } order[LISTS];
    struct text filter;
    bool typing, paused;
    /* The visible rows, of the list or of the details. */
    struct table table;
    size_t all;  /* rows before the filter */
    size_t page; /* rows that the screen has room for */
    size_t cursor, top;
    /* The row where the cursor was put. It stays there when the order changes. Before that, the
     * cursor stays on the first line. */
    char chosen[ID_MOST];
    size_t chosen_part;
    /* While there are details: where the list was. */
    char detailed[ID_MOST];
};

enum reaction { REACT_NOT, REACT_DRAW, REACT_FETCH, REACT_QUIT };

void view_begin(struct view *v, enum list list);
void view_free(struct view *v);
const char *view_filter(struct view *v);

/* Refills the table, and finds the cursor. */
void view_refresh(struct view *v, const struct document *d, const struct document *before);

/* Scrolls so that the cursor is among `page` rows. */
void view_scroll(struct view *v, size_t page);

enum reaction view_press(struct view *v, const struct key *key);
