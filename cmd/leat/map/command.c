#define _GNU_SOURCE
#include "map/command.h"

#include "shared/quote.h"

#include <stdlib.h>
#include <string.h>

/* ---- placeholders ---- */

enum shape { WHOLE, BARE, LAST, FOLDER, LAST_BARE, NUMBER, PLACE };

struct placeholder {
    enum shape shape;
    size_t value; /* from 1; 0: for {} */
    size_t len;   /* with its braces */
};

static bool read_shape(const char *text, size_t len, enum shape *shape)
{
    static const char *const names[] = { "", ".", "/", "//", "/.", "#", "%" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == len && memcmp(text, names[i], len) == 0) {
            *shape = i;
            return true;
        }
    }
    return false;
}

/* Whether the text at `at`, an opening brace, is a placeholder. If it only looks like one, its
 * length is 0. */
static bool is_placeholder(const char *at, struct placeholder *found)
{
    size_t inside = strspn(at + 1, "0123456789./#%"), digits = strspn(at + 1, "0123456789");
    *found = (struct placeholder){ 0 };
    if (at[1 + inside] != '}')
        return false;
    bool known = read_shape(at + 1 + digits, inside - digits, &found->shape);
    if (digits) {
        found->value = strtoul(at + 1, NULL, 10);
        known = known && found->value && found->shape < NUMBER;
    }
    if (known)
        found->len = inside + 2;
    return true;
}

/* The next placeholder at or after `text`, or NULL. A shell's ${1} is not one. */
static const char *find_placeholder(const char *text, struct placeholder *found)
{
    const char *at = text;
    while ((at = strchr(at, '{')) && ((at > text && at[-1] == '$') || !is_placeholder(at, found)))
        at++;
    return at;
}

static bool has_placeholder(const struct plan *p)
{
    struct placeholder found;
    for (size_t i = 0; i < p->arguments; i++)
        for (const char *at = p->command[i]; (at = find_placeholder(at, &found)); at++)
            if (found.shape < NUMBER)
                return true;
    return false;
}

/* ---- checks ---- */

/* The number of values; SIZE_MAX: only the items know it. */
static size_t values_known(const struct plan *p)
{
    if (p->separator || p->per_command == SIZE_MAX)
        return SIZE_MAX;
    return p->list_count > 1 ? p->list_count : p->per_command;
}

static int check_one(const struct plan *p, const char *text)
{
    struct placeholder found;
    for (const char *at = text; (at = find_placeholder(at, &found)); at += found.len) {
        if (!found.len)
            return plan_refuse("unknown placeholder '%.*s' in '%s'", (int)(strcspn(at, "}") + 1),
                               at, text);
        if (found.value > values_known(p))
            return plan_refuse("there is no value for '%.*s' in '%s'", (int)found.len, at, text);
        if (p->block && found.shape < NUMBER)
            return plan_refuse("with --pipe there is no item for '%.*s' in '%s'", (int)found.len,
                               at, text);
        bool alone = at == text && !text[found.len];
        if (p->per_command > 1 && !found.value && found.shape < NUMBER && !alone)
            return plan_refuse("with -n, '%.*s' has to be an argument of its own, not a part of "
                               "'%s'",
                               (int)found.len, at, text);
    }
    return 0;
}

int command_check(const struct plan *p)
{
    struct placeholder found;
    for (const char *at = p->command[0]; p->script && (at = find_placeholder(at, &found)); at++)
        if (found.len && !found.value) /* {3} is a part of many patterns */
            return plan_refuse("'%.*s' in a script would be read as code: use \"$1\", \"$2\"...",
                               (int)found.len, at);
    int wrong = 0;
    for (size_t i = 0; i < p->arguments && !p->script && !wrong; i++)
        wrong = check_one(p, p->command[i]);
    if (!wrong && p->output)
        wrong = check_one(p, p->output);
    return wrong;
}

/* ---- filling them in ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The end of the path without its extension: a dot at the beginning of a name does not begin one,
 * and the name of the folder above has none. */
