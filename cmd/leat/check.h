/* check.h: the lines of a check list, as coreutils 9.1 reads them.
 *
 *     digest  name      or  digest *name
 *     digest name           one blank: as some BSD programs print; the two do not mix in one run
 *     MD5 (name) = digest   also as openssl prints it: MD5(name)= digest, SHA2-256(name)= digest
 *
 * A line of the last form is of the digest that it names. One of the others is of the first that is
 * wanted if its digest is as long; else of the only one that is wanted and as long, if there is
 * one. Where a digest may have any number of bytes, up to the algorithm's own, those of the first
 * two forms say it by their length, and those of the last by a number of bits: BLAKE2b-128 (name) =
 * digest.
 *
 * A \ before it all says that in the name \\ stands for \, \n for a line feed, \r for a carriage
 * return. Blanks before it are ignored, as are empty lines and those that begin with #. */
#ifndef LEAT_CMD_CHECK_H
#define LEAT_CMD_CHECK_H

#include "selection.h"

/* A zeroed struct, but for the selection, is ready for the first line of a run. */
struct grammar {
    const struct selection *selection;
    bool classic; /* only what coreutils 9.1 understands */
    enum { BLANKS_UNKNOWN, BLANKS_TWO, BLANKS_ONE } blanks;
};

enum line_kind { LINE_IGNORED, LINE_GOOD, LINE_BAD };

/* A good line's file and digest. The name stands within the line. Of a bad line only the size has a
 * meaning: 0, or that of a digest without a tag, which none that is wanted has, or several. */
struct checked {
    char *name;
    size_t name_len;
    unsigned algorithm; /* its place in the selection */
    size_t size;        /* the digest's */
    bool tagged;
    unsigned char digest[DIGEST_MAX];
};

/* Reads one line, with or without its end; changes it. `line` must have room for one more byte. */
enum line_kind check_read(struct grammar *g, char *line, size_t len, struct checked *found);

#endif
