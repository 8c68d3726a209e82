/* read.c: walks a tree in order, then reads every byte of it on the given number of threads. No
 * program that digests the tree can be faster, unless it walks the tree while it reads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 64, CHUNK = 64 * 1024 };

static char **paths;
static size_t count, cap;
static atomic_size_t next;
static atomic_ullong total;

static void add(char *path)
{
    if (count == cap) {
        cap = 2 * cap + 1024;
        paths = realloc(paths, cap * sizeof *paths);
        if (!paths)
            exit(EXIT_FAILURE);
    }
    paths[count++] = path;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, by_bytes);
    if (n < 0) {
        perror(folder);
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        char *path;
        if (asprintf(&path, "%s/%s", folder, name) < 0)
            exit(EXIT_FAILURE);
        if (entries[i]->d_type == DT_REG) {
            add(path);
        } else {
            if (entries[i]->d_type == DT_DIR && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
                walk(path);
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
}

static void *read_some(void *arg)
{
    (void)arg;
    static _Thread_local char chunk[CHUNK];
    for (size_t i; (i = atomic_fetch_add(&next, 1)) < count;) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        ssize_t n;
        while ((n = read(fd, chunk, CHUNK)) > 0)
            atomic_fetch_add_explicit(&total, (unsigned long long)n, memory_order_relaxed);
        close(fd);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: read THREADS FOLDER\n");
        return EXIT_FAILURE;
    }
    walk(argv[2]);
    pthread_t thread[THREADS_MAX];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, read_some, NULL) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%zu files, %llu bytes\n", count, atomic_load(&total));
    return EXIT_SUCCESS;
}
