#include "watch/text.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static bool make_room(struct lt_text *text, size_t more)
{
    if (text->size - text->length > more)
        return true;
    size_t size = 2 * text->size + more + 4096;
    char *bytes = lt_alloc(size);
    if (!bytes)
        return false;
    if (text->length)
        memcpy(bytes, text->bytes, text->length);
    lt_free(text->bytes);
    text->bytes = bytes;
    text->size = size;
    return true;
}

void lt_text_add(struct lt_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    if (n < 0 || !make_room(text, (size_t)n))
        text->failed = true;
    else
        text->length += (size_t)vsnprintf(text->bytes + text->length, (size_t)n + 1, format, again);
    va_end(again);
    va_end(arguments);
}

void lt_text_put(struct lt_text *text, const char *bytes, size_t n)
{
    if (!make_room(text, n)) {
        text->failed = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, n);
    text->length += n;
}

void lt_text_free(struct lt_text *text)
{
    lt_free(text->bytes);
    *text = (struct lt_text){ 0 };
}

int lt_text_end(struct lt_text *text, FILE *to)
{
    int saved = errno;
    bool whole = fwrite(text->bytes, 1, text->length, to) == text->length && fflush(to) == 0;
    lt_free(text->bytes);
    errno = saved;
    return text->failed ? -ENOMEM : whole ? 0 : -EIO;
}

void lt_say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (n <= 0)
        return;
    size_t length = (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[length] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, length + 1);
    (void)ignored;
}
