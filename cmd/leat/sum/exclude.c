#define _GNU_SOURCE
#include "exclude.h"

#include "shared/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_MOST = 64 * 1024 }; /* bytes of a line */

int exclude_add(struct exclude *e, const char *pattern, const char **why)
{
    if (!e->locale)
        e->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!e->locale)
        return -ENOMEM;
    if (e->count == e->cap) {
        size_t cap = 2 * e->cap + 16;
        struct pattern *patterns = realloc(e->patterns, cap * sizeof *patterns);
        if (!patterns)
            return -ENOMEM;
        e->patterns = patterns;
        e->cap = cap;
    }
    int err = pattern_read(&e->patterns[e->count], pattern, why);
    if (err)
        pattern_free(&e->patterns[e->count]);
    else
        e->count++;
    return err;
}

/* The length without blanks at the end, except one after a backslash. */
static size_t without_blanks(const char *line, size_t len)
{
    size_t keep = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\' && i + 1 < len)
            i++;
        else if (line[i] == ' ')
            continue;
        keep = i + 1;
    }
    return keep;
}

/* The line's `len` bytes end in NUL, and are changed. */
static int add_line(struct exclude *e, char *line, size_t len, const char **why)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    if (memchr(line, '\0', len)) {
        *why = "has a NUL byte";
        return -EINVAL;
    }
    len = *line == '#' ? 0 : without_blanks(line, len);
    line[len] = '\0';
    return len > 0 ? exclude_add(e, line, why) : 0;
}

/* Reads a line without its end into `to`. 1, 0 at the end of the file, or a negative errno value:
 * -E2BIG for a line that is too long, since it may never end. */
static int next_line(FILE *file, struct text *to)
{
    int c;
    text_clear(to);
    while ((c = getc(file)) != EOF && c != '\n' && to->len <= PATTERN_MOST)
        text_char(to, (char)c);
    if (to->len > PATTERN_MOST)
        return -E2BIG;
    if (c == EOF && ferror(file))
        return -errno;
    if (!text_string(to))
        return -ENOMEM;
    return c == '\n' || to->len > 0;
}

int exclude_read(struct exclude *e, const char *path, size_t *line, const char **why)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors put it at the beginning of UTF-8 */
    *line = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    struct text text = { 0 };
    int got, err = 0;
    while (!err && (got = next_line(file, &text)) == 1) {
        bool marked = ++*line == 1 && text.len >= 3 && memcmp(text.bytes, mark, 3) == 0;
        err = add_line(e, text.bytes + 3 * marked, text.len - 3 * marked, why);
    }
    if (!err && got == -E2BIG) {
        ++*line;
        *why = "has more than 64 KiB";
    } else if (!err) {
        *line = 0;
    }
    text_free(&text);
    fclose(file);
    return err ? err : got;
}

void exclude_free(struct exclude *e)
{
    for (size_t i = 0; i < e->count; i++)
        pattern_free(&e->patterns[i]);
    free(e->patterns);
    if (e->locale)
        freelocale(e->locale);
}

static bool fits(const struct pattern *p, const struct dir *folder, const char *name,
                 bool is_folder)
{
    return (is_folder || !p->folders_only) && pattern_fits(p, folder, name);
}

bool exclude_has(const struct exclude *e, const struct dir *folder, const char *name,
                 bool is_folder)
{
    if (e->count == 0)
        return false;
    locale_t before = uselocale(e->locale);
    size_t i = e->count;
    while (i > 0 && !fits(&e->patterns[i - 1], folder, name, is_folder))
        i--;
    uselocale(before);
    return i > 0 && !e->patterns[i - 1].takes_back;
}

/* Moves *path past its first name, which begins at the result; "." is no name. */
static const char *next_name(const char **path, size_t *len)
{
    const char *name;
    do {
        name = *path + strspn(*path, "/");
        *len = strcspn(name, "/");
        *path = name + *len;
    } while (*len == 1 && *name == '.');
    return name;
}

int exclude_has_path(const struct exclude *e, const char *path)
{
    size_t len;
    int found = 0;
    struct dir *folder = e->count > 0 ? dir_new(NULL, "", 0, false) : NULL;
    if (!folder)
        return e->count > 0 ? -ENOMEM : 0;
    for (const char *name; !found && (name = next_name(&path, &len), len > 0);) {
        struct dir *d = dir_new(folder, name, len, false);
        if (d)
            found = exclude_has(e, folder, d->name, *path == '/');
        else
            found = -ENOMEM;
        dir_unref(folder);
        folder = d;
    }
    dir_unref(folder);
    return found;
}
