/* tree_bounded: digests a tree with a fixed number of digesters. One walker sends paths, the
 * digesters send sums, and the main task collects the sums. At most DIGESTERS files are open at
 * a time. */
#define _DEFAULT_SOURCE
#include "tree.h"

enum { DIGESTERS = 20 };

struct mill {
    const char *root;
    leat_chan *files, *results;
};

static int send_file(struct sum sum, void *arg)
{
    int error = leat_send(arg, &sum);
    if (error)
        free(sum.path);
    return error;
}

static int walk_tree(void *arg)
{
    struct mill *mill = arg;
    int error = walk(mill->root, send_file, mill->files);
    leat_close(mill->files);
    return error;
}

static int digester(void *arg)
{
    struct mill *mill = arg;
    int error = 0;
    for (struct sum sum; !error && leat_recv(mill->files, &sum) == 0;) {
        digest_file(&sum);
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
    struct mill mill = { tree->root, leat_chan_of(s, struct sum, 0),
                         leat_chan_of(s, struct sum, 0) };
    leat_chan_senders(mill.results, DIGESTERS);
    int error = leat_go_sized(s, 256 * 1024, walk_tree, &mill);
    for (int i = 0; i < DIGESTERS && !error; i++)
        error = leat_go(s, digester, &mill);
    for (struct sum sum; !error && leat_recv(mill.results, &sum) == 0;)
        error = tree_add(tree, sum);
    if (error)
        leat_scope_cancel(s);
    int ended = leat_scope_close(s);
    return error ? error : ended;
}

int main(int argc, char **argv)
{
    return tree_main(argc, argv, bounded);
}
