/* exclude.h: patterns for what a walk leaves out, as in .gitignore: the last one that fits counts.
 *
 * They are read before the run and do not change during it. What they match does not depend on the
 * locale: a ? is one byte, and [a-z] has no capitals. */
#pragma once

#include "pattern.h"

#include <locale.h>

/* A zeroed struct excludes nothing. */
struct exclude {
    struct pattern *patterns;
    size_t count, cap;
    locale_t locale;
};

/* Returns 0, -ENOMEM, or -EINVAL with the pattern's error in *why. */
int exclude_add(struct exclude *e, const char *pattern, const char **why);

/* Adds the patterns of a file, one a line, with empty lines and comments between them. As above;
 * *line gets the number of the wrong line. With any other error *line is 0. */
int exclude_read(struct exclude *e, const char *path, size_t *line, const char **why);

void exclude_free(struct exclude *e);

/* Whether to leave out this entry of a folder that is itself not left out. */
bool exclude_has(const struct exclude *e, const struct dir *folder, const char *name,
                 bool is_folder);

/* Whether to leave out a file that a check list names by this path: itself or a folder of it is
 * excluded. 1, 0, or -ENOMEM. */
int exclude_has_path(const struct exclude *e, const char *path);
