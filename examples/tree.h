/* tree.h: what the three tree digests share: walking, digesting one file, and printing sorted by
 * path. How the work is spread over tasks is each one's own business. */
#ifndef EXAMPLES_TREE_H
#define EXAMPLES_TREE_H

#include <leat/leat.h>

#include <errno.h>
#include <ftw.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sum {
    char *path; /* freed with the list */
    unsigned char digest[16];
};

struct sums {
    struct sum *items;
    size_t count, room;
};

/* Adds a sum, and takes its path over; 0 or -ENOMEM. */
static int sums_add(struct sums *sums, struct sum sum)
{
    if (sums->count == sums->room) {
        size_t room = sums->room ? 2 * sums->room : 64;
        struct sum *items = realloc(sums->items, room * sizeof *items);
        if (!items) {
            free(sum.path);
            return -ENOMEM;
        }
        sums->items = items;
        sums->room = room;
    }
    sums->items[sums->count++] = sum;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct sum *)a)->path, ((const struct sum *)b)->path);
}

/* Prints and frees all; or, after an error, only frees. */
static void sums_finish(struct sums *sums, int error)
{
    if (!error)
        qsort(sums->items, sums->count, sizeof *sums->items, by_path);
    for (size_t i = 0; i < sums->count; i++) {
        struct sum *sum = &sums->items[i];
        for (size_t k = 0; !error && k < sizeof sum->digest; k++)
            printf("%02x", sum->digest[k]);
        if (!error)
            printf("  %s\n", sum->path);
        free(sum->path);
    }
    free(sums->items);
}

/* Reads and digests the file at sum->path. 0, or what went wrong. */
static int digest_file(struct sum *sum)
{
    FILE *file = fopen(sum->path, "rb");
    if (!file)
        return -errno;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int error = context && EVP_DigestInit_ex(context, EVP_md5(), NULL) ? 0 : -ENOMEM;
    char buffer[16384];
    size_t n;
    while (!error && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        EVP_DigestUpdate(context, buffer, n);
    if (!error && ferror(file))
        error = -EIO;
    if (!error)
        EVP_DigestFinal_ex(context, sum->digest, NULL);
    EVP_MD_CTX_free(context);
    fclose(file);
    return error;
}

/* Calls visit(path, arg) for every regular file, with a path the visitor owns; stops at the first
 * result that is not 0, and returns it. (nftw has no argument for its callback: hence the two
 * thread-local words. A walk stays on its thread, as every started task does.) */
static _Thread_local int (*walk_visit)(char *path, void *arg);
static _Thread_local void *walk_arg;

static int walk_step(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)place;
    if (kind == FTW_NS || kind == FTW_DNR)
        return -EACCES;
    if (kind != FTW_F || !S_ISREG(status->st_mode))
        return 0;
    char *copy = strdup(path);
    return copy ? walk_visit(copy, walk_arg) : -ENOMEM;
}

static int walk(const char *root, int (*visit)(char *path, void *arg), void *arg)
{
    walk_visit = visit;
    walk_arg = arg;
    int result = nftw(root, walk_step, 32, FTW_PHYS);
    return result == -1 ? -errno : result;
}

/* The program: `digest` gets the root and a list to fill. */
struct tree {
    const char *root;
    struct sums sums;
};

static int tree_main(int argc, char **argv, leat_fn *digest)
{
    struct tree tree = { .root = argc > 1 ? argv[1] : "." };
    int error = leat_main_with(digest, &tree, &(leat_options){ .stack_size = 256 * 1024 });
    if (error)
        fprintf(stderr, "%s: %s\n", tree.root, strerror(-error));
    sums_finish(&tree.sums, error);
    return error != 0;
}

#endif
