/* dumps.h: the text of a dump, for tests that read it. */
#pragma once

#include "support.h"

/* The text that the function writes; the caller frees it. Not inline: GCC 12 would then take `text`
 * for dangling. */
static __attribute__((noinline, unused)) char *dump_with(int (*dump)(FILE *to))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    CHECK_IS(0, dump(file));
    CHECK_IS(0, fclose(file));
    return text;
}

/* How many times a dump says it: a party that waits cannot say so itself. */
static inline unsigned times_in_dump(const char *what)
{
    unsigned times = 0;
    char *text = dump_with(leat_dump);
    for (const char *found = text; (found = strstr(found, what)); found++)
        times++;
    free(text);
    return times;
}
