#include "look/json.h"

#include <leat/base.h>

#include <string.h>

/* Begins a value: a comma after the one before, and the key. */
static void begin(struct lt_text *to, const char *key)
{
    char last = to->length ? to->bytes[to->length - 1] : '{';
    if (last != '{' && last != '[')
        lt_text_put(to, ",", 1);
    if (!key)
        return;
    lt_text_put(to, "\"", 1);
    lt_text_put(to, key, strlen(key));
    lt_text_put(to, "\":", 2);
}

void lt_json_open(struct lt_text *to, const char *key, char bracket)
{
    begin(to, key);
    lt_text_put(to, &bracket, 1);
}

void lt_json_close(struct lt_text *to, char bracket)
{
    lt_text_put(to, &bracket, 1);
}

/* How many bytes the UTF-8 character at `at` has; 0: it is none (RFC 3629). */
static size_t utf8_length(const unsigned char *at)
{
    size_t n = at[0] < 0x80                     ? 1
               : at[0] >= 0xC2 && at[0] <= 0xDF ? 2
               : (at[0] & 0xF0) == 0xE0         ? 3
               : at[0] >= 0xF0 && at[0] <= 0xF4 ? 4
                                                : 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0, beyond = at[0] == 0xF4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static void put_escaped(struct lt_text *to, const char *value)
{
    while (*value) {
        size_t run = 0;
        while (is_plain((unsigned char)value[run]))
            run++;
        lt_text_put(to, value, run);
        value += run;
        unsigned char c = (unsigned char)*value;
        size_t n = c ? utf8_length((const unsigned char *)value) : 0;
        if (n > 1)
            lt_text_put(to, value, n);
        else if (c == '"' || c == '\\')
            lt_text_add(to, "\\%c", c);
        else if (c)
            lt_text_add(to, "\\u%04x", n ? c : 0xFFFD);
        value += n ? n : c != 0;
    }
}

void lt_json_string(struct lt_text *to, const char *key, const char *value)
{
    if (!value) {
        lt_json_null(to, key);
        return;
    }
    begin(to, key);
    lt_text_put(to, "\"", 1);
    put_escaped(to, value);
    lt_text_put(to, "\"", 1);
}

void lt_json_number(struct lt_text *to, const char *key, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    begin(to, key);
    lt_text_put(to, digits + at, sizeof digits - at);
}

void lt_json_bool(struct lt_text *to, const char *key, bool value)
{
    begin(to, key);
    lt_text_put(to, value ? "true" : "false", value ? 4 : 5);
}

void lt_json_null(struct lt_text *to, const char *key)
{
    begin(to, key);
    lt_text_put(to, "null", 4);
}

void lt_json_time(struct lt_text *to, const char *key, int64_t ns)
{
    int64_t us = (ns < 0 ? 0 : ns) / LEAT_US;
    begin(to, key);
    lt_text_add(to, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
}

void lt_json_id(struct lt_text *to, const char *key, char letter, uint32_t number)
{
    begin(to, key);
    lt_text_add(to, "\"%c%u\"", letter, number);
}

void lt_json_place(struct lt_text *to, const char *key, char letter, const void *place)
{
    begin(to, key);
    lt_text_add(to, "\"%c%llx\"", letter, (unsigned long long)(uintptr_t)place);
}
