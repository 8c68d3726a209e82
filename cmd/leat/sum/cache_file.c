/* cache_file.c: reads and writes the cache's file. If two runs overlap, the one that ends last
 * leaves its own file (replace.h). */
#define _GNU_SOURCE
#include "cache.h"
#include "replace.h"
#include "shared/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    DAYS_KEPT = 90, /* a line is kept for this long if no run meets its file */
    BLOCK = 64 * 1024,
    SECONDS_OF_DAY = 24 * 60 * 60,
};

static const char family[] = "leat sum cache ", head[] = "leat sum cache 1\n", tail[] = "xxh64 ";
enum { TAIL = sizeof tail - 1 + 16 + 1 };

static int read_all(int fd, size_t size, struct text *to)
{
    if (!text_reserve(to, size + 1))
        return -ENOMEM;
    while (to->len < size) {
        ssize_t n = read(fd, to->bytes + to->len, size - to->len);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
        to->len += n > 0 ? (size_t)n : 0;
    }
    to->bytes[to->len] = '\0';
    return 0;
}

/* Reads the whole file. If it does not exist, that is no error. */
static int read_file(const char *path, struct text *to, const char **remark)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    struct stat about;
    int err = fstat(fd, &about) < 0 ? -errno : 0;
    if (!err && !S_ISREG(about.st_mode))
        *remark = "is not a regular file, so it is no cache";
    else if (!err)
        err = read_all(fd, (size_t)about.st_size, to);
    close(fd);
    return err;
}

/* Whether the text begins with the head and ends with its checksum. */
static bool is_whole(const struct text *t)
{
    size_t heading = sizeof head - 1;
    if (t->len < heading + TAIL || memcmp(t->bytes, head, heading) != 0)
        return false;
    /* Lines are also read as strings, so there must be no NUL. */
    if (memchr(t->bytes, '\0', t->len))
        return false;
    const char *end = t->bytes + t->len - TAIL;
    char sum[TAIL + 1];
    snprintf(sum, sizeof sum, "%s%016" PRIx64 "\n", tail,
             (uint64_t)XXH64(t->bytes, t->len - TAIL, 0));
    return memcmp(end, sum, TAIL) == 0;
}

/* Calls `f` for each line until it returns an error. */
static int each_line(struct cache *c, int (*f)(struct cache *c, size_t at, size_t len, void *arg),
                     void *arg)
{
    int err = 0;
    for (size_t at = 0, len; at < c->loaded.len && !err; at += len + 1) {
        const char *end = memchr(c->loaded.bytes + at, '\n', c->loaded.len - at);
        if (!end)
            return -EINVAL;
        len = (size_t)(end - c->loaded.bytes) - at;
        err = f(c, at, len, arg);
    }
    return err;
}

static int count_line(struct cache *c, size_t at, size_t len, void *arg)
{
    (void)arg;
    c->count++;
    return line_whose(c->loaded.bytes + at, len) ? 0 : -EINVAL;
}

/* Of two lines for the same digest the later one counts. */
static int add_line(struct cache *c, size_t at, size_t len, void *arg)
{
    (void)arg;
    const char *line = c->loaded.bytes + at;
    c->lines[lines_place(c, line, line_whose(line, len))] = at;
    return 0;
}

/* 0, -ENOMEM, or -EINVAL if `loaded` has anything but lines of a cache. */
static int index_lines(struct cache *c)
{
    int err = each_line(c, count_line, NULL);
    if (err || c->count == 0)
        return err;
    size_t cap = 64;
    while (cap / 4 * 3 < c->count)
        cap *= 2;
    c->lines = malloc(cap * sizeof *c->lines);
    c->met = calloc(cap, 1);
    if (!c->lines || !c->met)
        return -ENOMEM;
    for (size_t i = 0; i < cap; i++)
        c->lines[i] = NO_LINE;
    c->cap = cap;
    return each_line(c, add_line, NULL);
}

