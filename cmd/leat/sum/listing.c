#define _GNU_SOURCE
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 32 * 1024 };

void lister_open(struct lister *l)
{
    struct stat about;
    *l = (struct lister){ 0 };
    if (fstat(STDOUT_FILENO, &about) == 0 && S_ISREG(about.st_mode)) {
        l->device = about.st_dev;
        l->inode = about.st_ino;
    }
}

void lister_free(struct lister *l)
{
    free(l->block);
    text_free(&l->names);
    text_free(&l->starts);
    *l = (struct lister){ 0 };
}

static enum entry_kind kind_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return ENTRY_FILE;
    case S_IFDIR: return ENTRY_FOLDER;
    case S_IFIFO: return ENTRY_FIFO;
    case S_IFSOCK: return ENTRY_SOCKET;
    default: return ENTRY_DEVICE;
    }
}

static bool is_output(const struct lister *l, const struct stat *about)
{
    return about->st_ino == l->inode && about->st_dev == l->device;
}

/* The kind of the entry; 0 for a link that is not followed. */
static enum entry_kind classify(const struct lister *l, int fd, const char *name,
                                unsigned char type, bool follow_links)
{
    struct stat about;
    if (type == DT_UNKNOWN) {
        if (fstatat(fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
            return ENTRY_UNKNOWN;
        type = (unsigned char)IFTODT(about.st_mode);
    }
    if (type != DT_LNK)
        return kind_of_mode((mode_t)DTTOIF(type));
    if (!follow_links)
        return 0;
    if (fstatat(fd, name, &about, 0) < 0)
        return ENTRY_UNKNOWN;
    return is_output(l, &about) ? ENTRY_OUTPUT : kind_of_mode(about.st_mode);
}

static void add(struct lister *l, enum entry_kind kind, const char *name)
{
    text_add(&l->starts, &l->names.len, sizeof l->names.len);
    text_char(&l->names, (char)kind);
    text_str(&l->names, name);
    if (kind == ENTRY_FOLDER)
        text_char(&l->names, '/');
    text_char(&l->names, '\0');
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* The folder that is listed, and how. */
struct folder {
    const struct dir *dir;
    bool follow_links;
    const struct exclude *exclude;
};

/* The number in the folder may also be that of a file on which another one is mounted. */
static bool found_output(const struct lister *l, int fd, const struct dirent64 *found)
{
    struct stat about;
    return found->d_ino == l->inode &&
           fstatat(fd, found->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && is_output(l, &about);
}

static void take(struct lister *l, const struct folder *f, const struct dirent64 *found)
{
    const char *name = found->d_name;
    if (is_dots(name))
        return;
    enum entry_kind kind = found_output(l, f->dir->fd, found)
                               ? ENTRY_OUTPUT
                               : classify(l, f->dir->fd, name, found->d_type, f->follow_links);
    if (kind && !exclude_has(f->exclude, f->dir, name, kind == ENTRY_FOLDER))
        add(l, kind, name);
}

static int read_names(struct lister *l, const struct folder *f)
{
    if (!l->block && !(l->block = malloc(BLOCK)))
        return -ENOMEM;
    for (;;) {
        ssize_t len = getdents64(f->dir->fd, l->block, BLOCK);
        if (len <= 0)
            return len < 0 ? -errno : 0;
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *found = (const void *)(l->block + at);
            at += found->d_reclen;
            take(l, f, found);
        }
    }
}

static int by_bytes(const void *a, const void *b, void *bytes)
{
    const char *names = bytes;
    /* + 1: after the kind. */
    return strcmp(names + *(const size_t *)a + 1, names + *(const size_t *)b + 1);
}

int list_folder(struct lister *l, const struct dir *folder, bool follow_links,
                const struct exclude *exclude, char **names)
{
    text_clear(&l->names);
    text_clear(&l->starts);
    *names = NULL;
    int err = read_names(l, &(struct folder){ folder, follow_links, exclude });
    if (l->names.broken || l->starts.broken)
        return -ENOMEM;
    size_t *starts = (size_t *)(void *)l->starts.bytes, count = l->starts.len / sizeof *starts;
    if (count == 0)
        return err;
    char *sorted = malloc(l->names.len + 1);
    if (!sorted)
        return -ENOMEM;
    qsort_r(starts, count, sizeof *starts, by_bytes, l->names.bytes);
    char *to = sorted;
    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, l->names.bytes + starts[i]) + 1;
    *to = 0; /* no kind: the end */
    *names = sorted;
    return err;
}

struct entry listing_next(const char **at)
{
    struct entry entry = { .kind = (enum entry_kind) * *at, .name = *at + 1 };
    if (entry.kind)
        *at += strlen(*at) + 1;
    return entry;
}
