/* update.h: --update: what becomes of a list's lines, and the lines that it gets besides.
 *
 * The producer reads the list, and sets all that says how the list looks before it submits the
 * first new file. The collector notes what changes. When the flow is over the list is read again
 * (update_write.c) and replaced as a whole: what nobody asked to change stays byte for byte. Until
 * then it is not touched, and it stays as it is if the run did not come to its end. */
#ifndef LEAT_CMD_UPDATE_H
#define LEAT_CMD_UPDATE_H

#include "check.h"
#include "form.h"
#include "slot.h"

/* Of a line of the list: it gets another digest, or is dropped. */
struct update_change {
    uint64_t line;
    size_t size; /* bytes of the digest; 0: dropped */
    unsigned char digest[DIGEST_MAX];
};

/* A new file: where its name begins in `names`, and its lines in `added`. */
struct update_file {
    size_t name, lines, lines_len;
};

struct update {
    const char *path;
    const struct selection *selection;
    bool any_digest; /* as in struct grammar */

    /* the producer's */
    struct stamp stamp;            /* of the list when it was read */
    bool any_line;                 /* there is a line with a digest */
    bool in_order;                 /* the names come in the order of their bytes */
    struct form form;              /* of the last line */
    struct text last_name;         /* of the file of the last line, */
    unsigned order[SELECTION_MAX]; /* the digests of its lines, in their order, */
    unsigned digests;              /* their number, */
    size_t size;                   /* and their bytes where an algorithm has several sizes */

    /* the collector's */
    struct update_change *changes; /* in the order of the lines */
    size_t change_count, change_cap;
    struct update_file *files;
    size_t file_count, file_cap;
    struct text names, added;
    bool broken;   /* memory has run out */
    bool refused;  /* the list must not be written */
    bool complete; /* everything has been looked at */
};

/* `first`: the set of digests for a list that has no lines yet. */
void update_open(struct update *u, const char *path, const struct selection *selection,
                 unsigned first, size_t size);
void update_close(struct update *u);

/* For the producer, before the list is read: 0, or -EINVAL if it is no regular file. */
int update_take_stamp(struct update *u, int fd);

/* For the producer: takes note of how a line looks. */
void update_meet(struct update *u, const struct checked *found, bool crlf);

/* The set of digests that a new file needs. */
unsigned update_wanted(const struct update *u);

/* For the collector. Lines come in their order. */
void update_drop(struct update *u, uint64_t line);
void update_replace(struct update *u, uint64_t line, const unsigned char *digest, size_t size);
void update_add(struct update *u, const struct slot *s, const char *path);

/* Writes the list if anything changes. Returns 0 or a negative errno value: -ESTALE if the list is
 * no longer what was read. */
int update_write(struct update *u);

#endif
