#define _GNU_SOURCE
#include "look/shown.h"

#include <langinfo.h>
#include <string.h>
#include <wchar.h>

/* The bytes of the character at `s`, 1 to 4. *code is 0 for a byte that begins no character. A NUL
 * at the end of the string is no continuation byte, so nothing after it is read. */
static size_t decode(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    size_t more = *s < 0x80 ? 0 : *s < 0xc0 ? 4 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : *s < 0xf8 ? 3 : 4;
    *code = 0;
    if (more == 4)
        return 1;
    uint32_t c = more ? *s & (0x3fu >> more) : *s;
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 1;
    *code = c;
    return more + 1;
}

/* Invisible characters, and those that change the direction of writing. */
static bool is_hidden(uint32_t c)
{
    return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           c >= 0xe0000;
}

/* The columns of a character, or -1 for one that is shown as `?`. */
static int columns_of(uint32_t c, bool utf8)
{
    if (c < 0x80)
        return c >= 0x20 && c < 0x7f ? 1 : -1;
    return utf8 && !is_hidden(c) ? wcwidth((wchar_t)c) : -1;
}

size_t shown_add(struct text *to, const char *string, size_t most)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    size_t at = 0, len;
    for (const unsigned char *s = (const unsigned char *)string; *s; s += len) {
        uint32_t code;
        len = decode(s, &code);
        int columns = columns_of(code, utf8);
        size_t wide = columns < 0 ? 1 : (size_t)columns;
        if (at + wide > most)
            break;
        at += wide;
        if (to && columns < 0)
            text_char(to, '?');
        else if (to)
            text_add(to, s, len);
    }
    return at;
}

size_t shown_width(const char *string)
{
    return shown_add(NULL, string, SIZE_MAX);
}
