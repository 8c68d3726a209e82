/* check.h: parses the lines of a check list as coreutils 9.1 does.
 *
 *     digest  name      or  digest *name
 *     digest name           one blank, as some BSD programs print; a run cannot have both
 *     MD5 (name) = digest   also as openssl prints it: MD5(name)= digest, SHA2-256(name)= digest
 *
 * The last form names the algorithm. In the other forms the digest's length identifies it: the
 * first wanted algorithm if its digests are that long, otherwise the only wanted one with that
 * length. If an algorithm has digests of several lengths, the last form gives the length in bits:
 * BLAKE2b-128 (name) = digest.
 *
 * A \ at the beginning says that in the name \\ stands for \, \n for a line feed and \r for a
 * carriage return. Blanks before all this are ignored, and so are empty lines and lines that begin
 * with #. */
#pragma once

#include "selection.h"

/* The accepted forms, and what earlier lines have shown: before the first line, `blanks` is 0. */
struct grammar {
    const struct selection *selection;
    bool classic;    /* accept only what coreutils 9.1 accepts */
    bool any_digest; /* the user has not said which digests to expect */
    enum { BLANKS_UNKNOWN, BLANKS_TWO, BLANKS_ONE } blanks;
};

enum line_kind { LINE_IGNORED, LINE_GOOD, LINE_BAD };

/* The file and the digest of a good line. For a bad line only `size` has a meaning: the bytes of an
 * untagged digest, or 0. */
struct checked {
    const char *line;
    char *name; /* within the line */
    size_t name_len;
    unsigned algorithm; /* its index in the selection */
    size_t size;        /* bytes of the digest */
    bool tagged;
    const char *mark; /* without a tag: the text between the digest and the name */
    size_t digest_at; /* the beginning of the digest in the line */
    unsigned char digest[DIGEST_MAX];
};

/* Parses one line, with or without its end, and changes it. `line` has room for one more byte. */
enum line_kind check_read(struct grammar *g, char *line, size_t len, struct checked *found);
