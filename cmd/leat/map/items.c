#define _GNU_SOURCE
#include "map/items.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most bytes of arguments, with their pointers, of a command with -n max; and the bytes that
 * are left to the kernel. Both are the same as in xargs. */
enum { ARGUMENTS_MOST = 128 * 1024, ARGUMENTS_SPARE = 2048 };

enum { LINE_BLOCK = 64 * 1024, READ_MOST = 1 << 20, LONGEST_BLOCK = 1 << 30 };

/* ---- rows ---- */

/* `values`: each is followed by a NUL. With `whole`, the first one is the value of {}. */
static struct row *make_row(const struct text *values, size_t count, bool whole)
{
    size_t pointers = count - whole;
    struct row *row =
        values->broken ? NULL : malloc(sizeof *row + pointers * sizeof(char *) + values->len);
    if (!row)
        return NULL;
    char *at = (char *)&row->values[pointers];
    if (count)
        memcpy(at, values->bytes, values->len);
    *row = (struct row){ .whole = whole ? at : NULL, .count = pointers };
    for (size_t i = 0; i < count; i++) {
        if (i >= whole)
            row->values[i - whole] = at;
        at += strlen(at) + 1;
    }
    return row;
}

/* ---- single values ---- */

static const char too_long[] = "an item is longer than 1 MiB";

static int complain(struct items *it, const char *complaint)
{
    it->complaint = complaint;
    return -EINVAL;
}

/* Whether a carriage return belongs to the end of the line. */
static bool ends_in_return(const struct items *it, const char *line, size_t len)
{
    return it->plan->csv && len && line[len - 1] == '\r';
}

/* Adds a line's bytes, with the carriage return: in quotes it belongs to the column. */
static int take_line(struct items *it, bool pass_empty, struct text *to)
{
    char *line;
    size_t len;
    int got;
    do {
        got = lines_next(&it->lines, &line, &len);
        if (got != 1)
            return got == -E2BIG ? complain(it, too_long) : got;
        len -= line[len - 1] == it->lines.end;
    } while (pass_empty && len == ends_in_return(it, line, len));
    if (memchr(line, 0, len))
        return complain(it, "an item has a NUL byte; with --null, items end in one");
    text_add(to, line, len);
    return 1;
}

/* Adds the next item and a NUL. */
static int take_value(struct items *it, struct text *to)
{
    if (it->plan->list_count) {
        if (it->at[0] == it->plan->lists[0].count)
            return 0;
        text_word(to, it->plan->lists[0].at[it->at[0]++]);
        return 1;
    }
    int got = take_line(it, !it->plan->null, to);
    if (got == 1)
        text_char(to, '\0');
    return got;
}

/* ---- columns ---- */

/* Whether the line ends within a quoted column; `open`: whether it begins in one. */
static bool ends_open(const char *line, bool open)
{
    for (bool begins = !open; *line; line++) {
        if (open && line[0] == '"' && line[1] == '"')
            line++;
        else if (*line == '"' && (open || begins))
            open = !open;
        begins = !open && *line == ',';
    }
    return open;
}

/* Adds one column of the format that RFC 4180 describes. Returns the rest of the line. */
static const char *split_csv(const char *line, struct text *to)
{
    bool quoted = *line == '"';
    line += quoted;
    for (; *line && (quoted || *line != ','); line++) {
        if (quoted && *line == '"') {
            if (line[1] != '"') {
                quoted = false;
                continue;
            }
            line++;
        }
        text_char(to, *line);
    }
    return line;
}

static size_t split(const struct plan *p, const char *line, struct text *to)
{
    size_t count = 0;
    for (;;) {
        const char *end = p->csv ? split_csv(line, to) : strchrnul(line, p->separator);
        if (!p->csv)
            text_add(to, line, (size_t)(end - line));
        text_char(to, '\0');
        count++;
        if (!*end)
            return count;
        line = end + 1;
    }
}

