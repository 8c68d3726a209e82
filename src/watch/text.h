/* text.h: text that grows. A failed allocation is remembered, and an error at the end. */
#ifndef LT_WATCH_TEXT_H
#define LT_WATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lt_text {
    char *bytes;
    size_t length, size;
    bool failed;
};

/* Adds as printf would. */
void lt_text_add(struct lt_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds n bytes. */
void lt_text_put(struct lt_text *text, const char *bytes, size_t n);

void lt_text_free(struct lt_text *text);

/* Writes it all and frees it. 0, -ENOMEM when some is missing, or -EIO. */
int lt_text_end(struct lt_text *text, FILE *to);

/* Writes a line to standard error, in one piece. The end of a very long line is left off. */
void lt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
