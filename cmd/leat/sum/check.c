#define _GNU_SOURCE
#include "check.h"

#include "shared/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Works in place. False if the name has a NUL, or a \ followed by an unknown character. */
static bool unescape(char *name, size_t *len)
{
    char *to = name;
    for (size_t i = 0; i < *len; i++) {
        char c = name[i];
        if (c == '\0')
            return false;
        if (c == '\\') {
            if (++i == *len)
                return false;
            c = name[i];
            if (c == 'n')
                c = '\n';
            else if (c == 'r')
                c = '\r';
            else if (c != '\\')
                return false;
        }
        *to++ = c;
    }
    *len = (size_t)(to - name);
    return true;
}

/* A NUL in the name cuts it off, as it would in a system call. */
static bool take_name(struct checked *found, char *name, size_t len, bool escaped)
{
    if (escaped && !unescape(name, &len))
        return false;
    name[len] = '\0';
    found->name = name;
    found->name_len = strlen(name);
    return true;
}

/* Reads the part after "MD5 (". */
static bool read_tagged(char *at, char *end, bool escaped, struct checked *found)
{
    char *close = memrchr(at, ')', (size_t)(end - at));
    if (!close)
        return false;
    const char *hex = close + 1;
    while (is_blank(*hex))
        hex++;
    if (*hex++ != '=')
        return false;
    while (is_blank(*hex))
        hex++;
    if (!text_read_hex(hex, found->digest, found->size) || hex[2 * found->size])
        return false;
    found->digest_at = (size_t)(hex - found->line);
    return take_name(found, at, (size_t)(close - at), escaped);
}

/* Finds the wanted algorithm of an untagged digest of `size` bytes. False if none is certain. */
static bool find_by_size(const struct grammar *g, size_t size, unsigned *algorithm)
{
    const struct selection *s = g->selection;
    if (size == s->at[0]->size || (s->at[0]->any_size && size <= s->at[0]->size))
        return true;
    unsigned matches = 0;
    for (unsigned i = 1; i < s->count && !g->classic; i++) {
        const struct algorithm *a = s->at[i];
        if (a->size == size && !a->always_tagged && !(g->any_digest && a->yields)) {
            *algorithm = i;
            matches++;
        }
    }
    return matches == 1;
}

/* Reads a line without a tag. */
static bool read_plain(struct grammar *g, char *at, char *end, bool escaped, struct checked *found)
{
    size_t digits = strspn(at, "0123456789abcdefABCDEF"), size = digits / 2;
    if (size == 0 || digits % 2 != 0 || !is_blank(at[digits]))
        return false;
    found->size = size;
    if (!find_by_size(g, size, &found->algorithm))
        return false;
    const struct algorithm *a = g->selection->at[found->algorithm];
    /* The digest, a blank, and a name, which may be empty if the algorithm has several sizes. */
    if ((size_t)(end - at) < 2 * size + (a->any_size ? 1 : 2))
        return false;
    if (!text_read_hex(at, found->digest, size))
        return false;
    found->digest_at = (size_t)(at - found->line);
    at += 2 * size + 1;
    bool one_blank = end - at == 1 || (*at != ' ' && *at != '*');
    if (one_blank && g->blanks == BLANKS_TWO)
        return false;
    if (one_blank)
        g->blanks = BLANKS_ONE;
    found->mark = g->blanks == BLANKS_ONE ? " " : *at == '*' ? " *" : "  ";
    if (g->blanks != BLANKS_ONE) {
        g->blanks = BLANKS_TWO;
        at++;
    }
    return take_name(found, at, (size_t)(end - at), escaped);
}

/* Reads the number of bits in a tag. */
static bool read_bits(const struct algorithm *a, char **at, struct checked *found)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    unsigned long bits = strtoul(*at, &end, 0);
    if (bits == 0 || bits % 8 != 0 || bits > 8 * a->size)
        return false;
    *at = end;
    found->size = bits / 8;
    return true;
}

/* The length of `name` if `at` begins with it, else 0. */
static size_t match(const char *at, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    return len > 0 && strncmp(at, name, len) == 0 ? len : 0;
}

/* The length of the longest tag that matches, or 0. One tag may be the beginning of another. */
static size_t find_tag(const struct grammar *g, const char *at, unsigned *algorithm)
{
    const struct selection *s = g->selection;
    size_t longest = 0;
    for (unsigned i = 0; i < s->count; i++) {
        size_t own = match(at, s->at[i]->tag);
        size_t library = g->classic ? 0 : match(at, s->at[i]->library_name);
        size_t len = own > library ? own : library;
        if (len > longest) {
            longest = len;
            *algorithm = i;
        }
    }
    return longest;
}

/* Reads the line after its leading blanks and the \ of an escaped name. */
static bool read_entry(struct grammar *g, char *at, char *end, bool escaped, struct checked *found)
{
    size_t tag = find_tag(g, at, &found->algorithm);
    found->tagged = tag > 0;
    if (tag == 0)
        return read_plain(g, at, end, escaped, found);
    const struct algorithm *a = g->selection->at[found->algorithm];
    found->size = a->size;
    at += tag;
    if (*at == '-' && a->any_size) {
        at++;
        if (!read_bits(a, &at, found))
            return false;
    } else if (a->any_size && (is_blank(*at) || (g->classic && *at && *at != '('))) {
        at++; /* without bits, two blanks are allowed; b2sum takes any byte for the first */
    }
    if (*at == ' ')
        at++;
    return *at == '(' && read_tagged(at + 1, end, escaped, found);
}

enum line_kind check_read(struct grammar *g, char *line, size_t len, struct checked *found)
{
    if (len > 0 && line[0] == '#')
        return LINE_IGNORED;
    if (len > 0 && line[len - 1] == '\n')
        len--;
    if (len > 0 && line[len - 1] == '\r')
        len--;
    if (len == 0)
        return LINE_IGNORED;
    line[len] = '\0';

    found->line = line;
    char *at = line, *end = line + len;
    while (is_blank(*at))
        at++;
    bool escaped = *at == '\\';
    if (escaped)
        at++;
    found->algorithm = 0;
    found->size = 0;
    found->mark = "  ";
    if (read_entry(g, at, end, escaped, found))
        return LINE_GOOD;
    if (found->tagged)
        found->size = 0;
    return LINE_BAD;
}
