/* slot.h: an item of the flow: a file, or a message with its place among the files.
 *
 * A slot has one owner at a time: the producer fills it, a digester works on it, the collector
 * prints it and gives it back. Its memory is reused, and that of its name. It is small, since tens
 * of thousands of slots may wait for a file that takes long. Slots move in chains, linked by
 * `next`. */
#pragma once

#include "digest.h"
#include "dir.h"
#include "stamp.h"

#include <stdbool.h>
#include <stdint.h>

enum slot_kind {
    SLOT_FILE,        /* to be digested; afterwards it has its digests, or `error` */
    SLOT_TREE,        /* the next files are those in this folder, which is digested as a whole, */
    SLOT_TREE_END,    /* up to here; afterwards it has the folder's digests */
    SLOT_FAILURE,     /* an `error` of the producer */
    SLOT_SKIPPED,     /* not digested; `remark` says why */
    SLOT_BAD_LINE,    /* a check list's line that does not parse: `line`; `remark` if too long */
    SLOT_LIST_BROKEN, /* a list could not be read: `error`, or `remark` */
    SLOT_LIST_END,    /* a check list has been read: `good_lines`, `bad_lines`; `size`: bytes of an
                         untagged digest in a bad line, or 0 */
    SLOT_MOVED_END,   /* all folders have been searched for files that have moved */
    SLOT_UNLISTED,    /* a file in a tree that no check list names */
    SLOT_TREES_END,   /* all trees have been searched for those, or for new files */
};

enum slot_origin {
    ORIGIN_USER,  /* named by the user or by a list: opened whatever it is */
    ORIGIN_WALK,  /* met in a folder as a regular file: expected to be one */
    ORIGIN_STDIN, /* nothing is opened */
};

struct slot {
    struct slot *next;
    uint64_t seq; /* its place in the output, from 0, without gaps */
    enum slot_kind kind;
    enum slot_origin origin;
    int error;       /* 0, or a negative errno value */
    bool unsure;     /* in a check: the digest may be of another algorithm */
    uint8_t shown;   /* its entry in the flow's in_hand, from 1; 0: none. Used by the digester */
    bool holds_dir;  /* it holds the folder's descriptor, until the file is open */
    struct dir *dir; /* the folder, referenced; NULL: the name is a path */
    char *name;
    size_t name_len, name_cap;
    const char *remark;
    uint64_t line; /* of a check list: a file's line, or a message's */
    uint64_t good_lines, bad_lines;
    unsigned wanted;         /* a set of digests (selection.h) */
    size_t size;             /* bytes of a digest: in a check, or if there are several sizes */
    unsigned char *digest;   /* memory for the wanted digests */
    unsigned char *expected; /* in a check: the list's digest; memory for DIGEST_MAX bytes */
    struct stamp *stamp;     /* memory for the file's stamp if there is a cache, else NULL */
};

/* Slots that travel together. A zeroed struct is an empty chain. */
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

/* Moves all of `more` to the end of `c`. */
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
