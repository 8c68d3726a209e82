#define _GNU_SOURCE
#include "look/view.h"

#include "look/details.h"

#include <string.h>

void view_begin(struct view *v, enum list list)
{
    *v = (struct view){ .list = list, .page = 1 };
    for (enum list l = 0; l < LISTS; l++)
        v->order[l].column = list_first_column(l);
}

void view_free(struct view *v)
{
    text_free(&v->filter);
    table_free(&v->table);
}

const char *view_filter(struct view *v)
{
    const char *filter = text_string(&v->filter);
    return filter ? filter : "";
}

/* ---- the cursor ---- */

static void copy_id(char to[ID_MOST], const char *id)
{
    size_t len = strnlen(id, ID_MOST - 1);
    memcpy(to, id, len);
    to[len] = '\0';
}

static void find_cursor(struct view *v)
{
    for (size_t i = 0; v->chosen[0] && i < v->table.count; i++) {
        const struct row *r = &v->table.rows[i];
        if (r->part == v->chosen_part && strcmp(r->id, v->chosen) == 0) {
            v->cursor = i;
            return;
        }
    }
    if (v->cursor >= v->table.count)
        v->cursor = v->table.count ? v->table.count - 1 : 0;
}

static void put_cursor(struct view *v, size_t at)
{
    v->cursor = v->table.count == 0 ? 0 : at < v->table.count ? at : v->table.count - 1;
    v->chosen[0] = '\0';
    if (v->table.count && v->cursor) {
        copy_id(v->chosen, v->table.rows[v->cursor].id);
        v->chosen_part = v->table.rows[v->cursor].part;
    }
}

void view_refresh(struct view *v, const struct document *d, const struct document *before)
{
    if (v->mode == MODE_DETAILS) {
        details_fill(&v->table, v->detailed, d, before);
        return;
    }
    list_fill(&v->table, v->list, d, before);
    v->all = v->table.count;
    table_filter(&v->table, view_filter(v));
    table_sort(&v->table, v->order[v->list].column, v->order[v->list].reverse);
    find_cursor(v);
}

static size_t less(size_t from, size_t n)
{
    return from > n ? from - n : 0;
}

void view_scroll(struct view *v, size_t page)
{
    v->page = page ? page : 1;
    size_t last = less(v->mode == MODE_HELP ? HELP_LINES : v->table.count, v->page);
    if (v->top > last)
        v->top = last;
    if (v->mode != MODE_LIST)
        return; /* there is no cursor: the page itself moves */
    if (v->cursor < v->top)
        v->top = v->cursor;
    if (v->cursor >= v->top + v->page)
        v->top = v->cursor - v->page + 1;
}

/* ---- keys ---- */

static enum reaction move(struct view *v, enum key_code code)
{
    size_t at = v->mode == MODE_LIST ? v->cursor : v->top;
    switch (code) {
    case KEY_UP: at = less(at, 1); break;
    case KEY_DOWN: at++; break;
    case KEY_PAGE_UP: at = less(at, v->page); break;
    case KEY_PAGE_DOWN: at += v->page; break;
    case KEY_HOME: at = 0; break;
    case KEY_END: at = SIZE_MAX / 2; break;
    default: return REACT_NOT;
    }
    if (v->mode == MODE_LIST)
        put_cursor(v, at);
    else
        v->top = at; /* view_scroll knows where the end is */
    return REACT_DRAW;
}

static enum reaction choose_list(struct view *v, size_t list)
{
    v->list = (enum list)(list % LISTS);
    v->mode = MODE_LIST;
    v->cursor = v->top = 0;
    v->chosen[0] = '\0';
    return v->list == LIST_STACKS ? REACT_FETCH : REACT_DRAW; /* with call stacks */
}

static enum reaction leave(struct view *v)
{
    v->mode = MODE_LIST;
    v->top = 0;
    return REACT_DRAW;
}

static enum reaction show_details(struct view *v)
{
    if (v->mode != MODE_LIST)
        return leave(v);
    if (!v->table.count || v->list == LIST_COUNTS)
        return REACT_NOT;
    copy_id(v->detailed, v->table.rows[v->cursor].id);
    v->mode = MODE_DETAILS;
    v->top = 0;
    return REACT_FETCH; /* with call stacks */
}

static enum reaction sort_next(struct view *v)
{
    size_t count;
    list_columns(v->list, &count);
    v->order[v->list].column = (v->order[v->list].column + 1) % count;
    v->order[v->list].reverse = false;
    return REACT_DRAW;
}

static enum reaction show_help(struct view *v)
{
    v->mode = v->mode == MODE_HELP ? MODE_LIST : MODE_HELP;
    v->top = 0;
    return REACT_DRAW;
}

static enum reaction press_character(struct view *v, char c)
{
    switch (c) {
    case 'q': return REACT_QUIT;
    case 'j': return move(v, KEY_DOWN);
    case 'k': return move(v, KEY_UP);
    case 's': return sort_next(v);
    case 'r': v->order[v->list].reverse = !v->order[v->list].reverse; return REACT_DRAW;
    case '/': v->typing = v->mode == MODE_LIST; return REACT_DRAW;
    case 'p': v->paused = !v->paused; return v->paused ? REACT_DRAW : REACT_FETCH;
    case 'h':
    case '?': return show_help(v);
    default: return c >= '1' && c <= '9' ? choose_list(v, (size_t)(c - '1')) : REACT_NOT;
    }
}

static void erase_character(struct text *filter)
{
    while (filter->len && (filter->bytes[--filter->len] & 0xc0) == 0x80) {
    }
}

static enum reaction type(struct view *v, const struct key *key)
{
    if (key->code == KEY_CHARACTER)
        text_str(&v->filter, key->character);
    else if (key->code == KEY_BACKSPACE)
        erase_character(&v->filter);
    else if (key->code == KEY_ESCAPE)
        text_clear(&v->filter);
    if (key->code == KEY_ESCAPE || key->code == KEY_ENTER)
        v->typing = false;
    else
        move(v, key->code);
    return REACT_DRAW;
}

enum reaction view_press(struct view *v, const struct key *key)
{
    if (v->typing)
        return type(v, key);
    switch (key->code) {
    case KEY_CHARACTER: return press_character(v, key->character[0]);
    case KEY_TAB: return choose_list(v, (size_t)v->list + 1);
    case KEY_BACK_TAB: return choose_list(v, (size_t)v->list + LISTS - 1);
    case KEY_ENTER: return show_details(v);
    case KEY_ESCAPE:
        if (v->mode == MODE_LIST)
            text_clear(&v->filter);
        return leave(v);
    default: return move(v, key->code);
    }
}
