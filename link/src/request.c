#include "request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bytes that a buffer keeps between requests. */
enum { KEEP = 1 << 20 };

void lk_request_empty(struct lk_request *to)
{
    if (to->bytes.room > KEEP)
        lk_request_free(to);
    to->bytes.size = 0;
    to->replies = 0;
    to->failed = false;
}

void lk_request_free(struct lk_request *to)
{
    lk_bytes_free(&to->bytes);
    *to = (struct lk_request){ 0 };
}

/* Writes a mark, a number, and the end of the line. */
static void head(struct lk_request *to, char mark, size_t number)
{
    char line[32], *at = line + sizeof line;
    *--at = '\n';
    *--at = '\r';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    *--at = mark;
    lk_request_raw(to, at, (size_t)(line + sizeof line - at));
}

void lk_request_raw(struct lk_request *to, const char *words, size_t n)
{
    to->bytes.most = SIZE_MAX;
    to->failed = to->failed || leat_bytes_add(&to->bytes, words, n) != 0;
}

void lk_request_begin(struct lk_request *to, size_t words)
{
    head(to, '*', words);
    to->replies++;
}

void lk_request_word(struct lk_request *to, const void *data, size_t n)
{
    head(to, '$', n);
    lk_request_raw(to, data, n);
    lk_request_raw(to, "\r\n", 2);
}

void lk_request_text(struct lk_request *to, const char *text)
{
    lk_request_word(to, text, strlen(text));
}

void lk_request_number(struct lk_request *to, int64_t number)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, number);
    lk_request_word(to, text, (size_t)n);
}

void lk_request_texts(struct lk_request *to, const char *first, ...)
{
    va_list texts, again;
    va_start(texts, first);
    va_copy(again, texts);
    size_t words = 1;
    while (va_arg(texts, const char *))
        words++;
    va_end(texts);
    lk_request_begin(to, words);
    lk_request_text(to, first);
    for (const char *text; (text = va_arg(again, const char *));)
        lk_request_text(to, text);
    va_end(again);
}
