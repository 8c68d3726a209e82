/* link.h: a stream each way, and the frames on it.
 *
 * A send does not wait for the other side: the sender writes what the stream takes at once. The
 * rest stays in memory until the link's task has written it, together with all frames that have
 * come meanwhile. Credits bound that memory, see frame.h. Because a sender writes by itself, a
 * thread need not wake the task's worker.
 *
 * Locking. `lock` guards the members below it; a writer owns `going` and `gone` while it writes.
 * Any party may send; one party at a time receives. */
#pragma once

#include "link/frame.h"

#include <leat/leat.h>
#include <pthread.h>

struct link {
    leat_io *in, *out; /* `in` is closed when the other side does not read */
    leat_chan *wake;   /* closed: no more frames will be sent */
    char *bytes;       /* `len` have been received, and frames of `taken` have been taken */
    size_t len, taken;

    pthread_mutex_t lock;
    struct text queue, going; /* waiting frames; frames being written, `gone` bytes so far */
    size_t gone;
    bool writing; /* a party writes */
    bool broken;  /* the other side does not read, or memory or the link's task has ended */
};

/* Starts the link's task in the scope. 0 or a negative errno value. */
int link_open(struct link *l, leat_scope *scope, leat_io *in, leat_io *out);

/* Called when the link's task has ended, and no party sends any more. */
void link_free(struct link *l);

/* Sends a frame; after the other side has gone, does nothing. The scope may be closed by then. */
void link_send(struct link *l, enum frame_kind kind, uint32_t job, const void *body, size_t n);

/* Adds a frame that goes with the next one that is sent. */
void link_add(struct link *l, enum frame_kind kind, uint32_t job, const void *body, size_t n);

void link_send_credit(struct link *l, uint32_t job, enum frame_kind kind, size_t bytes);

/* Waits for the next frame, which is valid until the next call. 0; -EPIPE at the end of the stream;
 * -EBADMSG if the bytes are no frame; or another negative errno value. */
int link_receive(struct link *l, struct frame *frame);

/* The same in two steps, for a caller that reads by itself. link_next returns -EAGAIN if no frame
 * is complete. The caller then reads at most `*room` bytes to link_room's result, and adds their
 * number to `len`. */
int link_next(struct link *l, struct frame *frame);
char *link_room(struct link *l, size_t *room);

/* Closes the stream to the other side when all frames are written. */
void link_finish(struct link *l);

/* Waits until all frames are written, or the deadline. */
void link_flush(struct link *l, int64_t deadline);
