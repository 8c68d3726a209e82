#include "update.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void update_open(struct update *u, const char *path, const struct selection *selection,
                 unsigned first, size_t size)
{
    *u = (struct update){ .path = path, .selection = selection, .in_order = true, .size = size };
    u->form = (struct form){ .mark = "  ", .escape = true, .end = "\n" };
    for (unsigned i = 0; i < selection->count; i++)
        if (first >> i & 1)
            u->order[u->digests++] = i;
    u->form.tag = u->digests > 1 || selection->at[u->order[0]]->always_tagged;
}

void update_close(struct update *u)
{
    text_free(&u->last_name);
    text_free(&u->names);
    text_free(&u->added);
    free(u->changes);
    free(u->files);
}

int update_take_stamp(struct update *u, int fd)
{
    struct stat about;
    if (fstat(fd, &about) < 0)
        return -errno;
    u->stamp = stamp_of(&about, NULL);
    return u->stamp.known ? 0 : -EINVAL;
}

static void add_digest(struct update *u, unsigned algorithm)
{
    for (unsigned i = 0; i < u->digests; i++)
        if (u->order[i] == algorithm)
            return;
    u->order[u->digests++] = algorithm;
}

void update_meet(struct update *u, const struct checked *found, const char *end)
{
    const char *last = text_string(&u->last_name);
    int order = u->any_line && last ? strcmp(last, found->name) : -1;
    u->in_order = u->in_order && order <= 0;
    if (order != 0) {
        u->digests = 0;
        text_clear(&u->last_name);
        text_add(&u->last_name, found->name, found->name_len);
    }
    add_digest(u, found->algorithm);
    u->any_line = true;
    u->form.tag = found->tagged;
    u->form.mark = found->mark;
    u->form.end = *end ? end : u->form.end;
    if (u->selection->at[found->algorithm]->any_size)
        u->size = found->size;
}

unsigned update_wanted(const struct update *u)
{
    unsigned wanted = 0;
    for (unsigned i = 0; i < u->digests; i++)
        wanted |= 1u << u->order[i];
    return wanted;
}

/* Makes room for one more of `size` bytes; NULL if memory has run out. */
static void *grow(struct update *u, void *all, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return all;
    size_t more = 2 * *cap + 64;
    void *bytes = realloc(all, more * size);
    if (!bytes) {
        u->broken = true;
        return NULL;
    }
    *cap = more;
    return bytes;
}

static struct update_change *add_change(struct update *u, uint64_t line)
{
    struct update_change *all = grow(u, u->changes, u->change_count, &u->change_cap, sizeof *all);
    if (!all)
        return NULL;
    u->changes = all;
    all[u->change_count] = (struct update_change){ .line = line };
    return &all[u->change_count++];
}

void update_drop(struct update *u, uint64_t line)
{
    add_change(u, line);
}

void update_replace(struct update *u, uint64_t line, const unsigned char *digest, size_t size)
{
    struct update_change *c = add_change(u, line);
    if (!c)
        return;
    c->size = size;
    memcpy(c->digest, digest, size);
}

void update_add(struct update *u, const struct slot *s, const char *path)
{
    struct update_file *all = grow(u, u->files, u->file_count, &u->file_cap, sizeof *all);
    if (!all)
        return;
    u->files = all;
    struct update_file *f = &all[u->file_count++];
    f->name = u->names.len;
    f->lines = u->added.len;
    text_word(&u->names, path);
    for (unsigned i = 0; i < u->digests; i++) {
        struct part p = { 0 }; /* the slot's digests come in the order of the selection */
        while (selection_next(u->selection, s->wanted, s->size, &p) && p.index != u->order[i]) {
        }
        form_add(&u->form, &u->added, p.algorithm, s->digest + p.at, p.size, path);
    }
    f->lines_len = u->added.len - f->lines;
    u->broken = u->broken || u->names.broken || u->added.broken;
}
