#include "pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
    char *to;
    const char *why; /* why the pattern is wrong, or NULL */
};

static void put_plain(struct reader *r, char c)
{
    *r->to++ = '\\';
    *r->to++ = c;
}

/* The next byte of a set, perhaps after a backslash; there must be one. */
static char take_member(struct reader *r)
{
    if (*r->at == '\\' && r->end - r->at > 1)
        r->at++;
    return *r->at++;
}

/* Reads "[:digit:]" within a set; false if there is none. */
static bool take_class(struct reader *r)
{
    static const char *const classes[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                           "lower", "print", "punct", "space", "upper", "xdigit" };
    const char *close = memchr(r->at, ']', (size_t)(r->end - r->at));
    if (r->at[0] != '[' || r->at[1] != ':' || !close || close - r->at < 3 || close[-1] != ':')
        return false;
    size_t len = (size_t)(close - r->at) - 3, i = 0, all = sizeof classes / sizeof *classes;
    while (i < all && (strlen(classes[i]) != len || memcmp(classes[i], r->at + 2, len) != 0))
        i++;
    if (i == all)
        r->why = "has a class of characters that is not known";
    memcpy(r->to, r->at, len + 4);
    r->to += len + 4;
    r->at = close + 1;
    return true;
}

static void take_range(struct reader *r)
{
    char low = take_member(r), high = low;
    if (r->end - r->at > 1 && r->at[0] == '-' && r->at[1] != ']') {
        r->at++;
        high = take_member(r);
    }
    put_plain(r, low);
    if (high != low) {
        *r->to++ = '-';
        put_plain(r, high);
    }
    if ((unsigned char)high < (unsigned char)low)
        r->why = "has a range that ends before it begins";
}

/* Reads "[a-z]". A ] that comes first belongs to the set. */
static void take_set(struct reader *r)
{
    *r->to++ = *r->at++;
    if (r->at < r->end && (*r->at == '!' || *r->at == '^')) {
        *r->to++ = '!';
        r->at++;
    }
    for (bool first = true; !r->why; first = false) {
        if (r->at == r->end) {
            r->why = "has a [ without a ]";
            return;
        }
        if (*r->at == ']' && !first)
            break;
        if (!take_class(r))
            take_range(r);
    }
    *r->to++ = ']';
    r->at++;
}

static void take_escaped(struct reader *r)
{
    if (r->end - r->at < 2)
        r->why = "ends in a backslash";
    else if (r->at[1] != '/')
        *r->to++ = '\\';
    r->at++;
    if (!r->why && *r->at != '/')
        *r->to++ = *r->at++;
}

/* Reads a name up to a / or the end. Returns the name, or NULL for a gap. */
static char *take_name(struct reader *r)
{
    char *name = r->to;
    while (r->at < r->end && *r->at != '/' && !r->why) {
        if (*r->at == '[')
            take_set(r);
        else if (*r->at == '\\')
            take_escaped(r);
        else
            *r->to++ = *r->at++;
    }
    *r->to++ = '\0';
    if (r->why)
        return name;
    if (!*name)
        r->why = "has an empty name";
    else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        r->why = "has a name that is . or ..";
    return strlen(name) >= 2 && name[strspn(name, "*")] == '\0' ? NULL : name;
}

static void take_names(struct pattern *p, struct reader *r)
{
    static char any[] = "*";
    if (memchr(r->at, '/', (size_t)(r->end - r->at)))
        r->at += *r->at == '/';
    else
        p->names[p->count++] = NULL; /* in any folder */
    for (;;) {
        p->names[p->count++] = take_name(r);
        if (r->why || r->at == r->end)
            break;
        r->at++;
    }
    /* A ** at the end is at least one name. */
    if (!p->names[p->count - 1])
        p->names[p->count++] = any;
}

static size_t slashes_in(const char *from)
{
    size_t count = 0;
    for (; *from; from++)
        count += *from == '/';
    return count;
}

int pattern_read(struct pattern *p, const char *from, const char **why)
{
    *p = (struct pattern){ .takes_back = *from == '!' };
    from += p->takes_back;
    size_t len = strlen(from);
    p->folders_only = len > 0 && from[len - 1] == '/';
    len -= p->folders_only;
    if (len == 0) {
        *why = "is empty";
        return -EINVAL;
    }
    /* Besides the names between slashes, there is a gap at the beginning, and a * at the end. */
    p->names = calloc(slashes_in(from) + 3, sizeof *p->names);
    /* In a set each byte gets a backslash, and each name ends in NUL. */
    p->bytes = malloc(2 * len + 2);
    if (!p->names || !p->bytes)
        return -ENOMEM;
    struct reader r = { .at = from, .end = from + len, .to = p->bytes };
    take_names(p, &r);
    *why = r.why;
    return r.why ? -EINVAL : 0;
}

void pattern_free(struct pattern *p)
{
    free((void *)p->names);
    free(p->bytes);
}

/* A name on the way from the file up to the PATH, whose `folder` is NULL. */
struct place {
    const struct dir *folder;
    const char *name;
};

static struct place above(struct place at)
{
    return (struct place){ at.folder->parent, at.folder->name };
}

/* Compares from the last name to the first. After a mismatch, the gap that was met last takes one
 * more name. It would gain nothing if earlier gaps took more. */
bool pattern_fits(const struct pattern *p, const struct dir *folder, const char *name)
{
    struct place at = { folder, name }, retry = { NULL, NULL };
    size_t left = p->count, left_at_retry = 0;
    for (;;) {
        if (left > 0 && !p->names[left - 1]) {
            if (--left == 0)
                return true;
            retry = at;
            left_at_retry = left;
        } else if (!at.folder) {
            return left == 0;
        } else if (left > 0 && fnmatch(p->names[left - 1], at.name, 0) == 0) {
            left--;
            at = above(at);
        } else if (retry.folder) {
            at = retry = above(retry);
            left = left_at_retry;
        } else {
            return false;
        }
    }
}
