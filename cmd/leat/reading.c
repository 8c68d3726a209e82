#define _GNU_SOURCE
#include "reading.h"

#include "halt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTOR_TRIES = 1000 }; /* a millisecond apart, for others to close some */

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

static int open_patiently(const struct flow *f, struct slot *s)
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

int reading_open(struct reading *r, const struct flow *f, struct slot *s)
{
    *r = (struct reading){ .slot = s, .fd = open_patiently(f, s) };
    if (r->fd < 0)
        return r->fd;
    if (s->origin == ORIGIN_WALK)
        return 0;
    bool is_block = false;
    int regular = is_regular(r->fd, &is_block);
    r->patient = regular == 0 && !is_block;
    return regular < 0 ? regular : 0;
}

/* What the walk saw as a regular file has begun in a way that not only such files do: `n` is what the
 * first read returned. The same, or what has come of it. */
static ssize_t look_again(const struct reading *r, ssize_t n)
{
    bool is_block;
    int regular = is_regular(r->fd, &is_block);
    if (regular == 0) {
        r->slot->kind = SLOT_SKIPPED;
        r->slot->remark = "is no longer a regular file, skipped";
    }
    return regular > 0 ? n : regular;
}

ssize_t reading_next(struct reading *r, void *to, size_t len)
{
    ssize_t n;
    do {
        int err = r->patient ? halt_wait(r->fd, POLLIN) : 0;
        if (err)
            return err;
        n = read(r->fd, to, len);
    } while (n < 0 && (errno == EINTR || (errno == EAGAIN && r->patient)));
    if (n < 0)
        n = -errno;
    bool odd = n == -EAGAIN || (n == 0 && !r->begun);
    bool long_one = n == (ssize_t)len && !r->begun;
    r->begun = true;
    if (r->slot->origin == ORIGIN_WALK && (odd || long_one))
        n = look_again(r, n);
    if (long_one && n > 0)
        posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return n;
}

void reading_close(struct reading *r)
{
    if (r->fd > STDIN_FILENO)
        close(r->fd);
    r->fd = -1;
}
