#include "link/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = FRAME_HEAD + FRAME_BODY_MOST };

/* ---- sending ---- */

/* With the lock held. Whether the caller must write `going` now. */
static bool take_turn(struct link *l)
{
    if (l->writing || l->broken)
        return false;
    if (l->going.len == 0) {
        struct text empty = l->going;
        l->going = l->queue;
        l->queue = empty;
    }
    l->writing = l->going.len > 0;
    return l->writing;
}

/* With the lock held: `n` bytes are written, or n is an error. */
static void give_turn(struct link *l, int64_t n)
{
    l->writing = false;
    l->gone += n > 0 ? (size_t)n : 0;
    if (l->gone == l->going.len) {
        text_clear(&l->going);
        l->gone = 0;
    }
}

static int64_t write_some(struct link *l, int64_t deadline)
{
    return leat_write_until(l->out, l->going.bytes + l->gone, l->going.len - l->gone, deadline);
}

/* False: no more will be written. */
static bool write_all(struct link *l)
{
    pthread_mutex_lock(&l->lock);
    while (take_turn(l)) {
        pthread_mutex_unlock(&l->lock);
        int64_t n = write_some(l, LEAT_NEVER);
        pthread_mutex_lock(&l->lock);
        give_turn(l, n);
        l->broken |= n < 0;
    }
    bool good = !l->broken;
    pthread_mutex_unlock(&l->lock);
    return good;
}

/* Frames that come from now on are not written. */
static void stop_sending(struct link *l)
{
    pthread_mutex_lock(&l->lock);
    l->broken = true;
    text_free(&l->queue);
    pthread_mutex_unlock(&l->lock);
}

static int write_frames(void *arg)
{
    struct link *l = arg;
    int closed = 0;
    bool good = true;
    while (good && !closed) {
        closed = leat_recv(l->wake, NULL);
        good = write_all(l);
    }
    stop_sending(l);
    /* If an error has happened here, the receiving task will find the other side gone. */
    leat_io_close(good ? l->out : l->in);
    return 0;
}

/* With the lock held. */
static void put(struct link *l, enum frame_kind kind, uint32_t job, const void *body, size_t n)
{
    if (l->broken)
        return;
    frame_put(&l->queue, kind, job, body, n);
    l->broken = l->queue.broken;
}

void link_add(struct link *l, enum frame_kind kind, uint32_t job, const void *body, size_t n)
{
    pthread_mutex_lock(&l->lock);
    put(l, kind, job, body, n);
    pthread_mutex_unlock(&l->lock);
}

/* Bytes that the stream does not take at once are left to the link's task, and so are errors. */
void link_send(struct link *l, enum frame_kind kind, uint32_t job, const void *body, size_t n)
{
    pthread_mutex_lock(&l->lock);
    put(l, kind, job, body, n);
    if (take_turn(l)) {
        pthread_mutex_unlock(&l->lock);
        int64_t wrote = write_some(l, LEAT_NOW);
        pthread_mutex_lock(&l->lock);
        give_turn(l, wrote);
    }
    bool more = l->broken || (!l->writing && (l->going.len || l->queue.len));
    pthread_mutex_unlock(&l->lock);
    if (more)
        leat_try_send(l->wake, NULL);
}

void link_send_credit(struct link *l, uint32_t job, enum frame_kind kind, size_t bytes)
{
    struct text body = { 0 };
    frame_add(&body, kind, 1);
    frame_add(&body, bytes, 4);
    if (!body.broken)
        link_send(l, FRAME_CREDIT, job, body.bytes, body.len);
    text_free(&body);
}

static bool is_idle(struct link *l)
{
    pthread_mutex_lock(&l->lock);
    bool idle = l->broken || (!l->writing && !l->going.len && !l->queue.len);
    pthread_mutex_unlock(&l->lock);
    return idle;
}

void link_flush(struct link *l, int64_t deadline)
{
    while (l->wake && !is_idle(l) && leat_now() < deadline && leat_sleep(LEAT_MS) == 0) {
    }
}

void link_finish(struct link *l)
{
    leat_close(l->wake);
}

/* ---- receiving ---- */

char *link_room(struct link *l, size_t *room)
{
    l->len -= l->taken;
    memmove(l->bytes, l->bytes + l->taken, l->len);
    l->taken = 0;
    *room = BUFFER - l->len;
    return l->bytes + l->len;
}

int link_next(struct link *l, struct frame *frame)
{
    int64_t size = frame_take(l->bytes + l->taken, l->len - l->taken, frame);
    if (size <= 0)
        return size ? -EBADMSG : -EAGAIN;
    l->taken += (size_t)size;
    return 0;
}

int link_receive(struct link *l, struct frame *frame)
{
    int error;
    while ((error = link_next(l, frame)) == -EAGAIN) {
        size_t room;
        char *to = link_room(l, &room);
        int64_t n = leat_read(l->in, to, room);
        if (n <= 0)
            return n ? (int)n : -EPIPE;
        l->len += (size_t)n;
    }
    return error;
}

/* ---- its life ---- */

int link_open(struct link *l, leat_scope *scope, leat_io *in, leat_io *out)
{
    *l = (struct link){ .in = in, .out = out, .bytes = malloc(BUFFER) };
    pthread_mutex_init(&l->lock, NULL);
    l->wake = leat_chan_open(NULL, &(leat_chan_spec){ .capacity = 1, .name = "frames" });
    if (!l->bytes || !l->wake)
        return -ENOMEM;
    return leat_go(scope, write_frames, l);
}

void link_free(struct link *l)
{
    free(l->bytes);
    leat_chan_unref(l->wake);
    text_free(&l->queue);
    text_free(&l->going);
    pthread_mutex_destroy(&l->lock);
}
