#include "look/stacks.h"

#include "look/cells.h"

#include <stdlib.h>
#include <string.h>

const char *const *stacks_calls(const struct document *d, const struct party *p, size_t *count)
{
    const struct worker *w = p->call_count ? NULL : document_worker(d, p->worker);
    bool runs = w && w->runs && strcmp(w->runs, p->id) == 0;
    *count = runs ? w->call_count : p->call_count;
    return runs ? w->calls : p->calls;
}

struct stack {
    const struct party *party;
    const char *const *calls;
    size_t count;
};

static int compare_calls(const struct stack *x, const struct stack *y)
{
    for (size_t i = 0; i < x->count && i < y->count; i++) {
        int sign = strcmp(x->calls[i], y->calls[i]);
        if (sign)
            return sign;
    }
    return x->count < y->count ? -1 : x->count > y->count;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;
    int sign = compare_calls(x, y);
    return sign ? sign : x->party < y->party ? -1 : x->party > y->party;
}

/* The row stands for `parties` with equal calls. */
static void fill_stack(struct table *t, const struct stack *s, size_t parties)
{
    table_row(t, s->party->id, 0);
    cells_add_count(t, (double)parties);
    table_text(t, s->party->id);
    cells_add_title(t, cells_title(s->party));
    table_text(t, s->party->state);
    table_open_cell(t);
    for (size_t i = 0; i < s->count; i++) {
        text_str(&t->words, i ? ", " : "");
        text_str(&t->words, s->calls[i]);
    }
    table_close_cell(t);
}

void stacks_fill(struct table *t, const struct document *d)
{
    size_t count = 0;
    struct stack *all = calloc(d->party_count + 1, sizeof *all);
    for (size_t i = 0; all && i < d->party_count; i++) {
        struct stack *s = &all[count];
        s->party = &d->parties[i];
        s->calls = stacks_calls(d, s->party, &s->count);
        count += s->count > 0;
    }
    if (all)
        qsort(all, count, sizeof *all, compare_stacks);
    else
        t->words.broken = true;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && compare_calls(&all[i], &all[next]) == 0;)
            next++;
        fill_stack(t, &all[i], next - i);
    }
    free(all);
}