static const char *bare_end(const char *path)
{
    const char *name = last_part(path), *dot = strrchr(name, '.');
    return dot && dot > name && strcmp(name, "..") != 0 ? dot : name + strlen(name);
}

static void add_folder(struct text *to, const char *path)
{
    size_t len = (size_t)(last_part(path) - path);
    if (len == 0) {
        text_char(to, '.');
        return;
    }
    while (len > 1 && path[len - 1] == '/')
        len--;
    text_add(to, path, len);
}

static void add_value(struct text *to, const char *value, enum shape shape)
{
    const char *begin = shape == LAST || shape == LAST_BARE ? last_part(value) : value;
    if (shape == FOLDER)
        add_folder(to, value);
    else if (shape == BARE || shape == LAST_BARE)
        text_add(to, begin, (size_t)(bare_end(value) - begin));
    else
        text_str(to, begin);
}

/* `between`: the byte between the values of {}: a space within an argument, a NUL between
 * arguments. */
static void add_item(struct text *to, const struct row *row, enum shape shape, char between)
{
    if (row->whole) {
        add_value(to, row->whole, shape);
        return;
    }
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            text_char(to, between);
        add_value(to, row->values[i], shape);
    }
}

static void add_which(struct text *to, uint64_t number, const char *placeholder)
{
    if (number)
        text_number(to, number);
    else
        text_str(to, placeholder);
}

static void fill_one(const char *text, const struct row *row, struct which which, char between,
                     struct text *to)
{
    struct placeholder found;
    const char *at;
    for (; (at = find_placeholder(text, &found)); text = at + found.len) {
        text_add(to, text, (size_t)(at - text));
        if (found.shape == NUMBER)
            add_which(to, which.number, "{#}");
        else if (found.shape == PLACE)
            add_which(to, which.place, "{%}");
        else if (!found.value)
            add_item(to, row, found.shape, between);
        else if (found.value <= row->count)
            add_value(to, row->values[found.value - 1], found.shape);
    }
    text_str(to, text);
}

/* The number of arguments that {} becomes, at the end or as a whole argument. */
static size_t items_of(const struct row *row)
{
    return row->whole ? 1 : row->count;
}

/* Whether the argument becomes one argument for each item. */
static bool stands_alone(const char *text)
{
    struct placeholder found;
    return *text == '{' && is_placeholder(text, &found) && !text[found.len] &&
           found.shape < NUMBER && !found.value;
}

size_t command_copies(const struct plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->arguments && !p->script; i++)
        n += stands_alone(p->command[i]);
    return n ? n : 1;
}

static size_t fill_argument(const char *text, const struct row *row, struct which which,
                            struct text *to)
{
    bool alone = stands_alone(text);
    fill_one(text, row, which, alone ? '\0' : ' ', to);
    text_char(to, '\0');
    return alone ? items_of(row) : 1;
}

size_t command_fill(const struct plan *p, const struct row *row, struct which which,
                    struct text *to)
{
    static const char shell[] = "sh\0-c";
    size_t n = 0;
    if (p->script) {
        text_add(to, shell, sizeof shell);
        text_word(to, p->command[0]);
        text_add(to, shell, sizeof "sh");
        n = 4;
    }
    for (size_t i = 0; i < p->arguments && !p->script; i++)
        n += fill_argument(p->command[i], row, which, to);
    if (p->block || (!p->script && has_placeholder(p)))
        return n;
    if (p->script && row->whole && row->count) { /* columns */
        for (size_t i = 0; i < row->count; i++)
            text_word(to, row->values[i]);
        return n + row->count;
    }
    add_item(to, row, WHOLE, '\0');
    text_char(to, '\0');
    return n + items_of(row);
}

void command_output(const struct plan *p, const struct row *row, struct which which,
                    struct text *to)
{
    fill_one(p->output, row, which, ' ', to);
}

/* ---- for a shell ---- */

void command_quote(struct text *to, const char *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            text_char(to, ' ');
        quote_word(to, arguments);
        arguments += strlen(arguments) + 1;
    }
}
