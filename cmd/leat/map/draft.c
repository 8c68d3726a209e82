#define _GNU_SOURCE
#include "map/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int draft_open(struct draft *d, mode_t mask, int log)
{
    d->fd = -1;
    d->other = NULL;
    /* The rename would replace a device, a link or the log. */
    struct stat about, logged = { 0 };
    bool replaces = lstat(d->name, &about) == 0;
    if ((!replaces && errno != ENOENT) || (log >= 0 && fstat(log, &logged) != 0))
        return -errno;
    bool is_log = replaces && about.st_ino == logged.st_ino && about.st_dev == logged.st_dev;
    if (is_log || (replaces && !S_ISREG(about.st_mode)))
        return S_ISDIR(about.st_mode) ? -EISDIR : -EEXIST;
    const char *slash = strrchr(d->name, '/');
    int folder = slash ? (int)(slash + 1 - d->name) : 0;
    char *other;
    if (asprintf(&other, "%.*s.leat-map-XXXXXX", folder, d->name) < 0)
        return -ENOMEM;
    d->fd = mkostemp(other, O_CLOEXEC);
    if (d->fd < 0) {
        int error = -errno;
        free(other);
        return error;
    }
    d->other = other;
    fchmod(d->fd, replaces ? about.st_mode & 0777 : 0666 & ~mask);
    return 0;
}

int draft_close(struct draft *d, bool good)
{
    if (d->fd < 0)
        return 0;
    /* Some file systems report only now that they could not write something, such as NFS. */
    int error = close(d->fd) != 0 ? -errno : 0;
    d->fd = -1;
    if (good && !error && rename(d->other, d->name) != 0)
        error = -errno;
    if (!good || error)
        unlink(d->other);
    return good ? error : 0;
}

void draft_free(struct draft *d)
{
    free(d->other);
    free(d->name);
}

uint64_t draft_size(const struct draft *d)
{
    struct stat about;
    return d->fd >= 0 && fstat(d->fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}
