#include "shared/number.h"

#include <stdlib.h>

bool number_begin(const char *text, uint64_t *to, const char **rest)
{
    char *end;
    *to = strtoull(text, &end, 10);
    *rest = end;
    return *text >= '0' && *text <= '9';
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
