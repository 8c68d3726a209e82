/* update.h: --update: changes to a list's lines, and its new lines.
 *
 * The producer reads the list, and records its form before it submits the first new file. The
 * collector records the changes. When the flow is over the list is read again (update_write.c) and
 * replaced as a whole: lines without a change stay the same, byte for byte. Until then the list is
 * not touched, nor is it if the run ends early. */
#pragma once

#include "check.h"
#include "form.h"
#include "slot.h"

/* A line of the list that gets another digest, or is dropped. */
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

    /* used by the producer */
    struct stamp stamp;            /* of the list when it was read */
    bool any_line;                 /* there is a line with a digest */
    bool in_order;                 /* the names come in the order of their bytes */
    struct form form;              /* of the last line */
    struct text last_name;         /* of the file of the last line, */
    unsigned order[SELECTION_MAX]; /* the digests of its lines, in their order, */
    unsigned digests;              /* their number, */
    size_t size;                   /* and their bytes where an algorithm has several sizes */

    /* used by the collector */
    struct update_change *changes; /* in the order of the lines */
    size_t change_count, change_cap;
    struct update_file *files;
    size_t file_count, file_cap;
    struct text names, added;
    bool broken;   /* memory has run out */
    bool refused;  /* the list must not be written */
    bool complete; /* everything has been checked */
};

/* `first`: the set of digests for a list that has no lines yet. */
void update_open(struct update *u, const char *path, const struct selection *selection,
                 unsigned first, size_t size);
void update_close(struct update *u);

/* For the producer, before the list is read: 0, or -EINVAL if it is no regular file. */
int update_take_stamp(struct update *u, int fd);

/* For the producer: records the form of a line. `end` is "\n", "\r\n", or "" if the file ends
 * before. */
void update_meet(struct update *u, const struct checked *found, const char *end);

/* The set of digests that a new file needs. */
unsigned update_wanted(const struct update *u);

/* For the collector. Lines come in their order. */
void update_drop(struct update *u, uint64_t line);
void update_replace(struct update *u, uint64_t line, const unsigned char *digest, size_t size);
void update_add(struct update *u, const struct slot *s, const char *path);

/* Writes the list if anything changes. Returns 0 or a negative errno value: -ESTALE if the list is
 * no longer the one that was read, -EILSEQ if its lines would be read in another way. */
int update_write(struct update *u);
