#include "shared/quote.h"

#include <string.h>
#include <wchar.h>
#include <wctype.h>

/* Facts about the whole name, found before its first byte is written. */
struct survey {
    bool plain;           /* no quotes are needed */
    bool unprintable;     /* some bytes must be escaped */
    bool apostrophe;      /* it has a ' */
    bool fits_in_doubles; /* it means the same between double quotes */
};

/* The bytes of the character at `s`, at least 1, and whether it is printable. A byte that is no
 * character of the locale is not. */
static size_t character(const char *s, const char *end, mbstate_t *state, bool *printable)
{
    wchar_t wide;
    size_t len = mbrtowc(&wide, s, (size_t)(end - s), state);
    if (len == (size_t)-1 || len == (size_t)-2) {
        memset(state, 0, sizeof *state);
        *printable = false;
        /* A character that is cut off by the end of the name counts as one. */
        return len == (size_t)-2 ? (size_t)(end - s) : 1;
    }
    *printable = iswprint((wint_t)wide) != 0;
    return len;
}

static struct survey look_over(const char *name, const char *end)
{
    struct survey found = { .plain = *name != '\0', .fits_in_doubles = true };
    mbstate_t state = { 0 };
    bool alone = *name && !name[1];
    bool printable;
    size_t len;
    for (const char *s = name; s < end; s += len) {
        len = character(s, end, &state, &printable);
        if (!printable) {
            found.unprintable = true;
            found.plain = false;
            continue;
        }
        if (len > 1)
            continue;
        switch (*s) {
        case '\'':
            found.apostrophe = true;
            found.plain = false;
            break;
        case ' ':
        case ':': found.plain = false; break;
        case '#':
        case '~':
            if (s == name)
                found.plain = false;
            else
                found.fits_in_doubles = false;
            break;
        case '{':
        case '}':
            if (alone)
                found.plain = false;
            else
                found.fits_in_doubles = false;
            break;
        default:
            if (strchr("!\"$&()*;<=>?[\\^`|", *s)) {
                found.plain = false;
                found.fits_in_doubles = false;
            }
        }
    }
    return found;
}

static void add_octal(struct text *to, unsigned char byte)
{
    text_char(to, '\\');
    text_char(to, (char)('0' + (byte >> 6)));
    text_char(to, (char)('0' + (byte >> 3 & 7)));
    text_char(to, (char)('0' + (byte & 7)));
}

static void add_escaped(struct text *to, unsigned char byte)
{
    static const char letters[] = "abtnvfr";
    if (byte >= '\a' && byte <= '\r') {
        text_char(to, '\\');
        text_char(to, letters[byte - '\a']);
    } else {
        add_octal(to, byte);
    }
}

/* 'plain bytes', with unprintable ones between them as $'\n'. */
static void add_in_single_quotes(struct text *to, const char *name, const char *end)
{
    mbstate_t state = { 0 };
    bool escaping = false, printable;
    size_t len;
    text_char(to, '\'');
    for (const char *s = name; s < end; s += len) {
        len = character(s, end, &state, &printable);
        if (!printable) {
            if (!escaping)
                text_str(to, "'$'");
            escaping = true;
            for (size_t i = 0; i < len; i++)
                add_escaped(to, (unsigned char)s[i]);
            continue;
        }
        if (*s == '\'') {
            /* Inside $'…' the quotes just close; the next plain byte opens them again. */
            text_str(to, "'\\''");
            escaping = false;
            continue;
        }
        if (escaping)
            text_str(to, "''");
        escaping = false;
        text_add(to, s, len);
    }
    text_char(to, '\'');
}

void quote_name(struct text *to, const char *name)
{
    const char *end = name + strlen(name);
    struct survey found = look_over(name, end);
    if (found.plain) {
        text_str(to, name);
    } else if (found.apostrophe && found.fits_in_doubles && !found.unprintable) {
        text_char(to, '"');
        text_str(to, name);
        text_char(to, '"');
    } else {
        add_in_single_quotes(to, name, end);
    }
}

/* ---- words for a shell ---- */

static bool is_plain(const char *s)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "+-./_";
    return *s && !s[strspn(s, plain)];
}

static bool has_control(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 32 || *s == 127)
            return true;
    return false;
}

/* $'…', where a byte may be escaped. */
static void add_with_escapes(struct text *to, const char *s)
{
    text_str(to, "$'");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 32 || c == 127 || c == '\\' || c == '\'')
            add_octal(to, c);
        else
            text_char(to, (char)c);
    }
    text_char(to, '\'');
}

/* As GNU parallel: '…', which ends for each apostrophe, but without a '' at the beginning or the
 * end of the word. */
static void add_between_quotes(struct text *to, const char *s)
{
    if (*s != '\'')
        text_char(to, '\'');
    for (bool first = true; *s; s++, first = false) {
        if (*s != '\'') {
            text_char(to, *s);
            continue;
        }
        text_str(to, first ? "\"'\"" : "'\"'\"");
        if (s[1])
            text_char(to, '\'');
    }
    if (s[-1] != '\'')
        text_char(to, '\'');
}

void quote_word(struct text *to, const char *argument)
{
    if (is_plain(argument))
        text_str(to, argument);
    else if (!*argument)
        text_str(to, "''");
    else if (has_control(argument))
        add_with_escapes(to, argument);
    else
        add_between_quotes(to, argument);
}
