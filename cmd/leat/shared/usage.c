#include "shared/usage.h"

#include <stdarg.h>
#include <stdio.h>

int usage_help(const char *program, int status)
{
    fprintf(stderr, "Try '%s --help' for more information.\n", program);
    return status;
}

int usage_refuse(const char *program, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return usage_help(program, status);
}
