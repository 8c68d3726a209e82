#define _GNU_SOURCE
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path of the file itself, which the caller frees; NULL with errno set. */
static char *find_place(const char *path)
{
    struct stat about;
    int found = lstat(path, &about);
    if (found < 0 && errno != ENOENT)
        return NULL;
    if (found < 0 || !S_ISLNK(about.st_mode))
        return strdup(path);
    /* A link may lead to a file that does not exist yet, and realpath needs one. */
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0)
        return NULL;
    close(fd);
    return realpath(path, NULL);
}

/* The mode comes last, since a change of the owner may take bits away. */
static int take_after(int fd, const char *place)
{
    struct stat old;
    if (stat(place, &old) < 0)
        return errno == ENOENT ? 0 : -errno;
    /* Only root may give a file away. */
    if (fchown(fd, old.st_uid, old.st_gid) < 0 && fchown(fd, (uid_t)-1, old.st_gid) < 0)
        return fchmod(fd, old.st_mode & 0707) < 0 ? -errno : 0;
    return fchmod(fd, old.st_mode & 0777) < 0 ? -errno : 0;
}

static int open_beside(struct replacement *r)
{
    static const char end[] = ".XXXXXX";
    const char *slash = strrchr(r->place, '/'), *name = slash ? slash + 1 : r->place;
    size_t room = NAME_MAX + 1 - sizeof end;
    text_add(&r->beside, r->place, (size_t)(name - r->place) + strnlen(name, room));
    text_str(&r->beside, end);
    if (!text_string(&r->beside))
        return -ENOMEM;
    r->fd = mkostemp(r->beside.bytes, O_CLOEXEC);
    return r->fd < 0 ? -errno : 0;
}

int replacement_begin(struct replacement *r, const char *path)
{
    *r = (struct replacement){ .place = find_place(path), .fd = -1 };
    int err = r->place ? open_beside(r) : -errno;
    if (!err)
        return 0;
    text_free(&r->beside);
    free(r->place);
    return err;
}

int replacement_finish(const struct replacement *r)
{
    int err = take_after(r->fd, r->place);
    return !err && fsync(r->fd) < 0 ? -errno : err;
}

int replacement_end(struct replacement *r, int err)
{
    if (close(r->fd) < 0 && !err)
        err = -errno;
    if (!err && rename(r->beside.bytes, r->place) < 0)
        err = -errno;
    if (err)
        unlink(r->beside.bytes);
    text_free(&r->beside);
    free(r->place);
    return err;
}
