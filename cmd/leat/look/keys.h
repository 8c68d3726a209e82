/* keys.h: the bytes that a terminal sends, as keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum key_code {
    KEY_NONE, /* a sequence that means nothing here */
    KEY_CHARACTER,
    KEY_ESCAPE,
    KEY_ENTER,
    KEY_TAB,
    KEY_BACK_TAB,
    KEY_BACKSPACE,
    KEY_UP,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
};

struct key {
    enum key_code code;
    char character[5]; /* of KEY_CHARACTER: UTF-8 */
};

/* Bytes that are no key yet. A zeroed struct has none. */
struct keys {
    char bytes[64];
    size_t len;
};

/* Takes the first key off the bytes; false if they hold no whole one. With `over` no more bytes
 * come soon, so a lone Esc is that key. */
bool keys_take(struct keys *k, bool over, struct key *to);
