/* tree_parallel: digests a tree with one task for every file. The first error cancels the scope:
 * that ends the walk and every task that waits. */
#define _DEFAULT_SOURCE
#include "tree.h"

struct crowd {
    leat_scope *scope;
    leat_chan *results;
    const char *root;
};

struct job {
    struct sum sum;
    leat_chan *results;
};

static int digest_one(void *arg)
{
    struct job job = *(struct job *)arg;
    free(arg);
    digest_file(&job.sum);
    int error = leat_send(job.results, &job.sum);
    if (error)
        free(job.sum.path);
    leat_chan_done(job.results);
    return error;
}

static int start_one(struct sum sum, void *arg)
{
    struct crowd *crowd = arg;
    struct job *job = malloc(sizeof *job);
    int error = job ? leat_cancelled(NULL) ? -ECANCELED : 0 : -ENOMEM;
    if (!error) {
        *job = (struct job){ sum, crowd->results };
        leat_chan_senders(crowd->results, 1);
        error = leat_go(crowd->scope, digest_one, job);
        if (error)
            leat_chan_done(crowd->results);
    }
    if (error) {
        free(job);
        free(sum.path);
    }
    return error;
}

/* The walker counts as a sender, too: so `results` cannot close before it has started all tasks. */
static int walk_tree(void *arg)
{
    struct crowd *crowd = arg;
    int error = walk(crowd->root, start_one, crowd);
    leat_chan_done(crowd->results);
    return error;
}

static void drop_sum(void *item)
{
    free(((struct sum *)item)->path);
}

static int parallel(void *arg)
{
    struct tree *tree = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *results =
        leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(struct sum), .drop = drop_sum });
    struct crowd crowd = { s, results, tree->root };
    leat_chan_senders(results, 1);
    int error = leat_go_sized(s, 256 * 1024, walk_tree, &crowd);
    for (struct sum sum; !error && leat_recv(results, &sum) == 0;)
        error = tree_add(tree, sum);
    if (error)
        leat_scope_cancel(s);
    int ended = leat_scope_close(s);
    return error ? error : ended;
}

int main(int argc, char **argv)
{
    return tree_main(argc, argv, parallel);
}
