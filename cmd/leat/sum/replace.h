/* replace.h: replaces a file as a whole.
 *
 * A new file is written beside the old one, then renamed over it. So a reader finds the whole old
 * file or the whole new one, whatever ends the program. A symbolic link to the file stays. The new
 * file has the old one's mode and, as far as the system allows, its owner; a new file may only be
 * read by its owner. */
#pragma once

#include "shared/text.h"

struct replacement {
    char *place;        /* the path of the file itself */
    struct text beside; /* that of the new one */
    int fd;             /* to write to */
};

/* 0 or a negative errno value; after an error there is nothing to end. */
int replacement_begin(struct replacement *r, const char *path);

/* Called when all is written: gives the new file the old one's mode, and makes it durable, which
 * may take long. 0 or a negative errno value. */
int replacement_finish(const struct replacement *r);

/* Puts the new file in place if `err` is 0; otherwise removes it. Returns `err`, or why the file
 * could not be put there: a negative errno value. */
int replacement_end(struct replacement *r, int err);
