#include "json.h"

#include <string.h>

static bool is_utf8(const char *s)
{
    uint32_t code = 1;
    while (*s && code)
        s += text_decode(s, &code);
    return code;
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
    if (is_utf8(name)) {
        text_str(to, "\":\"");
        add_string(to, name);
    } else {
        text_str(to, "_hex\":\"");
        text_hex(to, (const unsigned char *)name, strlen(name));
    }
    text_char(to, '"');
}
