/* slot.h: what travels through the flow: one file, or one thing to say in its place among the files.
 *
 * A slot has one owner at a time: the producer fills it, a digester works on it, the collector
 * prints it and gives it back. Its memory, that of the name too, is used again; it is kept small, since a
 * file that takes long has tens of thousands of others wait behind it. Slots move in chains, linked by
 * `next`. */
#ifndef LEAT_CMD_SLOT_H
#define LEAT_CMD_SLOT_H

#include "digest.h"
#include "dir.h"
#include "stamp.h"

#include <stdbool.h>
#include <stdint.h>

enum slot_kind {
    SLOT_FILE,        /* to be digested; then it has a digest or an error */
    SLOT_FAILURE,     /* the producer could not do something: `error` */
    SLOT_SKIPPED,     /* it is no file to digest: `remark` says why */
    SLOT_BAD_LINE,    /* a check list's line that does not parse: `line`; `remark` when too long */
    SLOT_LIST_BROKEN, /* a check list could not be read: `error`, or `remark` */
    SLOT_LIST_END,    /* a check list has been read: `good_lines`, `bad_lines`, and the `size` of
                         a digest of another kind than is wanted */
    SLOT_UNLISTED,    /* a file in a tree that no check list names */
    SLOT_TREES_END,   /* there are no more of these */
};

enum slot_origin {
    ORIGIN_USER,  /* named by the user or by a list: opened as it is, whatever it is */
    ORIGIN_WALK,  /* met in a folder as a regular file: expected to be one */
    ORIGIN_STDIN, /* no name is opened */
};

struct slot {
    struct slot *next;
    uint64_t seq; /* its place in the output, from 0, without gaps */
    enum slot_kind kind;
    enum slot_origin origin;
    int error;       /* 0, or a negative errno value */
    bool unsure;     /* in a check: the digest may be of another algorithm */
    bool holds_dir;  /* the folder's descriptor, until the file is open; `dir` itself stays */
    struct dir *dir; /* NULL: the name is a path */
    char *name;
    size_t name_len, name_cap;
    const char *remark;
    uint64_t line, good_lines, bad_lines;
    unsigned wanted;         /* a set of digests: selection.h */
    size_t size;             /* of one that may have any number of bytes */
    unsigned char *digest;   /* memory for them; */
    unsigned char *expected; /* for DIGEST_MAX bytes in a check, where one is wanted; */
    struct stamp *stamp;     /* and for the file's, where there is a cache; else NULL */
};

/* Slots on their way together. A zeroed struct is an empty chain. */
struct chain {
    struct slot *first, *last;
    size_t count;
};

static inline void chain_add(struct chain *c, struct slot *s)
{
    s->next = NULL;
    if (c->last)
        c->last->next = s;
    else
        c->first = s;
    c->last = s;
    c->count++;
}

static inline struct slot *chain_take(struct chain *c)
{
    struct slot *s = c->first;
    if (!s)
        return NULL;
    c->first = s->next;
    if (!c->first)
        c->last = NULL;
    c->count--;
    return s;
}

/* Puts all of `more` behind `c`. */
static inline void chain_join(struct chain *c, struct chain more)
{
    if (!more.first)
        return;
    if (c->last)
        c->last->next = more.first;
    else
        c->first = more.first;
    c->last = more.last;
    c->count += more.count;
}

#endif
