#define _GNU_SOURCE
#include "reading.h"

#include "cache.h"
#include "halt.h"
#include "long_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    DESCRIPTOR_TRIES = 1000, /* a millisecond apart, until other tasks close some */
    AHEAD = 128 * 1024,      /* bytes that the disk is asked for in advance */
};

static int folder_of(const struct slot *s)
{
    return s->dir ? s->dir->fd : AT_FDCWD;
}

static bool follows(const struct flow *f, const struct slot *s)
{
    return s->origin != ORIGIN_WALK || f->follow;
}

static void let_go_of_folder(struct slot *s)
{
    if (s->holds_dir)
        dir_drop(s->dir);
    s->holds_dir = false;
}

/* Files of /proc have a size of 0 and the times of another moment, whatever their content is. */
static bool shows_changes(const struct stamp *s)
{
    return s->known && s->size > 0;
}

/* Whether the cache has the file's digests. */
static bool is_known(const struct flow *f, struct slot *s)
{
    struct stat about;
    if (s->origin == ORIGIN_STDIN ||
        long_path_stat(folder_of(s), s->name, &about, follows(f, s) ? 0 : AT_SYMLINK_NOFOLLOW))
        return false;
    *s->stamp = stamp_of(&about, NULL);
    return shows_changes(s->stamp) && cache_recall(f->cache, s);
}

/* Called before the first byte is read. */
static void take_stamp(struct reading *r)
{
    struct timespec now;
    struct stat about;
    *r->slot->stamp = (struct stamp){ 0 };
    if (r->slot->origin != ORIGIN_STDIN && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
        fstat(r->fd, &about) == 0)
        *r->slot->stamp = stamp_of(&about, &now);
}

/* Called after the last byte. The stamp of a file that has changed meanwhile is not known. */
static void check_stamp(struct reading *r)
{
    struct stamp *before = r->slot->stamp, after;
    struct stat about;
    if (!before || !before->known)
        return;
    before->known = fstat(r->fd, &about) == 0;
    if (!before->known)
        return;
    after = stamp_of(&about, NULL);
    before->known = shows_changes(before) && stamp_is_same(before, &after);
}

