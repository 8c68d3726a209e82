/* text.h: a buffer of bytes that grows, for paths and for output lines.
 *
 * When memory runs out, the text is `broken` and further additions do nothing. So the caller checks
 * once, at the end, instead of at each step. A zeroed struct is an empty text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t len, cap;
    bool broken;
};

/* Makes room for `more` bytes after the present ones; false if memory has run out. */
bool text_reserve(struct text *t, size_t more);

void text_add(struct text *t, const void *bytes, size_t len);
void text_str(struct text *t, const char *string);
void text_word(struct text *t, const char *string); /* with its NUL */
void text_char(struct text *t, char c);
void text_number(struct text *t, uintmax_t number);
void text_hex(struct text *t, const unsigned char *bytes, size_t len);

/* Reads `size` bytes from two digits each. False: a digit is missing. */
bool text_read_hex(const char *digits, unsigned char *to, size_t size);

/* The bytes of the UTF-8 character at `from`, 1 to 4. *code is 0 for a byte that begins none. */
size_t text_decode(const char *from, uint32_t *code);

/* The text as a string, with a NUL that `len` does not count. NULL if broken. */
const char *text_string(struct text *t);

/* Empties the text and keeps its memory. */
void text_clear(struct text *t);
void text_free(struct text *t);
