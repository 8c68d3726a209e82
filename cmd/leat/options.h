/* options.h: what the user asked of `leat sum`. */
#ifndef LEAT_CMD_OPTIONS_H
#define LEAT_CMD_OPTIONS_H

#include "selection.h"

/* What a command is called and may do: `leat sum`, or one of coreutils' programs, which leat behaves as
 * when it is called by that name. */
struct persona {
    const char *name;
    const char *program;   /* as messages begin */
    const char *algorithm; /* the default */
    bool classic;          /* coreutils': folders are errors, and there are its options only */
};

struct options {
    const struct persona *persona;
    struct selection selection;
    size_t size;      /* of a printed digest that may have any number of bytes */
    unsigned jobs;    /* digesters, at most */
    unsigned readers; /* of a device at the same time; 0 when not told */
    bool any_digest;  /* a check's lines tell which; the selection has all */
    bool check, tag, binary, zero, json;
    bool ignore_missing, quiet, status, strict, warn; /* of a check */
    bool fail_fast, follow, progress;
    const char *files0_from; /* a file of names, in place of paths */
    char **paths;            /* what is left of the arguments */
    int path_count;
    const char *cache; /* a file; NULL: none */
    bool paranoid;
    char **trees; /* where a check looks for files that are not listed */
    int tree_count;
};

/* Reads the arguments. Returns -1 to go on; else the exit status with which all is said. */
int options_read(struct options *o, const struct persona *persona, int argc, char **argv);
void options_free(struct options *o);

#endif
