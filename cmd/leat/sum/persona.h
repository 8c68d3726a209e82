/* persona.h: the name and options of the command: `leat sum`, or the program that it replaces.
 *
 * leat behaves like md5sum or a similar program if it is called by its name: it has that program's
 * options and no others, and folders are errors. The tables do not change. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

enum persona_kind {
    PERSONA_OWN,
    PERSONA_COREUTILS, /* only accepts lists that coreutils 9.1 accepts */
    PERSONA_XXHSUM,
    PERSONA_SHA3SUM,
    PERSONA_B3SUM,
};

struct persona {
    const char *name;
    const char *program;   /* messages begin with it */
    const char *algorithm; /* the default */
    bool classic;          /* all but PERSONA_OWN */
    enum persona_kind kind;
    const char *letters; /* the options that have one, for getopt_long */
};

/* Options without a letter, as getopt_long returns them. Those before OPT_OWN are for each
 * persona. */
enum {
    OPT_TAG = 256,
    OPT_IGNORE_MISSING,
    OPT_QUIET,
    OPT_STATUS,
    OPT_STRICT,
    OPT_HELP,
    OPT_VERSION,
    OPT_OWN,
    OPT_FAIL_FAST,
    OPT_FILES0_FROM,
    OPT_JSON,
    OPT_READERS,
    OPT_NO_PROGRESS,
    OPT_STRICT_TREE,
    OPT_FIND_MOVED,
    OPT_DUPLICATES,
    OPT_TREE,
    OPT_UPDATE,
    OPT_ACCEPT,
    OPT_CACHE,
    OPT_PARANOID,
    OPT_EXCLUDE,
    OPT_EXCLUDE_FROM,
};

extern const struct persona persona_own;

/* The persona of a program of this name, or NULL. */
const struct persona *persona_find(const char *name);

/* The persona's long options, for getopt_long; of the persona that was asked for last. */
const struct option *persona_options(const struct persona *p);
