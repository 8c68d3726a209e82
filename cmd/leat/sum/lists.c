/* lists.c: the producer for the files of check lists. */
#define _GNU_SOURCE
#include "check.h"
#include "long_path.h"
#include "named.h"
#include "shared/lines.h"
#include "sources.h"
#include "update.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How far the lists have been read, to estimate how many files they name. Counting their lines
 * first would delay everything. */
struct way {
    uint64_t all, done; /* bytes; `all` is 0 if it is not known */
};

/* A list while it is read. */
struct list {
    struct source *src;
    struct flow *flow;
    struct way *way;
    struct named *named; /* collects the names for --strict-tree; else NULL */
    const char *name;    /* in messages */
    bool is_stdin;
    uint64_t lines, good, bad;
    size_t strange; /* bytes of an untagged digest in a bad line, or 0 */
};

/* Submits a message about the list itself. */
static int submit_message(const struct list *l, enum slot_kind kind, int error, const char *remark)
{
    int err;
    struct slot *s = flow_take(l->flow, l->name, strlen(l->name), &err);
    if (!s)
        return err;
    s->kind = kind;
    s->error = error;
    s->remark = remark;
    s->line = l->lines;
    s->good_lines = l->good;
    s->bad_lines = l->bad;
    s->size = l->strange;
    return flow_submit(l->flow, s);
}

static int submit_broken(const struct list *l, int error, const char *remark)
{
    l->src->list_broken = true;
    return submit_message(l, SLOT_LIST_BROKEN, error, remark);
}

/* Whether the algorithm is known only by the digest's length. */
static bool is_unsure(const struct options *o, const struct checked *found)
{
    if (found->tagged || o->persona->classic)
        return false;
    return o->any_digest || found->algorithm > 0 ||
           found->size != digest_size(o->selection.at[0], o->size);
}

/* Whether the name belongs to a folder that is digested as a whole. */
static bool is_tree(const struct list *l, const struct checked *found)
{
    return !l->src->options->persona->classic && found->name_len > 0 &&
           found->name[found->name_len - 1] == '/' && source_is_folder(found->name);
}

static int take_tree(struct list *l, const struct checked *found)
{
    const struct options *o = l->src->options;
    struct walk_checked checked = { l->lines, is_unsure(o, found), found->digest };
    struct walk walk;
    walk_open(&walk, l->flow, l->src->descriptors, &o->exclude);
    walk.wanted = 1u << found->algorithm;
    walk.size = found->size;
    walk.naming = l->named;
    int err = walk_tree(&walk, found->name, &checked);
    walk_close(&walk);
    return err;
}

static const char *line_end(const char *line, size_t len)
{
    if (len == 0 || line[len - 1] != '\n')
        return "";
    return len > 1 && line[len - 2] == '\r' ? "\r\n" : "\n";
}

static int take_line(struct list *l, struct grammar *g, char *line, size_t len)
{
    struct checked found;
    l->lines++;
    l->way->done += len;
    const char *end = line_end(line, len);
    enum line_kind kind = check_read(g, line, len, &found);
    if (kind == LINE_IGNORED)
        return 0;
    /* A list on standard input cannot name standard input. */
    if (kind == LINE_BAD || (l->is_stdin && strcmp(found.name, "-") == 0)) {
        l->bad++;
        if (kind == LINE_BAD && found.size > 0)
            l->strange = found.size;
        return l->src->options->warn ? submit_message(l, SLOT_BAD_LINE, 0, NULL) : 0;
    }
    l->good++;
    if (l->src->update)
        update_meet(l->src->update, &found, end);
    int err = l->named ? named_add(l->named, found.name) : 0;
    int excluded = err ? err : exclude_has_path(&l->src->options->exclude, found.name);
    if (excluded)
        return excluded < 0 ? excluded : 0;
    if (is_tree(l, &found))
        return take_tree(l, &found);
    struct slot *s = source_file(l->src, l->flow, found.name, found.name_len, &err);
    if (!s)
        return err;
    s->line = l->lines;
    s->wanted = 1u << found.algorithm;
    s->size = found.size;
    s->unsure = is_unsure(l->src->options, &found);
    s->expected = s->digest + DIGEST_MAX;
    memcpy(s->expected, found.digest, DIGEST_MAX);
    if (l->way->all > 0)
        goal_guess(&l->flow->goal, l->way->done, l->way->all);
    return flow_submit(l->flow, s);
}

/* Reports a line that is too long before it has been read: it may never end. */
static int skip_line(struct list *l)
{
    l->lines++;
    l->bad++;
    return submit_message(l, SLOT_BAD_LINE, 0, "line of more than 1 MiB, skipped");
}

static int take_lines(struct list *l, struct grammar *g, int fd)
{
    struct lines lines;
    char *line;
    size_t len;
    int err = 0, got = 0;
    lines_open(&lines, fd, '\n');
    while (!err && ((got = lines_next(&lines, &line, &len)) == 1 || got == -E2BIG))
        err = got == 1 ? take_line(l, g, line, len) : skip_line(l);
    lines_close(&lines);
    /* A file with lines but without a digest is something else: it must not be changed. */
    if (l->src->update && l->good == 0 && l->bad > 0)
        l->src->list_broken = true;
    if (err || got == -ENOMEM || got == -ECANCELED)
        return err ? err : got;
    return got < 0 ? submit_broken(l, 0, "read error") : submit_message(l, SLOT_LIST_END, 0, NULL);
}

