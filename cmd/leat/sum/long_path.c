#define _GNU_SOURCE
#include "long_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Opens the folder that the first piece of *path leads to, and moves *path to the rest. */
static int open_piece(int at, const char **path)
{
    char piece[PATH_MAX];
    memcpy(piece, *path, sizeof piece);
    const char *slash = memrchr(piece, '/', sizeof piece - 1);
    if (!slash)
        return -ENAMETOOLONG;
    size_t len = (size_t)(slash - piece) + 1;
    piece[len] = '\0';
    int fd = openat(at, piece, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *path += len;
    /* The rest must not begin with '/'; if nothing is left, it is the folder itself. */
    *path += strspn(*path, "/");
    if (!**path)
        *path = ".";
    return fd < 0 ? -errno : fd;
}

/* Opens the folder from which the rest of *path is short enough, and moves *path to that rest. */
static int open_way(int at, const char **path)
{
    int folder = at;
    do {
        int next = open_piece(folder, path);
        if (folder != at)
            close(folder);
        folder = next;
    } while (folder >= 0 && strlen(*path) >= PATH_MAX);
    return folder;
}

static bool is_long(const char *path)
{
    return errno == ENAMETOOLONG && strlen(path) >= PATH_MAX;
}

int long_path_open(int at, const char *path, int flags)
{
    int fd = openat(at, path, flags);
    if (fd >= 0 || !is_long(path))
        return fd < 0 ? -errno : fd;
    int folder = open_way(at, &path);
    if (folder < 0)
        return folder;
    fd = openat(folder, path, flags);
    int err = -errno;
    close(folder);
    return fd < 0 ? err : fd;
}

int long_path_stat(int at, const char *path, struct stat *about, int flags)
{
    if (fstatat(at, path, about, flags) == 0)
        return 0;
    if (!is_long(path))
        return -errno;
    int folder = open_way(at, &path);
    if (folder < 0)
        return folder;
    int err = fstatat(folder, path, about, flags) < 0 ? -errno : 0;
    close(folder);
    return err;
}
