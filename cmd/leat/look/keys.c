#include "look/keys.h"

#include <stdlib.h>
#include <string.h>

enum { ESC = 0x1b };

/* By the last byte of ESC [ A, or ESC O A. */
static enum key_code by_letter(char letter)
{
    switch (letter) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'H': return KEY_HOME;
    case 'F': return KEY_END;
    case 'Z': return KEY_BACK_TAB;
    default: return KEY_NONE;
    }
}

/* By the number in ESC [ 5 ~ */
static enum key_code by_number(const char *digits)
{
    switch (atoi(digits)) { /* NOLINT: what is no number is no key */
    case 1:
    case 7: return KEY_HOME;
    case 4:
    case 8: return KEY_END;
    case 5: return KEY_PAGE_UP;
    case 6: return KEY_PAGE_DOWN;
    default: return KEY_NONE;
    }
}

/* The bytes of the sequence that begins with ESC; 0 if it is not whole. */
static size_t take_sequence(const struct keys *k, struct key *to)
{
    to->code = KEY_ESCAPE;
    if (k->len < 2)
        return 0;
    if (k->bytes[1] != '[' && k->bytes[1] != 'O')
        return 1;
    size_t at = 2;
    while (k->bytes[1] == '[' && at < k->len && k->bytes[at] >= 0x20 && k->bytes[at] < 0x40)
        at++;
    if (at == k->len)
        return 0;
    to->code = k->bytes[at] == '~' ? by_number(k->bytes + 2) : by_letter(k->bytes[at]);
    return at + 1;
}

static size_t take_character(const struct keys *k, struct key *to)
{
    unsigned char c = (unsigned char)k->bytes[0];
    size_t len = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
    if (len == 0 || c < ' ') {
        to->code = KEY_NONE;
        return 1;
    }
    if (k->len < len)
        return 0;
    to->code = KEY_CHARACTER;
    memcpy(to->character, k->bytes, len);
    return len;
}

static size_t take(const struct keys *k, struct key *to)
{
    switch (k->bytes[0]) {
    case ESC: return take_sequence(k, to);
    case '\r':
    case '\n': to->code = KEY_ENTER; return 1;
    case '\t': to->code = KEY_TAB; return 1;
    case '\b':
    case 0x7f: to->code = KEY_BACKSPACE; return 1;
    default: return take_character(k, to);
    }
}

bool keys_take(struct keys *k, bool over, struct key *to)
{
    *to = (struct key){ .code = KEY_NONE };
    if (k->len == 0)
        return false;
    size_t len = take(k, to);
    if (len == 0 && !over && k->len < sizeof k->bytes)
        return false;
    if (len == 0)
        len = 1;
    k->len -= len;
    memmove(k->bytes, k->bytes + len, k->len);
    return true;
}
