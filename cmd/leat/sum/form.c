#include "form.h"

#include <string.h>

void form_add_name(struct text *to, const char *name, bool escape)
{
    for (;;) {
        size_t plain = escape ? strcspn(name, "\\\n\r") : strlen(name);
        text_add(to, name, plain);
        name += plain;
        if (!*name)
            return;
        text_char(to, '\\');
        text_char(to, *name == '\n' ? 'n' : *name == '\r' ? 'r' : '\\');
        name++;
    }
}

void form_add(const struct form *f, struct text *to, const struct algorithm *a,
              const unsigned char *digest, size_t size, const char *name)
{
    bool escape = f->escape && strpbrk(name, "\\\n\r");
    if (escape)
        text_char(to, '\\');
    if (f->tag) {
        text_str(to, a->tag);
        if (size < a->size) {
            text_char(to, '-');
            text_number(to, 8 * size);
        }
        text_str(to, " (");
        form_add_name(to, name, escape);
        text_str(to, ") = ");
        text_hex(to, digest, size);
    } else {
        text_hex(to, digest, size);
        text_str(to, f->mark);
        form_add_name(to, name, escape);
    }
    if (f->end)
        text_str(to, f->end);
    else
        text_char(to, '\0');
}
