#define _GNU_SOURCE
#include "named.h"

#include "long_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { CAP_FIRST = 1024 };

int named_open(struct named *n)
{
    *n = (struct named){ 0 };
    return getrandom(&n->key, sizeof n->key, 0) == (ssize_t)sizeof n->key ? 0 : -errno;
}

void named_close(struct named *n)
{
    free(n->hashes);
    text_free(&n->folder);
}

static uint64_t hash_of(const struct named *n, dev_t device, ino_t inode, const char *name)
{
    uint64_t folder[] = { device, inode };
    uint64_t seed = XXH3_64bits_withSeed(folder, sizeof folder, n->key);
    uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), seed);
    return hash ? hash : 1;
}

/* The hash's place in the table, or the free place for it. There is a free place. */
static uint64_t *place_of(const struct named *n, uint64_t hash)
{
    size_t at = hash & (n->cap - 1);
    while (n->hashes[at] && n->hashes[at] != hash)
        at = (at + 1) & (n->cap - 1);
    return &n->hashes[at];
}

static int grow(struct named *n)
{
    struct named more = { .cap = n->cap ? 2 * n->cap : CAP_FIRST };
    more.hashes = calloc(more.cap, sizeof *more.hashes);
    if (!more.hashes)
        return -ENOMEM;
    for (size_t i = 0; i < n->cap; i++)
        if (n->hashes[i])
            *place_of(&more, n->hashes[i]) = n->hashes[i];
    free(n->hashes);
    n->hashes = more.hashes;
    n->cap = more.cap;
    return 0;
}

/* Other errors, such as a shortage or EIO, do not say whether a folder is there. */
static bool says_absent(int err)
{
    return err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -EACCES ||
           err == -ENAMETOOLONG;
}

/* Finds the name at the end of the path. Looks at the path's folder, unless it is that of the path
 * before. */
static int look_at_folder(struct named *n, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/'), *folder = slash ? path : "./";
    size_t len = slash ? (size_t)(slash + 1 - path) : 2;
    *name = slash ? slash + 1 : path;
    if (n->folder.len == len && memcmp(n->folder.bytes, folder, len) == 0)
        return 0;
    text_clear(&n->folder);
    text_add(&n->folder, folder, len);
    if (!text_string(&n->folder))
        return -ENOMEM;
    struct stat about;
    int err = long_path_stat(AT_FDCWD, n->folder.bytes, &about, 0);
    if (err && !says_absent(err))
        n->error = err;
    n->folder_is_there = err == 0;
    n->device = about.st_dev;
    n->inode = about.st_ino;
    return 0;
}

int named_add_entry(struct named *n, dev_t device, ino_t inode, const char *name)
{
    int err = n->count >= n->cap / 4 * 3 ? grow(n) : 0;
    if (err)
        return err;
    uint64_t hash = hash_of(n, device, inode, name), *place = place_of(n, hash);
    if (!*place)
        n->count++;
    *place = hash;
    return 0;
}

int named_add(struct named *n, const char *path)
{
    const char *name;
    int err = look_at_folder(n, path, &name);
    if (err || !n->folder_is_there)
        return err;
    return named_add_entry(n, n->device, n->inode, name);
}

int named_has_path(struct named *n, const char *path)
{
    const char *name;
    int err = look_at_folder(n, path, &name);
    err = err ? err : n->error;
    return err ? err : n->folder_is_there && named_has(n, n->device, n->inode, name);
}

bool named_has(const struct named *n, dev_t device, ino_t inode, const char *name)
{
    return n->cap > 0 && *place_of(n, hash_of(n, device, inode, name));
}
