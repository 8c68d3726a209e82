/* tree.h: the digest of a whole folder.
 *
 * It is the digest of the lines that `leat sum .` prints in that folder: for each regular file, its
 * digest and its path from there, beginning with "./", in the order of the bytes of the paths. So
 * neither the times of the files nor the place of the folder count. It belongs to the collector's
 * thread; the files come in order. */
#pragma once

#include "form.h"
#include "hashers.h"
#include "slot.h"

struct tree {
    bool open;        /* the slots are of files in a folder */
    bool trusted;     /* none of its files differs from its digest in the cache without a trace */
    size_t prefix;    /* bytes of the path that are the folder's */
    int error;        /* of the first file that has no digest, or 0 */
    struct text line; /* memory that is reused, */
    struct text name; /* and that for a name */
    struct hashers hashers;
};

/* The slot has the set of digests, and names the folder, with a '/' at its end. */
void tree_begin(struct tree *t, const struct selection *selection, const struct slot *s);

/* `path`: the file's, within the folder; the slot has the file's digests, or its error. */
void tree_add(struct tree *t, const struct slot *s, const char *path);

/* Something in the folder could not be read. */
void tree_fail(struct tree *t, int error);

/* Puts the digests into the slot. 0 or a negative errno value. */
int tree_end(struct tree *t, const struct slot *s);

void tree_free(struct tree *t);