/* Strips the head and the checksum from `loaded`, and indexes the lines. */
static int take_lines(struct cache *c)
{
    if (!is_whole(&c->loaded))
        return -EINVAL;
    size_t heading = sizeof head - 1;
    c->loaded.len -= heading + TAIL;
    memmove(c->loaded.bytes, c->loaded.bytes + heading, c->loaded.len);
    c->loaded.bytes[c->loaded.len] = '\0';
    return index_lines(c);
}

bool cache_load(struct cache *c, const char *path, const struct selection *selection,
                const char **remark, int *error)
{
    *c = (struct cache){ .path = path, .selection = selection };
    c->today = (uint64_t)time(NULL) / SECONDS_OF_DAY;
    *remark = NULL;
    *error = read_file(path, &c->loaded, remark);
    if (*error || *remark)
        return false;
    if (c->loaded.len == 0)
        return true;
    if (strncmp(c->loaded.bytes, family, sizeof family - 1) != 0) {
        *remark = "is no cache of leat sum, and is left alone";
        return false;
    }
    if (strncmp(c->loaded.bytes, head, sizeof head - 1) != 0) {
        *remark = "is a cache of another version, and is left alone";
        return false;
    }
    int err = take_lines(c);
    if (err == 0)
        return true;
    text_clear(&c->loaded);
    c->cap = c->count = 0;
    c->changed = true;
    if (err == -EINVAL)
        *remark = "is damaged, and not used";
    else
        *error = err;
    return err == -EINVAL;
}

/* A new file while it is written. */
struct writer {
    const struct replacement *to;
    int error;
    struct text text;
    XXH64_state_t *sum;
};

static void write_out(struct writer *w, struct text *t)
{
    if (t->broken)
        w->error = -ENOMEM;
    if (t->len > 0 && XXH64_update(w->sum, t->bytes, t->len) != XXH_OK)
        w->error = -EIO;
    if (!w->error)
        w->error = write_all(w->to->fd, t->bytes, t->len);
    text_clear(t);
}

static int write_line(struct cache *c, size_t at, size_t len, void *writer)
{
    struct writer *w = writer;
    const char *line = c->loaded.bytes + at;
    size_t place = lines_place(c, line, line_whose(line, len));
    uint64_t day = c->met[place] == MET ? c->today : line_day(line);
    bool is_old = day + DAYS_KEPT < c->today;
    if (c->lines[place] != at || c->met[place] == REPLACED || is_old)
        return 0;
    text_add(&w->text, line, (size_t)((const char *)memrchr(line, ' ', len) - line) + 1);
    text_number(&w->text, day);
    text_char(&w->text, '\n');
    if (w->text.len >= BLOCK)
        write_out(w, &w->text);
    return w->error;
}

static void write_lines(struct writer *w, struct cache *c)
{
    text_str(&w->text, head);
    each_line(c, write_line, w);
    write_out(w, &w->text);
    write_out(w, &c->fresh);
    char sum[TAIL + 1];
    snprintf(sum, sizeof sum, "%s%016" PRIx64 "\n", tail, (uint64_t)XXH64_digest(w->sum));
    text_str(&w->text, sum);
    write_out(w, &w->text);
}

static int write_file(struct cache *c, const struct replacement *to)
{
    struct writer w = { .to = to, .sum = XXH64_createState() };
    if (!w.sum || XXH64_reset(w.sum, 0) != XXH_OK)
        w.error = -ENOMEM;
    if (!w.error)
        write_lines(&w, c);
    XXH64_freeState(w.sum);
    text_free(&w.text);
    return w.error;
}

int cache_save(struct cache *c)
{
    struct replacement r;
    if (!c->changed)
        return 0;
    int err = replacement_begin(&r, c->path);
    if (err)
        return err;
    err = write_file(c, &r);
    return replacement_end(&r, err ? err : replacement_finish(&r));
}