static int take_list(struct list l, struct grammar *g, const char *path)
{
    l.name = path;
    l.is_stdin = strcmp(path, "-") == 0;
    int fd = STDIN_FILENO;
    if (l.is_stdin) {
        l.name = "standard input";
        int err = source_wait_for_stdin(l.src, l.flow);
        if (err)
            return err;
    } else {
        /* A list that may not be changed must be refused before everything has been read. */
        int flags = l.src->update ? O_RDWR : O_RDONLY;
        fd = long_path_open(AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (fd < 0)
        return submit_broken(&l, fd, NULL);
    int err = l.src->update ? update_take_stamp(l.src->update, fd) : 0;
    if (err) {
        close(fd);
        return submit_broken(&l, err == -EINVAL ? 0 : err,
                             err == -EINVAL ? "is not a regular file" : NULL);
    }
    return take_lines(&l, g, fd);
}

/* 0 if the size of any list is not known. */
static uint64_t bytes_of_lists(const struct options *o)
{
    uint64_t all = 0;
    struct stat about;
    for (int i = 0; i < o->path_count && !o->update; i++) {
        if (strcmp(o->paths[i], "-") == 0 || stat(o->paths[i], &about) < 0 ||
            !S_ISREG(about.st_mode))
            return 0;
        all += (uint64_t)about.st_size;
    }
    return all;
}

static int take_lists(const struct list *l)
{
    const struct options *o = l->src->options;
    struct grammar g = {
        .selection = &o->selection,
        .classic = o->persona->kind == PERSONA_COREUTILS,
        .any_digest = o->any_digest,
    };
    if (o->update)
        return take_list(*l, &g, o->update);
    int err = o->path_count > 0 ? 0 : take_list(*l, &g, "-");
    for (int i = 0; i < o->path_count && !err; i++)
        err = take_list(*l, &g, o->paths[i]);
    return err;
}

/* The path may be that of a link, and the file in a folder that is walked. So may a link to it be:
 * for these, the file itself is named, too, as an entry without a name. */
static int name_own_file(struct named *n, const char *path)
{
    const char *open_as = strcmp(path, "-") == 0 ? "/proc/self/fd/0" : path;
    struct stat about;
    int err = named_add(n, open_as);
    if (!err && stat(open_as, &about) == 0)
        err = named_add_entry(n, about.st_dev, about.st_ino, "");
    char *itself = err ? NULL : realpath(open_as, NULL);
    if (itself)
        err = named_add(n, itself);
    free(itself);
    return err;
}

/* The lists themselves and the cache need not be listed. */
static int name_own_files(struct source *src, struct named *n)
{
    const struct options *o = src->options;
    int err = 0;
    if (o->update)
        err = name_own_file(n, o->update);
    else if (o->path_count == 0)
        err = name_own_file(n, "-");
    for (int i = 0; i < o->path_count && !o->update && !err; i++)
        err = name_own_file(n, o->paths[i]);
    if (!err && o->cache)
        err = name_own_file(n, o->cache);
    return err;
}

static int walk_trees(struct source *src, struct flow *f, struct named *n)
{
    const struct options *o = src->options;
    struct walk walk;
    int err = 0;
    walk_open(&walk, f, src->descriptors, &o->exclude);
    walk.named = walk.looked = n;
    walk.report = true;
    for (int i = 0; i < o->tree_count && !err; i++)
        err = walk_folder(&walk, o->trees[i]);
    walk_close(&walk);
    return err;
}

/* `wanted`, `size`: the digests that are looked for. */
static int walk_for_moved(struct source *src, struct flow *f, struct named *n, unsigned wanted,
                          size_t size)
{
    const struct options *o = src->options;
    struct named looked;
    struct walk walk;
    int err = named_open(&looked);
    walk_open(&walk, f, src->descriptors, &o->exclude);
    walk.wanted = wanted;
    walk.size = size;
    walk.named = n;
    walk.looked = &looked;
    for (int i = 0; i < o->moved_count && !err; i++)
        err = walk_folder(&walk, o->moved[i]);
    walk_close(&walk);
    named_close(&looked);
    return err;
}

/* Looks for listed files that are missing among those that no list names. */
static int find_moved(struct source *src, struct flow *f, struct named *n)
{
    size_t size = 0;
    unsigned wanted;
    int err;
    /* An algorithm that has several sizes has one size in a walk. So further ones need walks of
     * their own. */
    do {
        /* When no slot is under way, the collector has met all files of the lists, and does not
         * touch the table of the missing ones. */
        err = flow_settle(f, NULL, NULL);
        wanted = err || src->list_broken ? 0 : same_algorithms(&f->emitter->gone, &size);
        if (wanted)
            err = walk_for_moved(src, f, n, wanted, size);
    } while (!err && wanted && size > 0);
    return err ? err : flow_tell(f, NULL, "", SLOT_MOVED_END, 0, NULL);
}

/* Looks for files that no list names: to report them, or to add them to the list. */
static int find_unlisted(struct source *src, struct flow *f, struct named *n)
{
    int err = src->update ? source_paths(src, f, n) : walk_trees(src, f, n);
    return err ? err : flow_tell(f, NULL, "", SLOT_TREES_END, 0, NULL);
}

int produce_lists(struct flow *f, void *source)
{
    struct source *src = source;
    struct way way = { .all = f->goal.wanted ? bytes_of_lists(src->options) : 0 };
    struct list l = { .src = src, .flow = f, .way = &way };
    if (!src->options->trees && !src->options->moved && !src->update)
        return take_lists(&l);
    struct named named;
    int err = named_open(&named);
    l.named = &named;
    if (!err)
        err = take_lists(&l);
    if (!err)
        err = name_own_files(src, &named);
    if (!err && src->options->moved)
        err = find_moved(src, f, &named);
    if (!err && !src->list_broken && (src->options->trees || src->update))
        err = find_unlisted(src, f, &named);
    named_close(&named);
    return err;
}
