/* tree_bounded: digests a tree with a fixed number of digesters: one walker sends paths, the digesters
 * send sums, and the main task collects them. At most so many files are open at a time. */
#define _XOPEN_SOURCE 700
#include "tree.h"

enum { DIGESTERS = 20 };

struct mill {
    const char *root;
    leat_chan *paths, *results;
};

static int send_path(char *path, void *arg)
{
    int error = leat_send(arg, &path);
    if (error)
        free(path);
    return error;
}

static int walk_tree(void *arg)
{
    struct mill *mill = arg;
    int error = walk(mill->root, send_path, mill->paths);
    leat_close(mill->paths);
    return error;
}

static int digester(void *arg)
{
    struct mill *mill = arg;
    int error = 0;
    for (struct sum sum; !error && leat_recv(mill->paths, &sum.path) == 0;) {
        error = digest_file(&sum);
        if (!error)
            error = leat_send(mill->results, &sum);
        if (error)
            free(sum.path);
    }
    leat_chan_done(mill->results);
    return error;
}

static int bounded(void *arg)
{
    struct tree *tree = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct mill mill = { tree->root, leat_chan_of(s, char *, 0), leat_chan_of(s, struct sum, 0) };
    leat_chan_senders(mill.results, DIGESTERS);
    /* They read files, which blocks: so they have threads of their own. */
    int error = leat_go_blocking(s, walk_tree, &mill);
    for (int i = 0; i < DIGESTERS && !error; i++)
        error = leat_go_blocking(s, digester, &mill);
    for (struct sum sum; !error && leat_recv(mill.results, &sum) == 0;)
        error = sums_add(&tree->sums, sum);
    if (error)
        leat_scope_cancel(s);
    int ended = leat_scope_close(s);
    return error ? error : ended;
}

int main(int argc, char **argv)
{
    return tree_main(argc, argv, bounded);
}
