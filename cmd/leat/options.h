/* options.h: what the user asked of `leat sum`. */
#ifndef LEAT_CMD_OPTIONS_H
#define LEAT_CMD_OPTIONS_H

#include "digest.h"

#include <stdbool.h>

/* What a command is called and may do. `leat sum` is one; a program that is to behave as md5sum does
 * would be another: its own name in messages, its digest fixed, folders refused. */
struct persona {
    const char *program;   /* as messages begin */
    const char *algorithm; /* the default */
    bool walks;            /* folders are walked; else they are errors */
};

struct options {
    const struct persona *persona;
    const struct algorithm *algorithm;
    unsigned jobs; /* files digested at the same time, at most */
    bool check, tag, binary, zero;
    bool ignore_missing, quiet, status, strict, warn; /* of a check */
    bool fail_fast, follow, progress;
    char **paths; /* what is left of the arguments */
    int path_count;
};

/* Reads the arguments. Returns -1 to go on; else the exit status with which all is said. */
int options_read(struct options *o, const struct persona *persona, int argc, char **argv);

#endif
