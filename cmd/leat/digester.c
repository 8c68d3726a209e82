/* digester.c: what one digester does: take a file, open it, read it to its end, hand over its digest.
 *
 * A small file costs four system calls: open, read, read again until there is nothing, close. Asking
 * what a file is would be a fifth; it is asked where the user named it, and where something about it
 * is odd for the regular file that the walk saw. */
#define _GNU_SOURCE
#include "flow.h"
#include "halt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    RUN = 32,                /* digests handed over together, */
    LINGER = 1000 * 1000,    /* unless the first of them has waited so long: nanoseconds */
    DESCRIPTOR_TRIES = 1000, /* a millisecond apart, for others to close some */
};

struct digester {
    struct flow *flow;
    struct hasher *hasher;
    unsigned char *chunk;
    struct chain finished;
    int64_t handed_over; /* when */
};

static int hand_over(struct digester *d)
{
    if (!d->finished.first)
        return 0;
    int err = leat_send(d->flow->done, &d->finished);
    d->finished = (struct chain){ 0 };
    return err;
}

static int open_once(const struct flow *f, const struct slot *s)
{
    int at = s->dir ? s->dir->fd : AT_FDCWD;
    /* Without O_NONBLOCK a FIFO would wait here for its writer, where no halt reaches. */
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (s->origin == ORIGIN_WALK && !f->follow)
        flags |= O_NOFOLLOW;
    int fd = openat(at, s->name, flags);
    if (fd >= 0 || errno != EWOULDBLOCK)
        return fd < 0 ? -errno : fd;
    /* Another process has a lease on this file and is now asked to give it up: wait for that. */
    struct stat about;
    if (fstatat(at, s->name, &about, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode))
        return -EWOULDBLOCK;
    fd = openat(at, s->name, flags & ~O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static int open_file(const struct flow *f, struct slot *s)
{
    if (s->origin == ORIGIN_STDIN)
        return STDIN_FILENO;
    int fd = open_once(f, s);
    for (int i = 0; (fd == -EMFILE || fd == -ENFILE) && i < DESCRIPTOR_TRIES; i++) {
        if (leat_sleep(LEAT_MS) < 0)
            return -ECANCELED;
        fd = open_once(f, s);
    }
    if (s->holds_dir) {
        dir_drop(s->dir);
        s->holds_dir = false;
    }
    return fd;
}

/* 1 for a regular file, 0 for something else, or the error. */
static int is_regular(int fd, bool *is_block)
{
    struct stat about;
    if (fstat(fd, &about) < 0)
        return -errno;
    *is_block = S_ISBLK(about.st_mode);
    return S_ISREG(about.st_mode);
}

/* Something else stands now where the walk saw a regular file. */
static int disown(struct slot *s)
{
    s->kind = SLOT_SKIPPED;
    s->remark = "is no longer a regular file, skipped";
    return 0;
}

static int digest_open_file(struct digester *d, struct slot *s, int fd)
{
    bool from_walk = s->origin == ORIGIN_WALK, is_block = false;
    int regular = from_walk ? 1 : is_regular(fd, &is_block);
    if (regular < 0)
        return regular;
    bool patient = !regular && !is_block;
    int err = hasher_begin(d->hasher);
    for (size_t chunks = 0; !err; chunks++) {
        if (patient) {
            /* It may take long: what is finished goes out first. */
            err = hand_over(d);
            if (!err)
                err = halt_wait(fd, POLLIN);
            if (err)
                return err;
        }
        ssize_t n = read(fd, d->chunk, CHUNK);
        if (n < 0 && (errno == EINTR || (errno == EAGAIN && patient)))
            continue;
        if (n < 0 && errno != EAGAIN)
            return -errno;
        bool odd = n < 0 || (n == 0 && chunks == 0);
        bool long_one = chunks == 0 && n == CHUNK;
        if (from_walk && (odd || long_one)) {
            regular = is_regular(fd, &is_block);
            if (regular <= 0)
                return regular < 0 ? regular : disown(s);
        }
        if (n < 0)
            return -EAGAIN;
        if (n == 0)
            return hasher_end(d->hasher, s->digest);
        err = hasher_add(d->hasher, d->chunk, (size_t)n);
        atomic_fetch_add_explicit(&d->flow->digested, (uint64_t)n, memory_order_relaxed);
        if (!err && long_one) {
            posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
            err = hand_over(d);
        }
        if (leat_cancelled(NULL))
            return -ECANCELED;
    }
    return err;
}

/* What goes wrong is the slot's; only being cancelled is returned, for the slot is not finished then. */
static int digest_file(struct digester *d, struct slot *s)
{
    int fd = open_file(d->flow, s);
    s->error = fd < 0 ? fd : digest_open_file(d, s, fd);
    if (fd > STDIN_FILENO)
        close(fd);
    return s->error == -ECANCELED ? -ECANCELED : 0;
}

static int work(struct digester *d)
{
    for (;;) {
        struct slot *s;
        int err = leat_try_recv(d->flow->todo, &s);
        if (err == -EAGAIN) {
            err = hand_over(d);
            if (!err)
                err = leat_recv(d->flow->todo, &s);
        }
        if (err == -EPIPE)
            return hand_over(d);
        if (err || leat_cancelled(NULL))
            return err;
        err = digest_file(d, s);
        if (err)
            return err;
        chain_add(&d->finished, s);
        int64_t now = leat_now();
        if (d->finished.count < RUN && now - d->handed_over < LINGER)
            continue;
        d->handed_over = now;
        err = hand_over(d);
        if (err)
            return err;
    }
}

int digest_task(void *flow)
{
    struct digester d = { .flow = flow, .handed_over = leat_now() };
    d.hasher = hasher_open(d.flow->algorithm);
    d.chunk = malloc(CHUNK);
    int err = d.hasher && d.chunk ? work(&d) : -ENOMEM;
    hasher_close(d.hasher);
    free(d.chunk);
    return err;
}
