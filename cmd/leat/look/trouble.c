#include "look/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void trouble_say(struct trouble *t, const char *format, ...)
{
    if (is_trouble(t))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->said, sizeof t->said, format, args);
    va_end(args);
}

void trouble_error(struct trouble *t, int error)
{
    trouble_say(t, "%s", strerror(-error));
}
