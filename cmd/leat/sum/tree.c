#include "tree.h"

#include <errno.h>

void tree_fail(struct tree *t, int error)
{
    if (!t->error)
        t->error = error;
}

void tree_begin(struct tree *t, const struct selection *selection, const struct slot *s)
{
    t->open = t->trusted = true;
    t->prefix = s->name_len;
    t->hashers.selection = selection;
    t->error = hashers_begin(&t->hashers, s->wanted, s->size);
}

void tree_add(struct tree *t, const struct slot *s, const char *path)
{
    const struct hashers *h = &t->hashers;
    struct form form = { .mark = "  ", .escape = true, .end = "\n" };
    tree_fail(t, s->error);
    text_clear(&t->name);
    text_str(&t->name, "./");
    text_str(&t->name, path + t->prefix);
    const char *name = text_string(&t->name);
    for (struct part p = { 0 };
         !t->error && selection_next(h->selection, h->wanted, h->size, &p);) {
        form.tag = p.algorithm->always_tagged;
        text_clear(&t->line);
        if (name)
            form_add(&form, &t->line, p.algorithm, s->digest + p.at, p.size, name);
        t->error = !name || t->line.broken
                       ? -ENOMEM
                       : p.algorithm->hashing->add(h->states[p.index], t->line.bytes, t->line.len);
    }
}

int tree_end(struct tree *t, const struct slot *s)
{
    t->open = false;
    if (!t->error)
        t->error = hashers_end(&t->hashers, s->digest);
    return t->error;
}

void tree_free(struct tree *t)
{
    hashers_close(&t->hashers);
    text_free(&t->line);
    text_free(&t->name);
}
