/* tree_serial: digests a tree, one file after the other, in one task. */
#define _XOPEN_SOURCE 700
#include "tree.h"

static int visit(char *path, void *arg)
{
    struct sum sum = { .path = path };
    int error = digest_file(&sum);
    if (error) {
        free(path);
        return error;
    }
    return sums_add(arg, sum);
}

static int serial(void *arg)
{
    struct tree *tree = arg;
    return walk(tree->root, visit, &tree->sums);
}

int main(int argc, char **argv)
{
    return tree_main(argc, argv, serial);
}
