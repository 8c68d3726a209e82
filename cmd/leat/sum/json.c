#include "json.h"

#include <string.h>

/* The length of the UTF-8 sequence at `s`, or 0 if there is none. `s` ends in a NUL. */
static size_t sequence(const unsigned char *s)
{
    size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Longer than needed, a surrogate, or beyond the last character. */
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

static bool is_utf8(const unsigned char *s)
{
    for (size_t len; *s; s += len) {
        len = sequence(s);
        if (len == 0)
            return false;
    }
    return true;
}

static void add_string(struct text *to, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= ' ' && c != '"' && c != '\\') {
            text_char(to, *s);
        } else if (c < ' ') {
            text_str(to, "\\u00");
            text_hex(to, &c, 1);
        } else {
            text_char(to, '\\');
            text_char(to, *s);
        }
    }
}

void json_name(struct text *to, const char *key, const char *name)
{
    text_char(to, '"');
    text_str(to, key);
    if (is_utf8((const unsigned char *)name)) {
        text_str(to, "\":\"");
        add_string(to, name);
    } else {
        text_str(to, "_hex\":\"");
        text_hex(to, (const unsigned char *)name, strlen(name));
    }
    text_char(to, '"');
}
