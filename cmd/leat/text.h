/* text.h: a growing run of bytes, for paths and for lines on their way out.
 *
 * When memory runs out the text is `broken`: further additions do nothing, and whoever uses the
 * text asks once, at the end, instead of at every step. A zeroed struct is an empty text. */
#ifndef LEAT_CMD_TEXT_H
#define LEAT_CMD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t len, cap;
    bool broken;
};

/* Makes room for `more` bytes after the present ones; false when there is none to be had. */
bool text_reserve(struct text *t, size_t more);

void text_add(struct text *t, const void *bytes, size_t len);
void text_str(struct text *t, const char *string);
void text_char(struct text *t, char c);
void text_number(struct text *t, uintmax_t number);
void text_hex(struct text *t, const unsigned char *bytes, size_t len);

/* The text as a string: it has a NUL after its last byte, which is not counted. NULL when broken. */
const char *text_string(struct text *t);

/* Empties the text and keeps its memory. */
void text_clear(struct text *t);
void text_free(struct text *t);

#endif
