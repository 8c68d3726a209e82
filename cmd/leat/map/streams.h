/* streams.h: standard output and standard error of `leat map`, with the progress line.
 *
 * The output of a call is not mixed with that of others. After an error on standard output nothing
 * more is written there. */
#pragma once

#include "map/plan.h"
#include "map/store.h"
#include "shared/progress.h"
#include "shared/text.h"

#include <leat/leat.h>

#include <stdatomic.h>

struct streams {
    leat_mutex *lock;
    leat_io *io[STREAMS];
    _Atomic int error[STREAMS]; /* of writing, or 0: see streams_error */
    leat_chan *abandoned;       /* closed: a wait to write ends */
    bool one_terminal;          /* standard output goes to the terminal of the progress line */
    bool one_file;              /* both streams go to the same file or pipe */
    struct progress progress;
    struct text lines; /* with tags */
};

/* 0 or a negative errno value. */
int streams_open(struct streams *s, const struct plan *p, leat_scope *scope);
void streams_close(struct streams *s);

/* The error after which nothing more is written there, or 0. */
int streams_error(struct streams *s, enum stream to);

/* Writes bytes; if `tag` is not NULL, the tag and a tab before each line. *within is whether a line
 * of this writer has begun and not ended, before and after; it may be NULL if there is no tag. */
void streams_write(struct streams *s, enum stream to, const char *tag, bool *within,
                   const char *bytes, size_t n);

/* Writes a message about the run, with a line feed. */
__attribute__((format(printf, 2, 3))) void streams_say(struct streams *s, const char *format, ...);

/* Draws the progress line. */
void streams_show(struct streams *s, const char *text);
