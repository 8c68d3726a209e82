#include "shared/text.h"

#include <stdlib.h>
#include <string.h>

bool text_reserve(struct text *t, size_t more)
{
    if (t->broken)
        return false;
    if (more <= t->cap - t->len)
        return true;
    size_t cap = t->cap ? t->cap : 256;
    while (cap - t->len < more && cap <= SIZE_MAX / 2)
        cap *= 2;
    char *bytes = cap - t->len < more ? NULL : realloc(t->bytes, cap);
    if (!bytes) {
        t->broken = true;
        return false;
    }
    t->bytes = bytes;
    t->cap = cap;
    return true;
}

void text_add(struct text *t, const void *bytes, size_t len)
{
    if (len == 0 || !text_reserve(t, len))
        return;
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

void text_str(struct text *t, const char *string)
{
    text_add(t, string, strlen(string));
}

void text_word(struct text *t, const char *string)
{
    text_add(t, string, strlen(string) + 1);
}

void text_char(struct text *t, char c)
{
    text_add(t, &c, 1);
}

void text_number(struct text *t, uintmax_t number)
{
    char digits[3 * sizeof number];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    text_add(t, digits + at, sizeof digits - at);
}

void text_hex(struct text *t, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    if (!text_reserve(t, 2 * len))
        return;
    char *to = t->bytes + t->len;
    for (size_t i = 0; i < len; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    t->len += 2 * len;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool text_read_hex(const char *digits, unsigned char *to, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int high = digit(digits[2 * i]), low = high < 0 ? -1 : digit(digits[2 * i + 1]);
        if (low < 0)
            return false;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

size_t text_decode(const char *from, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = (const unsigned char *)from;
    size_t more = *s < 0x80 ? 0 : *s < 0xc0 ? 4 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : *s < 0xf8 ? 3 : 4;
    *code = 0;
    if (more == 4)
        return 1;
    uint32_t c = more ? *s & (0x3fu >> more) : *s;
    /* A NUL at the end of the string is no continuation byte, so nothing after it is read. */
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

const char *text_string(struct text *t)
{
    if (!text_reserve(t, 1))
        return NULL;
    t->bytes[t->len] = '\0';
    return t->bytes;
}

void text_clear(struct text *t)
{
    t->len = 0;
    t->broken = false;
}

void text_free(struct text *t)
{
    free(t->bytes);
    *t = (struct text){ 0 };
}
