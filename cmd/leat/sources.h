/* sources.h: where the files to digest come from: the command line and folders, or check lists.
 *
 * Both are producers of a flow (flow.h). */
#ifndef LEAT_CMD_SOURCES_H
#define LEAT_CMD_SOURCES_H

#include "flow.h"
#include "options.h"

struct source {
    const struct options *options;
    size_t descriptors; /* for folders open at the same time */
    bool stdin_used;
    bool list_broken; /* one could not be read: what it names is not known */
};

/* flow_produce_fn each; the argument is a struct source. */
int produce_paths(struct flow *f, void *source);
int produce_lists(struct flow *f, void *source);

/* Standard input has one reader at a time, in order: waits until nobody reads it any more. */
int source_wait_for_stdin(struct source *src, struct flow *f);

/* A slot for a file that the user or a list names, "-" being standard input. As flow_take. */
struct slot *source_file(struct source *src, struct flow *f, const char *name, size_t len,
                         int *err);

#endif