static int open_once(const struct flow *f, const struct slot *s)
{
    int at = folder_of(s);
    /* Without O_NONBLOCK, opening a FIFO would wait for its writer, and no halt would end that. */
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (!follows(f, s))
        flags |= O_NOFOLLOW;
    int fd = long_path_open(at, s->name, flags);
    if (fd != -EWOULDBLOCK)
        return fd;
    /* Another process has a lease on the file, and the kernel has recalled it: wait for that. */
    struct stat about;
    int err = long_path_stat(at, s->name, &about, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
    if (err)
        return err;
    if (!S_ISREG(about.st_mode))
        return -EWOULDBLOCK;
    return long_path_open(at, s->name, flags & ~O_NONBLOCK);
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
    let_go_of_folder(s);
    return fd;
}

int reading_open(struct reading *r, const struct flow *f, struct slot *s, struct turn *turn)
{
    *r = (struct reading){ .slot = s, .fd = -1, .turn = turn };
    if (f->cache && !f->paranoid && is_known(f, s)) {
        let_go_of_folder(s);
        return READING_KNOWN;
    }
    r->fd = open_patiently(f, s);
    if (r->fd < 0)
        return r->fd;
    if (f->cache)
        take_stamp(r);
    if (s->origin == ORIGIN_WALK) {
        r->device = s->dir->disk;
        return 0;
    }
    struct stat about;
    if (fstat(r->fd, &about) < 0)
        return -errno;
    if (S_ISREG(about.st_mode))
        r->device = device_of(about.st_dev);
    else
        r->patient = !S_ISBLK(about.st_mode);
    return 0;
}

/* Checks whether a file of the walk is still regular, if its first read does not show that. `n`:
 * that read's result. Returns the caller's result. */
static ssize_t look_again(const struct reading *r, ssize_t n)
{
    struct stat about;
    if (fstat(r->fd, &about) < 0)
        return -errno;
    if (S_ISREG(about.st_mode))
        return n;
    r->slot->kind = SLOT_SKIPPED;
    r->slot->remark = "is no longer a regular file, skipped";
    return 0;
}

/* Reads bytes from the system's cache. If they are not there, returns -EAGAIN, or -EOPNOTSUPP if
 * the kernel, the file system or a sandbox cannot say that. Some file systems read ahead when they
 * are asked. Any other error becomes -EOPNOTSUPP, too: the plain read that follows gives it
 * again. */
static ssize_t read_cached(int fd, void *to, size_t len)
{
    struct iovec all = { to, len };
    ssize_t n = preadv2(fd, &all, 1, -1, RWF_NOWAIT);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? -errno : -EOPNOTSUPP;
}

static ssize_t read_plainly(int fd, void *to, size_t len)
{
    ssize_t n = read(fd, to, len);
    return n < 0 ? -errno : n;
}

static int wait_for_turn(struct reading *r)
{
    if (r->has_turn)
        return turn_keep(r->turn);
    if (!device_has_turns(r->device))
        return 0;
    int err = turn_take(r->turn, r->device);
    r->has_turn = !err;
    if (!err)
        posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return err;
}

/* Reads, and reports to the device the time of the first bytes and the bytes read with a turn. */
static ssize_t read_from_disk(struct reading *r, void *to, size_t len)
{
    int err = wait_for_turn(r);
    if (err)
        return err;
    int64_t start = r->missed ? 0 : leat_now();
    ssize_t n = read_plainly(r->fd, to, len);
    if (!r->missed)
        device_took(r->device, leat_now() - start);
    r->missed = true;
    if (r->has_turn && n > 0)
        turn_gave(r->turn, (size_t)n);
    return n;
}

static ssize_t read_in_turn(struct reading *r, void *to, size_t len)
{
    if (!r->device)
        return read_plainly(r->fd, to, len);
    if (!r->has_turn) {
        ssize_t n = read_cached(r->fd, to, len);
        if (n != -EAGAIN && n != -EOPNOTSUPP)
            return n;
    }
    return read_from_disk(r, to, len);
}

/* `n`: the result of a read of `len` bytes. Returns the caller's result. */
static ssize_t have_read(struct reading *r, ssize_t n, size_t len)
{
    bool odd = n == -EAGAIN || (n == 0 && !r->begun);
    bool long_one = n == (ssize_t)len && !r->begun;
    r->begun = true;
    if (r->slot->origin == ORIGIN_WALK && (odd || long_one))
        n = look_again(r, n);
    if (long_one && n > 0)
        posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return n;
}

ssize_t reading_next(struct reading *r, void *to, size_t len)
{
    ssize_t n;
    do {
        int err = r->patient ? halt_wait(r->fd, POLLIN) : 0;
        if (err)
            return err;
        n = read_in_turn(r, to, len);
    } while (n == -EINTR || (n == -EAGAIN && r->patient));
    return have_read(r, n, len);
}

ssize_t reading_begin(struct reading *r, void *to, size_t len)
{
    ssize_t n = -EOPNOTSUPP;
    if (!r->patient && !(r->device && device_has_turns(r->device)))
        n = read_cached(r->fd, to, len);
    if (n == -EOPNOTSUPP || n == -EINTR)
        return reading_next(r, to, len);
    if (n != -EAGAIN)
        return have_read(r, n, len);
    posix_fadvise(r->fd, 0, AHEAD, POSIX_FADV_WILLNEED);
    return READING_LATER;
}

ssize_t reading_at(const struct reading *r, void *to, size_t len, uint64_t offset, size_t ahead)
{
    struct iovec all = { to, len };
    ssize_t n = preadv2(r->fd, &all, 1, (off_t)offset, RWF_NOWAIT);
    if (n >= 0 || (r->device && device_has_turns(r->device)))
        return n;
    posix_fadvise(r->fd, (off_t)offset, (off_t)ahead, POSIX_FADV_WILLNEED);
    return pread(r->fd, to, len, (off_t)offset);
}

void reading_close(struct reading *r)
{
    if (r->fd > STDIN_FILENO) {
        check_stamp(r);
        close(r->fd);
    }
    r->fd = -1;
    if (r->has_turn)
        turn_end(r->turn);
    r->has_turn = false;
}
