/* options.h: what the user asked of `leat sum`. */
#ifndef LEAT_CMD_OPTIONS_H
#define LEAT_CMD_OPTIONS_H

#include "exclude.h"
#include "persona.h"
#include "selection.h"

struct options {
    const struct persona *persona;
    struct selection selection;
    size_t size;      /* bytes of a printed digest whose algorithm has several sizes */
    unsigned jobs;    /* digesters, at most */
    unsigned readers; /* of a device at the same time; 0: not given */
    bool any_digest;  /* a check's lines tell the algorithm; the selection has all */
    bool check, tag, binary, zero, json;
    bool ignore_missing, quiet, status, strict, warn; /* of a check */
    const char *update; /* a list that gets new files; `check` is true, for its lines; or NULL */
    bool accept_changed, accept_missing; /* of the list that is updated */
    unsigned first_digests; /* the set of digests of a list without lines that is updated */
    bool fail_fast, follow, progress;
    const char *files0_from; /* a file of names, in place of paths */
    char **paths;            /* the remaining arguments */
    int path_count;
    const char *cache; /* a file, or NULL */
    bool paranoid;
    char **trees; /* where a check looks for files that no list names */
    int tree_count;
    bool tree;    /* one digest for each folder */
    char **moved; /* where a check looks for files that are missing */
    int moved_count;
    bool duplicates; /* a check tells which files are the same */
    struct exclude exclude;
};

/* Reads the arguments. Returns -1 if the command is to run; else the exit status, when all that is
 * to be said has been printed. */
int options_read(struct options *o, const struct persona *persona, int argc, char **argv);
void options_free(struct options *o);

#endif
