/* emit.h: everything that `leat sum` says, in the order in which it is to be said.
 *
 * One thread, the collector's, owns standard output and standard error. Whatever goes to standard
 * error comes after all that stands before it on standard output, so the two make sense together. */
#ifndef LEAT_CMD_EMIT_H
#define LEAT_CMD_EMIT_H

#include "options.h"
#include "out.h"
#include "progress.h"
#include "slot.h"

struct cache;

struct emitter {
    const struct options *options;
    struct cache *cache; /* NULL: there is none */
    struct out out, err;
    struct progress progress;
    bool one_terminal; /* standard output goes where the progress may stand */
    struct text
        path; /* of the last slot; its first `prefix_len` bytes are the path of `path_dir` */
    struct dir *path_dir;
    size_t prefix_len;
    uint64_t mismatched, unreadable, matched; /* of the present check list */
    size_t unsure; /* the size of one that was mismatched and may be of another algorithm, or 0 */
    uint64_t unlisted; /* files in trees */
    uint64_t files;    /* digested so far */
    bool failed;       /* the exit status will say so */
};

void emit_open(struct emitter *e, const struct options *o, struct cache *cache);
void emit_close(struct emitter *e);

/* Says what the slot has to say. False when that was the last, by --fail-fast. */
bool emit(struct emitter *e, struct slot *s);

/* Writes what was said: 0 or a negative errno value; -ECANCELED when halted. */
int emit_flush(struct emitter *e);

/* A message outside the order, when the flow is over: the program's name, the text, the error. */
void emit_complaint(struct emitter *e, const char *what, int error);

/* The same about a name, of which a remark tells or an error; and this is no failure. */
void emit_note(struct emitter *e, const char *name, const char *remark, int error);

/* Shows the progress if it is time to; `digested` bytes by now. */
void emit_progress(struct emitter *e, uint64_t digested, const struct goal *goal);

#endif
