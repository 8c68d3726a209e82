/* pattern.h: one pattern, as in a line of .gitignore.
 *
 * A pattern is a row of names, each for fnmatch(3), and of gaps that stand for any number of
 * folders. Sets are rewritten so that fnmatch reads each byte in them as git does. */
#pragma once

#include "dir.h"

#include <stdbool.h>
#include <stddef.h>

struct pattern {
    bool takes_back; /* includes files again that an earlier pattern has excluded */
    bool folders_only;
    char **names; /* NULL: a gap */
    size_t count;
    char *bytes; /* of the names */
};

/* Reads the pattern. Returns 0, -ENOMEM, or -EINVAL with its error in *why. The caller frees it
 * with pattern_free, also after an error. */
int pattern_read(struct pattern *p, const char *from, const char **why);
void pattern_free(struct pattern *p);

/* Whether the names fit the path of `name` in `folder`, without the PATH that the walk began with.
 * The thread's locale must be "C". */
bool pattern_fits(const struct pattern *p, const struct dir *folder, const char *name);
