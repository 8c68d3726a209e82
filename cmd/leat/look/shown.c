#define _GNU_SOURCE
#include "look/shown.h"

#include <langinfo.h>
#include <string.h>
#include <wchar.h>

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
    for (const char *s = string; *s; s += len) {
        uint32_t code;
        len = text_decode(s, &code);
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
