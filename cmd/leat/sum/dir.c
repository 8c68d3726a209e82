#define _GNU_SOURCE
#include "dir.h"

#include "long_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_size_t open_count, alive_count;

/* A thread that closes a folder lowers open_count, then reads `few`; the walk sets `few`, then
 * reads open_count. All these accesses are sequentially consistent, so one of the two sees the
 * other. */
static leat_chan *_Atomic wakeup;
static atomic_size_t few;

/* Paths below "d" and below "d/" are the same. */
static bool needs_slash(const struct dir *d)
{
    return d->name_len == 0 || d->name[d->name_len - 1] != '/';
}

struct dir *dir_new(struct dir *parent, const char *name, size_t len, bool follow)
{
    struct dir *d = malloc(sizeof *d + len + 1);
    if (!d)
        return NULL;
    *d = (struct dir){ .parent = parent, .fd = -1, .follow = follow, .name_len = len };
    atomic_init(&d->refs, 1);
    memcpy(d->name, name, len);
    d->name[len] = '\0';
    d->path_len = (parent ? parent->path_len : 0) + len + (needs_slash(d) ? 1 : 0);
    if (parent)
        dir_ref(parent);
    atomic_fetch_add_explicit(&alive_count, 1, memory_order_relaxed);
    return d;
}

void dir_ref(struct dir *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}

void dir_unref(struct dir *d)
{
    /* No recursion: the chain of parents may be too long for the C stack. */
    while (d && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1) {
        struct dir *parent = d->parent;
        free(d);
        atomic_fetch_sub_explicit(&alive_count, 1, memory_order_relaxed);
        d = parent;
    }
}

bool dir_hold_open(struct dir *d)
{
    unsigned holds = atomic_load_explicit(&d->holds, memory_order_acquire);
    while (holds > 0)
        if (atomic_compare_exchange_weak_explicit(&d->holds, &holds, holds + 1,
                                                  memory_order_acquire, memory_order_acquire))
            return true;
    return false;
}

int dir_hold(struct dir *d)
{
    if (dir_hold_open(d))
        return 0;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = long_path_open(d->parent ? d->parent->fd : AT_FDCWD, d->name,
                            d->follow ? flags : flags | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    d->fd = fd;
    atomic_fetch_add_explicit(&open_count, 1, memory_order_relaxed);
    atomic_store_explicit(&d->holds, 1, memory_order_release);
    return 0;
}

void dir_drop(struct dir *d)
{
    /* Read before the hold is dropped: afterwards the walk may open the folder again. */
    int fd = d->fd;
    if (atomic_fetch_sub_explicit(&d->holds, 1, memory_order_acq_rel) == 1) {
        close(fd);
        size_t left = atomic_fetch_sub(&open_count, 1) - 1;
        if (left == atomic_load(&few) && atomic_load(&wakeup))
            leat_try_send(atomic_load(&wakeup), NULL);
    }
}

void dirs_notify(leat_chan *ch, size_t count)
{
    atomic_store(&wakeup, ch);
    atomic_store(&few, count);
}

void dir_path(const struct dir *d, struct text *to)
{
    text_clear(to);
    if (!text_reserve(to, d->path_len))
        return;
    to->len = d->path_len;
    char *end = to->bytes + to->len;
    for (; d; d = d->parent) {
        if (needs_slash(d))
            *--end = '/';
        end -= d->name_len;
        memcpy(end, d->name, d->name_len);
    }
}

size_t dirs_open(void)
{
    return atomic_load(&open_count);
}

size_t dirs_alive(void)
{
    return atomic_load_explicit(&alive_count, memory_order_relaxed);
}
