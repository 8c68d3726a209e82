/* find.h: the parts of a look: what the asker finds itself, and what the workers answer. */
#ifndef LT_WATCH_FIND_H
#define LT_WATCH_FIND_H

#include "watch/look.h"

/* Of the room for parties: what is not for the scopes; and the part of that for one of n lists. */
static inline size_t lt_look_reserve(const struct lt_look *look)
{
    return look->bound.parties / 4;
}

static inline size_t lt_look_extra(const struct lt_look *look, size_t n)
{
    size_t part = lt_look_reserve(look) / n;
    return part > LT_LOOK_LEAST ? part : LT_LOOK_LEAST;
}

/* Asks all workers, and answers for the calling one: 0 or -ENOMEM. lt_look_hear waits for the
 * answers. Then `answered` in a worker's record says whether its pad has an answer. */
int lt_look_ask(struct lt_look *look);
void lt_look_hear(struct lt_look *look);

/* Records the parties and channels of each scope, and of none; then what runs on a worker that did
 * not answer. */
void lt_look_around(struct lt_look *look);
void lt_look_at_busy(struct lt_look *look, unsigned worker);

/* Adds the worker's counts. */
void lt_count(leat_counts *counts, const struct lt_worker *worker);

/* Reads the number and the name of the task that a worker runs. False: the worker does not run that
 * task any more, or the task cannot be read. */
bool lt_look_at_running(const struct lt_worker *worker, const struct lt_task *task,
                        uint32_t *number, char *name, size_t size);

/* Copies `size` bytes of memory that another thread may be writing to or freeing at this moment.
 * False: some are not mapped, or the kernel does not allow it. The copy means nothing until the
 * caller has made sure that the object was still in its place after the copy. */
bool lt_peek(void *to, const void *from, size_t size);

#endif
