/* lists.c: the files that check lists name. */
#define _GNU_SOURCE
#include "check.h"
#include "lines.h"
#include "sources.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One list on its way through. */
struct list {
    struct source *src;
    struct flow *flow;
    const char *name; /* as messages have it */
    bool is_stdin;
    uint64_t lines, good, bad;
};

/* Something about the list itself. */
static struct slot *about(const struct list *l, enum slot_kind kind, int *err)
{
    struct slot *s = flow_take(l->flow, l->name, strlen(l->name), err);
    if (!s)
        return NULL;
    s->kind = kind;
    s->line = l->lines;
    s->good_lines = l->good;
    s->bad_lines = l->bad;
    return s;
}

static int tell(const struct list *l, enum slot_kind kind, int error, const char *remark)
{
    int err;
    struct slot *s = about(l, kind, &err);
    if (!s)
        return err;
    s->error = error;
    s->remark = remark;
    return flow_submit(l->flow, s);
}

static int take_line(struct list *l, struct grammar *g, char *line, size_t len)
{
    struct checked found;
    l->lines++;
    enum line_kind kind = check_read(g, line, len, &found);
    if (kind == LINE_IGNORED)
        return 0;
    /* A list on standard input cannot name standard input. */
    if (kind == LINE_BAD || (l->is_stdin && strcmp(found.name, "-") == 0)) {
        l->bad++;
        return l->src->options->warn ? tell(l, SLOT_BAD_LINE, 0, NULL) : 0;
    }
    l->good++;
    int err;
    struct slot *s = source_file(l->src, l->flow, found.name, found.name_len, &err);
    if (!s)
        return err;
    s->wanted = 1u << found.algorithm;
    s->size = found.size;
    memcpy(s->expected, found.digest, sizeof s->expected);
    return flow_submit(l->flow, s);
}

static int take_lines(struct list *l, struct grammar *g, int fd)
{
    struct lines lines;
    char *line;
    size_t len;
    int err = 0, got;
    lines_open(&lines, fd, '\n');
    while ((got = lines_next(&lines, &line, &len)) == 1 && !err)
        err = take_line(l, g, line, len);
    lines_close(&lines);
    if (err || got == -ENOMEM || got == -ECANCELED)
        return err ? err : got;
    return got < 0 ? tell(l, SLOT_LIST_BROKEN, 0, "read error") : tell(l, SLOT_LIST_END, 0, NULL);
}

static int take_list(struct source *src, struct flow *f, struct grammar *g, const char *path)
{
    struct list l = { .src = src, .flow = f, .name = path, .is_stdin = strcmp(path, "-") == 0 };
    int fd = STDIN_FILENO;
    if (l.is_stdin) {
        l.name = "standard input";
        int err = source_wait_for_stdin(src, f);
        if (err)
            return err;
    } else {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (fd < 0)
        return tell(&l, SLOT_LIST_BROKEN, -errno, NULL);
    return take_lines(&l, g, fd);
}

int produce_lists(struct flow *f, void *source)
{
    struct source *src = source;
    const struct options *o = src->options;
    struct grammar g = { .selection = &o->selection };
    int err = o->path_count > 0 ? 0 : take_list(src, f, &g, "-");
    for (int i = 0; i < o->path_count && !err; i++)
        err = take_list(src, f, &g, o->paths[i]);
    return err;
}
