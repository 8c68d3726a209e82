/* emit.h: all output of `leat sum`, in order.
 *
 * One thread, the collector's, owns standard output and standard error. A message on standard error
 * follows all earlier lines on standard output, so that the two make sense together. */
#pragma once

#include "goal.h"
#include "options.h"
#include "out.h"
#include "same.h"
#include "shared/progress.h"
#include "slot.h"
#include "tree.h"

struct cache;
struct update;

struct emitter {
    const struct options *options;
    struct cache *cache;   /* or NULL */
    struct update *update; /* or NULL */
    struct out out, err;
    struct progress progress;
    bool one_terminal; /* standard output is a terminal, maybe that of the progress */
    struct text
        path; /* of the last slot; its first `prefix_len` bytes are the path of `path_dir` */
    struct dir *path_dir;
    size_t prefix_len;
    uint64_t mismatched, unreadable, matched; /* of the present check list */
    size_t unsure;     /* bytes of a mismatched digest that may be of another algorithm, or 0 */
    bool put_off;      /* a missing file of the present list is in `gone` */
    uint64_t missing;  /* listed files that do not exist, in an update */
    struct tree tree;  /* the current folder that is digested as a whole */
    struct same gone;  /* missing files that are put off, since they may have moved */
    struct same seen;  /* the correct files, for --duplicates */
    uint64_t moved;    /* of the missing files */
    uint64_t unlisted; /* files in trees that no list names */
    uint64_t files;    /* digested so far */
    bool failed;       /* the exit status must be 1 */
};

void emit_open(struct emitter *e, const struct options *o, struct cache *cache);
void emit_close(struct emitter *e);

/* Prints the slot's result or message. False if no more must be printed. */
bool emit(struct emitter *e, struct slot *s);

/* Writes standard output: 0 or a negative errno value, -ECANCELED if halted. */
int emit_flush(struct emitter *e);

/* Prints an error after the end of the flow: the program's name, the text, and the error unless
 * 0. */
void emit_complaint(struct emitter *e, const char *what, int error);

/* Prints a message about a name: a remark, an error, or both. emit_note alone is no failure. */
void emit_note(struct emitter *e, const char *name, const char *remark, int error);
void emit_failure(struct emitter *e, const char *name, const char *remark, int error);

/* Prints "program: WARNING: 1 line is …" or "… 2 lines are …"; nothing for 0, or with --status. */
void emit_warning(struct emitter *e, uint64_t count, const char *one, const char *many);

/* Prints the verdict on a file, but not with --status. `other`: a file to be named after the
 * relation, or NULL. */
void emit_verdict(struct emitter *e, const char *path, const char *verdict, const char *relation,
                  const char *other);

/* The list fails, since it has verified no file. */
void emit_unverified(struct emitter *e, const char *list);

/* In emit_same.c. emit_put_off puts off a listed file that is missing, and emit_put_off_list the
 * question whether the present list has verified a file. emit_candidate prints the verdict that a
 * missing file has moved if this file has its digest. emit_moved_end prints the rest.
 * emit_duplicate names the file of which this one is a duplicate. */
void emit_put_off(struct emitter *e, const struct slot *s, const char *path);
void emit_put_off_list(struct emitter *e, const char *list);
void emit_candidate(struct emitter *e, const struct slot *s, const char *path);
void emit_moved_end(struct emitter *e);
void emit_duplicate(struct emitter *e, const struct slot *s, const char *path);

/* The whole path, until the next call; NULL if memory has run out. */
const char *emit_path(struct emitter *e, const struct slot *s);

/* Draws the progress if it is due (show.c). `digested`: bytes so far; `in_hand`: a file that is
 * being digested, or NULL. */
void emit_progress(struct emitter *e, uint64_t digested, const struct goal *goal,
                   const struct slot *in_hand);
