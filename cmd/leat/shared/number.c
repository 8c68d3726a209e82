#include "shared/number.h"

#include <stdlib.h>
#include <string.h>

bool number_begin(const char *text, uint64_t *to, const char **rest)
{
    char *end;
    *to = strtoull(text, &end, 10);
    *rest = end;
    return *text >= '0' && *text <= '9';
}

bool number_begin_decimal(const char *text, double *to, const char **rest)
{
    char *end;
    *to = strtod(text, &end);
    *rest = text + strspn(text, "0123456789.");
    return *rest > text && *rest == end;
}

bool number_read(const char *text, unsigned least, unsigned most, unsigned *to)
{
    uint64_t n;
    const char *rest;
    bool good = number_begin(text, &n, &rest) && !*rest && n >= least && n <= most;
    if (good)
        *to = (unsigned)n;
    return good;
}
