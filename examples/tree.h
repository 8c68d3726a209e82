/* tree.h: what the three tree digests share: walking a tree, digesting a file, and printing the
 * sums sorted by path. Each program spreads the work over tasks in its own way. */
#ifndef EXAMPLES_TREE_H
#define EXAMPLES_TREE_H

#include <leat/leat.h>

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sum {
    char *path; /* freed with the tree */
    int error;  /* 0, or why there is no digest */
    unsigned char digest[16];
};

struct tree {
    const char *root;
    struct sum *sums;
    size_t count, room;
    char *failed; /* the path at which the first error occurred, or NULL */
};

/* Adds a sum, and takes over its path. Returns 0, -ENOMEM, or the error of a sum without a
 * digest. */
static int tree_add(struct tree *tree, struct sum sum)
{
    if (sum.error && !tree->failed) {
        tree->failed = sum.path;
        return sum.error;
    }
    if (tree->count == tree->room) {
        size_t room = tree->room ? 2 * tree->room : 64;
        struct sum *sums = realloc(tree->sums, room * sizeof *sums);
        if (!sums) {
            free(sum.path);
            return -ENOMEM;
        }
        tree->sums = sums;
        tree->room = room;
    }
    tree->sums[tree->count++] = sum;
    return sum.error;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct sum *)a)->path, ((const struct sum *)b)->path);
}

/* Prints a line like md5sum's. */
static void print_sum(const struct sum *sum)
{
    char hex[2 * sizeof sum->digest + 1] = "";
    for (size_t k = 0; k < sizeof sum->digest; k++) {
        hex[2 * k] = "0123456789abcdef"[sum->digest[k] >> 4];
        hex[2 * k + 1] = "0123456789abcdef"[sum->digest[k] & 15];
    }
    printf("%s  %s\n", hex, sum->path);
}

/* Prints all sums, or after an error what it was. Frees the tree. */
static void tree_finish(struct tree *tree, int error)
{
    if (error)
        fprintf(stderr, "%s: %s\n", tree->failed ? tree->failed : tree->root, strerror(-error));
    else if (tree->count)
        qsort(tree->sums, tree->count, sizeof *tree->sums, by_path);
    for (size_t i = 0; i < tree->count; i++) {
        struct sum *sum = &tree->sums[i];
        if (!error)
            print_sum(sum);
        free(sum->path);
    }
    free(tree->sums);
    free(tree->failed);
}

/* `scope` owns *file, and closes it. */
static int open_file(leat_scope *scope, const char *path, leat_io **file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = fd < 0 ? -errno : 0;
    if (!error)
        error = leat_io_adopt(scope, fd, file);
    if (error && fd >= 0)
        close(fd);
    return error;
}

static int digest_bytes(leat_io *file, EVP_MD_CTX *context)
{
    char buffer[16384];
    int64_t n;
    while ((n = leat_read(file, buffer, sizeof buffer)) > 0)
        EVP_DigestUpdate(context, buffer, (size_t)n);
    return (int)n;
}

/* Reads and digests the file at sum->path, unless the sum has an error already. Reading is a task's
 * wait as any other: a thread of the library waits for the disk, the worker runs other tasks, and
 * cancelling the scope ends it before the next piece. */
static void digest_file(struct sum *sum)
{
    leat_io *file;
    leat_scope *s = sum->error ? NULL : leat_scope_open(LEAT_NEVER);
    if (!s) {
        sum->error = sum->error ? sum->error : -ENOMEM;
        return;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || !EVP_DigestInit_ex(context, EVP_md5(), NULL))
        sum->error = -ENOMEM;
    if (!sum->error)
        sum->error = open_file(s, sum->path, &file);
    if (!sum->error)
        sum->error = digest_bytes(file, context);
    if (!sum->error)
        EVP_DigestFinal_ex(context, sum->digest, NULL);
    EVP_MD_CTX_free(context);
    leat_scope_close(s);
}

/* Calls visit(sum, arg) for every regular file, and, with an error in the sum, for every path
 * that cannot be read. The visitor owns the sum's path. The walk stops at the first result that
 * is not 0, and returns it. */
static int walk(const char *root, int (*visit)(struct sum sum, void *arg), void *arg)
{
    char *roots[] = { (char *)root, NULL };
    FTS *files = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int error = files ? 0 : -errno;
    for (FTSENT *file; !error && (file = fts_read(files));) {
        bool unreadable =
            file->fts_info == FTS_DNR || file->fts_info == FTS_NS || file->fts_info == FTS_ERR;
        if (file->fts_info != FTS_F && !unreadable)
            continue;
        struct sum sum = { .path = strdup(file->fts_path),
                           .error = unreadable ? -file->fts_errno : 0 };
        error = sum.path ? visit(sum, arg) : -ENOMEM;
    }
    if (files)
        fts_close(files);
    return error;
}

/* The program: `digest` is called with the tree as its argument, and fills it. */
static int tree_main(int argc, char **argv, leat_fn *digest)
{
    struct tree tree = { .root = argc > 1 ? argv[1] : "." };
    int error = leat_main_with(digest, &tree, &(leat_options){ .stack_size = 256 * 1024 });
    tree_finish(&tree, error);
    return error != 0;
}

#endif
