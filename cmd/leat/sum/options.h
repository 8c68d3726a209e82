/* options.h: the options and arguments of `leat sum`. */
#pragma once

#include "exclude.h"
#include "persona.h"
#include "selection.h"

struct options {
    const struct persona *persona;
    struct selection selection;
    size_t size;      /* bytes of a printed digest whose algorithm has several sizes */
    unsigned jobs;    /* digesters, at most */
    unsigned readers; /* of a device at the same time; 0: not given */
    bool any_digest;  /* each line of a check names its algorithm; the selection has all */
    bool check, tag, binary, zero, json;
    bool ignore_missing, quiet, status, strict, warn; /* of a check */
    const char *update; /* a list that gets new files; `check` is true, for its lines; or NULL */
    bool accept_changed, accept_missing; /* of the list that is updated */
    unsigned first_digests; /* the set of digests of a list without lines that is updated */
    bool fail_fast, follow, progress;
    const char *files0_from; /* a file with names, instead of paths */
    char **paths;            /* the remaining arguments */
    int path_count;
    const char *cache; /* a file, or NULL */
    bool paranoid;
    char **trees; /* where a check looks for unlisted files */
    int tree_count;
    bool tree;    /* one digest for each folder */
    char **moved; /* where a check looks for missing files */
    int moved_count;
    bool duplicates; /* a check reports files with the same content */
    struct exclude exclude;
};

/* Reads the arguments. Returns -1 if the command must run; else the exit status, after all
 * messages. */
int options_read(struct options *o, const struct persona *persona, int argc, char **argv);
void options_free(struct options *o);

/* Prints the help (help.c); `a`: the persona's usual algorithm. */
void help_print(const struct persona *p, const struct algorithm *a);
