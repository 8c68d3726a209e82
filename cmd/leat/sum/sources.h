/* sources.h: the producers of a flow (flow.h): the paths of the command line, or check lists. */
#pragma once

#include "flow.h"
#include "options.h"

struct source {
    const struct options *options;
    size_t descriptors; /* folders that may be open at the same time */
    bool stdin_used;
    struct update *update; /* or NULL */
    bool list_broken;      /* a list could not be read, so its names are not known */
};

/* Each is a flow_produce_fn; the argument is a struct source. */
int produce_paths(struct flow *f, void *source);
int produce_lists(struct flow *f, void *source);

struct named;

/* Submits the files of the paths; with `n`, those that are not in it, for a list to add. 0 or a
 * negative errno value. */
int source_paths(struct source *src, struct flow *f, struct named *n);

bool source_is_folder(const char *path);

/* Called before each use of standard input. From the second use on, waits until nothing is under
 * way, so that two files never read it at the same time. 0 or -ECANCELED. */
int source_wait_for_stdin(struct source *src, struct flow *f);

/* As flow_take, for a file that the user or a list names; "-" is standard input. The caller sets
 * the wanted digests. */
struct slot *source_file(struct source *src, struct flow *f, const char *name, size_t len,
                         int *err);
