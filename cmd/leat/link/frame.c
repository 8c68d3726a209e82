#include "link/frame.h"

#include "shared/program.h"

#include <string.h>

void frame_add(struct text *to, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text_char(to, (char)(number >> 8 * i));
}

void frame_put(struct text *to, enum frame_kind kind, uint32_t job, const void *body, size_t n)
{
    if (!text_reserve(to, FRAME_HEAD + n))
        return;
    frame_add(to, n, 4);
    frame_add(to, kind, 1);
    frame_add(to, job, 4);
    text_add(to, body, n);
}

void frame_put_all(struct text *to, enum frame_kind kind, uint32_t job, const char *body, size_t n)
{
    for (size_t done = 0; done < n;) {
        size_t left = n - done, part = left < FRAME_BODY_MOST ? left : FRAME_BODY_MOST;
        frame_put(to, kind, job, body + done, part);
        done += part;
    }
}

static uint64_t number_at(const char *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return number;
}

int64_t frame_take(const char *bytes, size_t n, struct frame *to)
{
    if (n < FRAME_HEAD)
        return 0;
    size_t body = number_at(bytes, 4);
    unsigned kind = (unsigned char)bytes[4];
    if (body > FRAME_BODY_MOST || kind < FRAME_HELLO || kind >= FRAME_KINDS)
        return -1;
    if (n - FRAME_HEAD < body)
        return 0;
    *to = (struct frame){ .kind = kind,
                          .job = (uint32_t)number_at(bytes + 5, 4),
                          .body = bytes + FRAME_HEAD,
                          .left = body };
    return FRAME_HEAD + (int64_t)body;
}

uint64_t frame_number(struct frame *f, size_t size)
{
    if (f->left < size) {
        f->broken = true;
        return 0;
    }
    uint64_t number = number_at(f->body, size);
    f->body += size;
    f->left -= size;
    return number;
}

const char *frame_string(struct frame *f)
{
    const char *string = f->body, *end = f->left ? memchr(string, 0, f->left) : NULL;
    if (!end) {
        f->broken = true;
        return "";
    }
    f->left -= (size_t)(end + 1 - string);
    f->body = end + 1;
    return string;
}

bool frame_strings_are(const struct text *strings, uint64_t count)
{
    uint64_t found = 0;
    for (size_t i = 0; i < strings->len; i++)
        found += !strings->bytes[i];
    return strings->len && !strings->bytes[strings->len - 1] && found == count;
}

bool frame_start(struct frame *f, const struct text *strings, size_t *count, bool *has_input)
{
    *count = frame_number(f, 4);
    *has_input = frame_number(f, 1) == 1;
    return !f->broken && *count > PROGRAM_VARIABLES && frame_strings_are(strings, *count);
}
