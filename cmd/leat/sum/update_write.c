/* update_write.c: writes the updated list. New files go to their place if the list is in the order
 * of the names, otherwise to the end. */
#define _GNU_SOURCE
#include "long_path.h"
#include "replace.h"
#include "shared/lines.h"
#include "shared/write.h"
#include "update.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

struct writer {
    const struct update *update;
    struct grammar grammar;
    struct replacement to;
    struct text out;
    struct text raw; /* the present line as it is in the list */
    uint64_t line;
    size_t change, file; /* the next change, and the next new file */
    bool one_blank;      /* a line has been written that has one blank beyond doubt */
};

static bool looks_like_mark(const char *name)
{
    return (*name == ' ' || *name == '*') && name[1];
}

/* Of a list with one blank before its names, the first line must show that: false if this one would
 * come first and does not. */
static bool shows_blanks(struct writer *w, const char *mark, const char *name)
{
    bool one = strcmp(mark, " ") == 0;
    w->one_blank = w->one_blank || (one && !looks_like_mark(name));
    return !one || w->one_blank;
}

static int compare(const void *a, const void *b, void *names)
{
    const struct update_file *x = a, *y = b;
    return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

static int flush(struct writer *w, size_t enough)
{
    if (w->out.broken)
        return -ENOMEM;
    if (w->out.len < enough)
        return 0;
    int err = write_all(w->to.fd, w->out.bytes, w->out.len);
    text_clear(&w->out);
    return err;
}

/* Writes new files up to this name; NULL: all. */
static int add_files(struct writer *w, const char *name)
{
    const struct update *u = w->update;
    int err = 0;
    for (; w->file < u->file_count && !err; w->file++) {
        const struct update_file *f = &u->files[w->file];
        const char *its_name = u->names.bytes + f->name;
        if (name && strcmp(its_name, name) > 0)
            return 0;
        if (!shows_blanks(w, u->form.mark, its_name))
            return -EILSEQ;
        text_add(&w->out, u->added.bytes + f->lines, f->lines_len);
        err = flush(w, BLOCK);
    }
    return err;
}

/* Puts the change's digest into the line. */
static void put_digest(struct writer *w, const struct update_change *c, size_t at)
{
    struct text digits = { 0 };
    text_hex(&digits, c->digest, c->size);
    if (digits.broken)
        w->out.broken = true;
    else
        memcpy(w->raw.bytes + at, digits.bytes, digits.len);
    text_free(&digits);
}

static int take_line(struct writer *w, char *line, size_t len)
{
    const struct update *u = w->update;
    struct checked found;
    w->line++;
    text_clear(&w->raw);
    text_add(&w->raw, line, len);
    if (w->raw.broken)
        return -ENOMEM;
    enum line_kind kind = check_read(&w->grammar, line, len, &found);
    int err = kind == LINE_GOOD && u->in_order ? add_files(w, found.name) : 0;
    const struct update_change *c = w->change < u->change_count ? &u->changes[w->change] : NULL;
    if (c && c->line == w->line) {
        w->change++;
        if (kind != LINE_GOOD || (c->size > 0 && c->size != found.size))
            return -ESTALE;
        if (c->size == 0)
            return err;
        put_digest(w, c, found.digest_at);
    }
    if (kind == LINE_GOOD && !shows_blanks(w, found.mark, found.name))
        return -EILSEQ;
    text_add(&w->out, w->raw.bytes, w->raw.len);
    /* The last line may lack its end, or the second byte of it. */
    char last = len > 0 ? w->raw.bytes[len - 1] : '\n';
    if (last != '\n')
        text_str(&w->out, *u->form.end == last ? u->form.end + 1 : u->form.end);
    return err ? err : flush(w, BLOCK);
}

static int take_lines(struct writer *w, int fd)
{
    struct lines lines;
    char *line;
    size_t len;
    int err = 0, got = 0;
    lines_open(&lines, fd, '\n');
    while (!err && (got = lines_next(&lines, &line, &len)) == 1)
        err = take_line(w, line, len);
    lines_close(&lines);
    if (!err)
        err = got;
    if (!err && w->change < w->update->change_count)
        err = -ESTALE;
    if (!err)
        err = add_files(w, NULL);
    return err ? err : flush(w, 1);
}

/* 0 if this is still the list that was read. */
static int look_again(const struct update *u, const struct stat *about)
{
    struct stamp now = stamp_of(about, NULL);
    return stamp_is_same(&now, &u->stamp) ? 0 : -ESTALE;
}

static int write_list(struct writer *w, int fd)
{
    struct stat about;
    int err = replacement_begin(&w->to, w->update->path);
    if (err) {
        close(fd);
        return err;
    }
    err = take_lines(w, fd);
    if (!err)
        err = replacement_finish(&w->to);
    /* All this took its time. */
    if (!err)
        err = long_path_stat(AT_FDCWD, w->update->path, &about, 0);
    if (!err)
        err = look_again(w->update, &about);
    err = replacement_end(&w->to, err);
    text_free(&w->out);
    text_free(&w->raw);
    return err;
}

/* Whether the new files may come before the list's own lines. */
static bool may_come_first(const struct update *u)
{
    for (size_t i = 0; i < u->file_count && strcmp(u->form.mark, " ") == 0; i++)
        if (looks_like_mark(u->names.bytes + u->files[i].name))
            return false;
    return true;
}

int update_write(struct update *u)
{
    if (u->broken)
        return -ENOMEM;
    if (u->change_count == 0 && u->file_count == 0)
        return 0;
    u->in_order = u->in_order && may_come_first(u);
    if (u->in_order && u->file_count > 0)
        qsort_r(u->files, u->file_count, sizeof *u->files, compare, u->names.bytes);
    int fd = long_path_open(AT_FDCWD, u->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    struct stat about;
    int err = fstat(fd, &about) < 0 ? -errno : look_again(u, &about);
    if (err) {
        close(fd);
        return err;
    }
    struct writer w = {
        .update = u,
        .grammar = { .selection = u->selection, .any_digest = u->any_digest },
    };
    return write_list(&w, fd);
}
