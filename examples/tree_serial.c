/* tree_serial: digests a tree in one task, file by file. */
#define _DEFAULT_SOURCE
#include "tree.h"

static int visit(struct sum sum, void *tree)
{
    digest_file(&sum);
    return tree_add(tree, sum);
}

static int serial(void *arg)
{
    struct tree *tree = arg;
    return walk(tree->root, visit, tree);
}

int main(int argc, char **argv)
{
    return tree_main(argc, argv, serial);
}
