/* paths.c: the producer for the paths of the command line or of a file of names. */
#define _GNU_SOURCE
#include "long_path.h"
#include "named.h"
#include "shared/lines.h"
#include "sources.h"
#include "update.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (!s)
        return NULL;
    if (is_stdin)
        s->origin = ORIGIN_STDIN;
    if (f->goal.wanted) {
        struct stat about;
        int there =
            is_stdin ? fstat(STDIN_FILENO, &about) : long_path_stat(AT_FDCWD, s->name, &about, 0);
        goal_add(&f->goal, there == 0 ? &about : NULL);
    }
    return s;
}

bool source_is_folder(const char *path)
{
    struct stat about;
    return long_path_stat(AT_FDCWD, path, &about, 0) == 0 && S_ISDIR(about.st_mode);
}

struct paths {
    struct source *src;
    struct flow *flow;
    struct walk walk;
};

/* Submits a failure of the file of names, or of standard input. */
static int submit_failure(const struct paths *p, const char *name, int error, const char *remark)
{
    return flow_tell(p->flow, NULL, name, SLOT_LIST_BROKEN, error, remark);
}

static int take_path(struct paths *p, const char *path, size_t len)
{
    if (p->walk.named && strcmp(path, "-") == 0)
        return submit_failure(p, "standard input", 0, "cannot be added to a list");
    bool classic = p->src->options->persona->classic;
    if (!classic && strcmp(path, "-") != 0 && source_is_folder(path))
        return p->src->options->tree ? walk_tree(&p->walk, path, NULL)
                                     : walk_folder(&p->walk, path);
    int err = p->walk.named ? named_has_path(p->walk.named, path) : 0;
    if (err)
        return err < 0 ? err : 0;
    if (p->walk.named)
        err = named_add(p->walk.named, path);
    struct slot *s = err ? NULL : source_file(p->src, p->flow, path, len, &err);
    if (!s)
        return err;
    s->wanted = p->walk.wanted;
    s->size = p->walk.size;
    return flow_submit(p->flow, s);
}

static int take_name(struct paths *p, const char *list, bool is_stdin, char *name, size_t len)
{
    /* The last name may lack its NUL; there is room for one. */
    if (name[len - 1] == '\0')
        len--;
    name[len] = '\0';
    if (len == 0)
        return submit_failure(p, list, 0, "contains an empty file name");
    if (is_stdin && strcmp(name, "-") == 0)
        return submit_failure(p, list, 0, "cannot name itself, '-', as a file");
    return take_path(p, name, len);
}

static int take_names(struct paths *p, const char *list, int fd, bool is_stdin)
{
    struct lines lines;
    char *name;
    size_t len;
    int err = 0, got = 0;
    lines_open(&lines, fd, '\0');
    while (!err && ((got = lines_next(&lines, &name, &len)) == 1 || got == -E2BIG))
        err = got == 1 ? take_name(p, list, is_stdin, name, len)
                       : submit_failure(p, list, 0, "contains a file name of more than 1 MiB");
    lines_close(&lines);
    if (err || got == 0 || got == -ENOMEM || got == -ECANCELED)
        return err ? err : got;
    return submit_failure(p, list, got, NULL);
}

static int take_file_of_names(struct paths *p, const char *path)
{
    if (strcmp(path, "-") == 0) {
        p->src->stdin_used = true;
        return take_names(p, "standard input", STDIN_FILENO, true);
    }
    int fd = long_path_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? submit_failure(p, path, fd, NULL) : take_names(p, path, fd, false);
}

/* If no path is a folder, the number of files is known at once. */
static void count_paths(struct flow *f, const struct options *o)
{
    for (int i = 0; i < o->path_count; i++)
        if (source_is_folder(o->paths[i]))
            return;
    goal_set(&f->goal, (uint64_t)o->path_count);
}

static int take_paths(struct paths *p)
{
    const struct options *o = p->src->options;
    if (o->files0_from)
        return take_file_of_names(p, o->files0_from);
    int err = o->path_count == 0 ? take_path(p, "-", 1) : 0;
    for (int i = 0; i < o->path_count && !err; i++)
        err = take_path(p, o->paths[i], strlen(o->paths[i]));
    return err;
}

int source_paths(struct source *src, struct flow *f, struct named *n)
{
    struct paths p = { .src = src, .flow = f };
    walk_open(&p.walk, f, src->descriptors, &src->options->exclude);
    if (n) {
        p.walk.named = p.walk.looked = n;
        p.walk.wanted = update_wanted(src->update);
        p.walk.size = src->update->size;
    }
    int err = take_paths(&p);
    walk_close(&p.walk);
    return err;
}

int produce_paths(struct flow *f, void *source)
{
    struct source *src = source;
    if (f->goal.wanted && !src->options->files0_from)
        count_paths(f, src->options);
    return source_paths(src, f, NULL);
}
