/* emit_same.c: the output of a check about listed files with the same content: those that have
 * moved, and duplicates. */
#include "emit.h"

#include <string.h>

static struct same_digest digest_of_line(const struct slot *s)
{
    struct same_digest d = { .size = s->size, .digest = s->expected };
    while (!(s->wanted >> d.algorithm & 1))
        d.algorithm++;
    return d;
}

void emit_put_off(struct emitter *e, const struct slot *s, const char *path)
{
    struct same_digest d = digest_of_line(s);
    same_add(&e->gone, &d, path, s->error);
    e->put_off = true;
}

/* A list is put off after its files, with one of these in place of an error. */
enum { LIST_VERIFIED = 1, LIST_UNDECIDED };

void emit_put_off_list(struct emitter *e, const char *list)
{
    struct same_digest none = { 0 };
    same_add(&e->gone, &none, list, e->matched > 0 ? LIST_VERIFIED : LIST_UNDECIDED);
}

void emit_candidate(struct emitter *e, const struct slot *s, const char *path)
{
    const struct options *o = e->options;
    for (struct part p = { 0 };
         !s->error && selection_next(&o->selection, s->wanted, s->size, &p);) {
        struct same_digest d = { p.index, p.size, s->digest + p.at };
        const char *old = same_take(&e->gone, &d);
        if (!old)
            continue;
        e->moved++;
        e->failed = e->failed || !o->ignore_missing;
        emit_verdict(e, old, "MOVED", " TO ", path);
    }
}

void emit_moved_end(struct emitter *e)
{
    const struct options *o = e->options;
    uint64_t left = 0;
    bool any = false; /* a file of the present list has moved */
    for (size_t i = 0; i < e->gone.count; i++) {
        int error;
        const char *path = same_left(&e->gone, i, &error);
        any = any || !path;
        if (path && error > 0) {
            if (error == LIST_UNDECIDED && !any)
                emit_unverified(e, path);
            any = false;
        }
        if (!path || error > 0 || o->ignore_missing)
            continue;
        left++;
        emit_failure(e, path, NULL, error);
        emit_verdict(e, path, "FAILED open or read", NULL, NULL);
    }
    emit_warning(e, e->moved, " listed file has moved", " listed files have moved");
    emit_warning(e, left, " listed file could not be read", " listed files could not be read");
}

void emit_duplicate(struct emitter *e, const struct slot *s, const char *path)
{
    struct same_digest d = digest_of_line(s);
    const char *first = same_first(&e->seen, &d);
    if (!first)
        same_add(&e->seen, &d, path, 0);
    else if (strcmp(first, path) != 0)
        emit_verdict(e, path, "SAME", " AS ", first);
}
