/* paths.c: the files that the command line names, and those in the folders it names. */
#include "sources.h"
#include "walk.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int source_wait_for_stdin(struct source *src, struct flow *f)
{
    int err = src->stdin_used ? flow_settle(f, NULL, NULL) : 0;
    src->stdin_used = true;
    return err;
}

struct slot *source_file(struct source *src, struct flow *f, const char *name, size_t len, int *err)
{
    bool is_stdin = len == 1 && *name == '-';
    *err = is_stdin ? source_wait_for_stdin(src, f) : 0;
    if (*err)
        return NULL;
    struct slot *s = flow_take(f, name, len, err);
    if (s && is_stdin)
        s->origin = ORIGIN_STDIN;
    return s;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int produce_paths(struct flow *f, void *source)
{
    struct source *src = source;
    const struct options *o = src->options;
    static char stdin_name[] = "-";
    char *no_paths[] = { stdin_name };
    char **paths = o->path_count > 0 ? o->paths : no_paths;
    int count = o->path_count > 0 ? o->path_count : 1, err = 0;
    struct walk walk;
    walk_open(&walk, f, src->descriptors);
    for (int i = 0; i < count && !err; i++) {
        if (!o->persona->classic && strcmp(paths[i], "-") != 0 && is_folder(paths[i])) {
            err = walk_folder(&walk, paths[i]);
            continue;
        }
        struct slot *s = source_file(src, f, paths[i], strlen(paths[i]), &err);
        if (s)
            err = flow_submit(f, s);
    }
    walk_close(&walk);
    return err;
}