/* Adds further lines while a quoted column is open: it may have line feeds. */
static int end_quotes(struct items *it, struct text *line)
{
    size_t from = 0;
    bool open = false;
    while (!line->broken && (open = ends_open(line->bytes + from, open))) {
        from = line->len;
        line->bytes[from - 1] = '\n';
        int got = it->plan->null ? 0 : take_line(it, false, line);
        if (got != 1)
            return got ? got : complain(it, "a quoted column does not end");
        text_char(line, '\0');
        if (line->len - 1 > LINE_MOST)
            return complain(it, too_long);
    }
    return 1;
}

static int take_columns(struct items *it, struct row **row)
{
    struct text line = { 0 }, values = { 0 };
    int got = take_value(it, &line);
    if (got == 1 && it->plan->csv && !it->plan->list_count)
        got = end_quotes(it, &line);
    if (got == 1 && !line.broken) {
        if (!it->plan->list_count && ends_in_return(it, line.bytes, line.len - 1))
            line.bytes[--line.len - 1] = '\0';
        text_add(&values, line.bytes, line.len);
        size_t columns = split(it->plan, line.bytes, &values);
        *row = make_row(&values, columns + 1, true);
    }
    text_free(&line);
    text_free(&values);
    return got == 1 && !*row ? -ENOMEM : got;
}

/* ---- several lists ---- */

static int take_combination(struct items *it, struct row **row)
{
    const struct plan *p = it->plan;
    struct text values = { 0 };
    for (size_t i = 0; i < p->list_count; i++)
        if (p->lists[i].count == 0)
            it->at_end = true;
    if (it->at_end)
        return 0;
    for (size_t i = 0; i < p->list_count; i++)
        text_word(&values, p->lists[i].at[it->at[i]]);
    *row = make_row(&values, p->list_count, false);
    text_free(&values);
    size_t i = p->list_count;
    while (i > 0 && ++it->at[i - 1] == p->lists[i - 1].count)
        it->at[--i] = 0;
    it->at_end = i == 0;
    return *row ? 1 : -ENOMEM;
}

/* ---- several items a command ---- */

static size_t fixed_size(const struct plan *p)
{
    size_t size = 0;
    for (size_t i = 0; i < p->arguments; i++)
        size += strlen(p->command[i]) + 1 + sizeof(char *);
    return size;
}

/* With a small stack (ulimit -s) the kernel takes fewer bytes. It counts the environment, too. */
static size_t arguments_most(void)
{
    long most = sysconf(_SC_ARG_MAX) - ARGUMENTS_SPARE;
    for (char **variable = environ; *variable; variable++)
        most -= (long)(strlen(*variable) + 1 + sizeof *variable);
    return most < 0 ? 0 : most < ARGUMENTS_MOST ? (size_t)most : ARGUMENTS_MOST;
}

/* Fills it->held until it has the items of a command, or no more come. An error ends the items,
 * after those before it. */
static void gather(struct items *it)
{
    size_t fixed = fixed_size(it->plan), copies = command_copies(it->plan);
    size_t most = it->plan->per_command == SIZE_MAX ? arguments_most() : SIZE_MAX;
    while (!it->at_end && it->held_count < it->plan->per_command) {
        /* One item is tried, however long the rest of the command is. */
        if (it->held_count > 0 &&
            fixed + copies * (it->held.len + it->held_count * sizeof(char *)) > most)
            return;
        int got = take_value(it, &it->held);
        it->at_end = got < 1;
        it->error = it->at_end ? got : 0;
        it->held_count += !it->at_end;
    }
}

/* The number of items of the next command. With -n max, the last items are spread over the
 * places. */
static size_t share(const struct items *it)
{
    size_t n = it->held_count, places = it->plan->places;
    if (it->plan->per_command != SIZE_MAX)
        return n;
    return it->at_end ? (n + places - 1) / places : n > 1 ? n - 1 : n;
}

static int take_several(struct items *it, struct row **row)
{
    /* Items that are being spread have been gathered already. */
    if (!it->at_end)
        gather(it);
    if (it->held_count == 0)
        return it->error;
    size_t n = it->spread ? it->spread : share(it), len = 0;
    if (it->at_end && !it->spread)
        it->spread = n;
    if (n > it->held_count)
        n = it->held_count;
    for (size_t i = 0; i < n && !it->held.broken; i++)
        len += strlen(it->held.bytes + len) + 1;
    struct text first = it->held;
    first.len = len;
    *row = make_row(&first, n, false);
    if (!*row)
        return -ENOMEM;
    memmove(it->held.bytes, it->held.bytes + len, it->held.len - len);
    it->held.len -= len;
    it->held_count -= n;
    return 1;
}

