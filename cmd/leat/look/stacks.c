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
    const struct document *d;
    const struct party *party;
};

static int compare_stacks(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;
    size_t n, other;
    const char *const *calls = stacks_calls(x->d, x->party, &n);
    const char *const *others = stacks_calls(y->d, y->party, &other);
    for (size_t i = 0; i < n && i < other; i++) {
        int sign = strcmp(calls[i], others[i]);
        if (sign)
            return sign;
    }
    return n != other ? (n < other ? -1 : 1) : x->party < y->party ? -1 : x->party > y->party;
}

static bool same_calls(const struct stack *x, const struct stack *y)
{
    size_t n, other, i = 0;
    const char *const *calls = stacks_calls(x->d, x->party, &n);
    const char *const *others = stacks_calls(y->d, y->party, &other);
    while (n == other && i < n && strcmp(calls[i], others[i]) == 0)
        i++;
    return n == other && i == n;
}

/* The row stands for `count` parties with equal calls. */
static void fill_stack(struct table *t, const struct stack *s, size_t count)
{
    size_t n;
    const char *const *calls = stacks_calls(s->d, s->party, &n);
    table_row(t, s->party->id, 0);
    cells_add_count(t, (double)count);
    table_text(t, s->party->id);
    cells_add_title(t, cells_title(s->party));
    table_text(t, s->party->state);
    table_open_cell(t);
    for (size_t i = 0; i < n; i++) {
        text_str(&t->words, i ? ", " : "");
        text_str(&t->words, calls[i]);
    }
    table_close_cell(t);
}

void stacks_fill(struct table *t, const struct document *d)
{
    size_t count = 0, n;
    struct stack *all = calloc(d->party_count + 1, sizeof *all);
    for (size_t i = 0; all && i < d->party_count; i++) {
        all[count] = (struct stack){ d, &d->parties[i] };
        stacks_calls(d, all[count].party, &n);
        count += n > 0;
    }
    if (all)
        qsort(all, count, sizeof *all, compare_stacks);
    else
        t->words.broken = true;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_calls(&all[i], &all[next]);)
            next++;
        fill_stack(t, &all[i], next - i);
    }
    free(all);
}
