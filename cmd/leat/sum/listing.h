/* listing.h: the names in one folder, sorted.
 *
 * A folder's name is sorted as if it ended in '/', so a walk that enters each folder when it meets
 * it yields all paths in the order of their bytes. A listing is one piece of memory with nothing
 * but names, since a walk keeps one for each folder above the present one. */
#pragma once

#include "exclude.h"
#include "shared/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum entry_kind {
    ENTRY_FILE = 1,
    ENTRY_FOLDER,
    ENTRY_FIFO,
    ENTRY_SOCKET,
    ENTRY_DEVICE,
    ENTRY_OUTPUT,  /* the file that standard output goes to */
    ENTRY_UNKNOWN, /* it is gone, or a link to nothing: opening it will give the error */
};

/* `kind` is 0 after the last entry. */
struct entry {
    enum entry_kind kind;
    const char *name;
};

/* Memory that is reused for each folder. */
struct lister {
    dev_t device; /* with `inode`: the file that standard output goes to; 0: none */
    ino_t inode;
    char *block;        /* the result of one system call */
    struct text names;  /* of each entry: kind, name, '/' for a folder, NUL */
    struct text starts; /* of each entry: a size_t, where it begins in `names` */
};

/* Makes it ready, and notes which file is the output. */
void lister_open(struct lister *l);
void lister_free(struct lister *l);

/* Lists a folder that is held, without excluded entries. Links are left out or, if followed,
 * replaced by their targets. *names gets a listing for listing_next, which the caller frees with
 * free(); after an error, one of the names read until then; NULL if there are none. Returns 0 or a
 * negative errno value. */
int list_folder(struct lister *l, const struct dir *folder, bool follow_links,
                const struct exclude *exclude, char **names);

/* Returns the entry at *at, which starts as `names`, and moves *at to the next one. */
struct entry listing_next(const char **at);
