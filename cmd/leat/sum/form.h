/* form.h: the form of a line with a digest. */
#pragma once

#include "digest.h"
#include "shared/text.h"

struct form {
    bool tag;         /* MD5 (name) = digest */
    const char *mark; /* otherwise: the text between digest and name */
    bool escape;      /* names that need it */
    const char *end;  /* the end of the line; NULL: a NUL byte */
};

/* Adds the line for a digest of `size` bytes. */
void form_add(const struct form *f, struct text *to, const struct algorithm *a,
              const unsigned char *digest, size_t size, const char *name);

/* Adds the name; with `escape`, \\, \n and \r replace these bytes. */
void form_add_name(struct text *to, const char *name, bool escape);
