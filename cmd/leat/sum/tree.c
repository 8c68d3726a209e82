#include "tree.h"

#include <errno.h>
#include <string.h>

void tree_fail(struct tree *t, int error)
{
    if (!t->error)
        t->error = error;
}

void tree_begin(struct tree *t, const struct selection *selection, const struct slot *s)
{
    t->selection = selection;
    t->open = t->trusted = true;
    t->wanted = s->wanted;
    t->size = s->size;
    t->prefix = s->name_len;
    t->error = 0;
    for (unsigned i = 0; i < selection->count; i++) {
        if (!(t->wanted >> i & 1))
            continue;
        const struct algorithm *a = selection->at[i];
        if (!t->hasher[i])
            t->hasher[i] = hasher_open(a);
        int err = t->hasher[i] ? hasher_begin(t->hasher[i], digest_size(a, t->size)) : -ENOMEM;
        if (err)
            tree_fail(t, err);
    }
}

void tree_add(struct tree *t, const struct slot *s, const char *path)
{
    if (s->error)
        tree_fail(t, s->error);
    const unsigned char *digest = s->digest;
    struct form form = { .mark = "  ", .escape = true, .end = "\n" };
    text_clear(&t->name);
    text_str(&t->name, "./");
    text_str(&t->name, path + t->prefix);
    const char *name = text_string(&t->name);
    for (unsigned i = 0; i < t->selection->count && !t->error; i++) {
        if (!(t->wanted >> i & 1))
            continue;
        const struct algorithm *a = t->selection->at[i];
        size_t size = digest_size(a, t->size);
        form.tag = a->always_tagged;
        text_clear(&t->line);
        if (name)
            form_add(&form, &t->line, a, digest, size, name);
        if (!name || t->line.broken)
            tree_fail(t, -ENOMEM);
        else
            t->error = hasher_add(t->hasher[i], t->line.bytes, t->line.len);
        digest += size;
    }
}

int tree_end(struct tree *t, const struct slot *s)
{
    unsigned char *digest = s->digest;
    t->open = false;
    for (unsigned i = 0; i < t->selection->count && !t->error; i++) {
        if (!(t->wanted >> i & 1))
            continue;
        t->error = hasher_end(t->hasher[i], digest);
        digest += digest_size(t->selection->at[i], t->size);
    }
    return t->error;
}

void tree_free(struct tree *t)
{
    for (unsigned i = 0; i < SELECTION_MAX; i++)
        hasher_close(t->hasher[i]);
    text_free(&t->line);
    text_free(&t->name);
}