/* ---- blocks ---- */

/* The bytes of the next block: whole lines, as many as fit, or one longer line. 0: more must be
 * read. */
static size_t whole_lines(struct items *it)
{
    const struct lines *l = &it->lines;
    const char *bytes = l->read.bytes + l->from;
    size_t most = it->plan->block, len = l->read.len - l->from;
    if (len <= most && l->at_end)
        return len;
    if (len < most)
        return 0;
    const char *end = it->searched ? NULL : memrchr(bytes, '\n', most);
    if (it->searched < most)
        it->searched = most;
    if (!end)
        end = memchr(bytes + it->searched, '\n', len - it->searched);
    it->searched = end ? 0 : len;
    return end ? (size_t)(end - bytes) + 1 : l->at_end ? len : 0;
}

static int take_block(struct items *it, struct input *input)
{
    size_t n;
    struct lines *l = &it->lines;
    while (!(n = whole_lines(it)) && !l->at_end) {
        size_t there = l->read.len - l->from;
        size_t missing = it->plan->block > there ? it->plan->block - there : LINE_BLOCK;
        if (there > LONGEST_BLOCK && it->searched)
            return complain(it, "a line is longer than 1 GiB");
        int error = lines_read(l, missing < READ_MOST ? missing : READ_MOST);
        if (error)
            return error;
    }
    if (n == 0)
        return 0;
    struct text none = { 0 };
    input->block = malloc(n);
    input->row = make_row(&none, 0, false);
    if (!input->block || !input->row)
        return -ENOMEM;
    memcpy(input->block, l->read.bytes + l->from, n);
    input->block_size = n;
    l->from += n;
    return 1;
}

/* ---- opening ---- */

int items_open(struct items *it, const struct plan *p)
{
    *it = (struct items){ .plan = p, .name = p->items ? p->items : "standard input" };
    if (p->list_count) {
        it->at = calloc(p->list_count, sizeof *it->at);
        return it->at ? 0 : -ENOMEM;
    }
    bool named = p->items && strcmp(p->items, "-") != 0;
    /* Without O_NONBLOCK, opening a FIFO would wait for a writer, and no signal would end that. */
    int fd = named ? open(p->items, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : STDIN_FILENO;
    lines_open(&it->lines, fd < 0 ? -errno : fd, p->null ? '\0' : '\n');
    it->start = lseek(fd, 0, SEEK_CUR);
    return it->lines.error;
}

void items_close(struct items *it)
{
    free(it->at);
    lines_close(&it->lines);
    text_free(&it->held);
}

int items_next(struct items *it, struct input *input)
{
    *input = (struct input){ 0 };
    int got = it->plan->block            ? take_block(it, input)
              : it->plan->separator      ? take_columns(it, &input->row)
              : it->plan->list_count > 1 ? take_combination(it, &input->row)
                                         : take_several(it, &input->row);
    if (got < 1) {
        free(input->row);
        free(input->block);
    }
    return got;
}

/* ---- the number of items ---- */

/* The lines in a regular file, from where the items begin. */
static uint64_t count_lines(const struct items *it)
{
    struct stat about;
    int fd = leat_io_fd(it->lines.io);
    off_t at = it->start;
    if (at < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        return 0;
    char *block = malloc(LINE_BLOCK);
    uint64_t lines = 0;
    ssize_t got;
    while (block && !leat_cancelled(NULL) && (got = pread(fd, block, LINE_BLOCK, at)) > 0) {
        for (const char *c = block; (c = memchr(c, it->lines.end, (size_t)(block + got - c))); c++)
            lines++;
        at += got;
    }
    free(block);
    return lines;
}

uint64_t items_total(const struct items *it)
{
    const struct plan *p = it->plan;
    if (p->block || p->per_command == SIZE_MAX)
        return 0;
    uint64_t all = p->list_count ? 1 : count_lines(it);
    for (size_t i = 0; i < p->list_count; i++)
        all *= p->lists[i].count;
    return (all + p->per_command - 1) / p->per_command;
}
