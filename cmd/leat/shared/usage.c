#include "shared/usage.h"

#include "shared/number.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int usage_help(const char *program, int status)
{
    fprintf(stderr, "Try '%s --help' for more information.\n", program);
    return status;
}

static int finish(const char *program, int status, const char *format, va_list args)
{
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    return usage_help(program, status);
}

int usage_refuse(const char *program, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program);
    status = finish(program, status, format, args);
    va_end(args);
    return status;
}

static void begin_argument(const char *program, const char *option, const char *argument)
{
    fprintf(stderr, "%s: invalid argument '%s' for '%s': it takes ", program, argument, option);
}

int usage_argument(const char *program, int status, const char *option, const char *argument,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    begin_argument(program, option, argument);
    status = finish(program, status, format, args);
    va_end(args);
    return status;
}

int usage_name(const char *program, int status, const char *option, const char *argument,
               const char *(*name)(const void *from, size_t i), const void *from, size_t count)
{
    begin_argument(program, option, argument);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", name(from, i));
    fputc('\n', stderr);
    return usage_help(program, status);
}

int usage_number(const char *program, int status, const char *option, const char *argument,
                 unsigned least, unsigned most, unsigned *to)
{
    if (number_read(argument, least, most, to))
        return 0;
    return usage_argument(program, status, option, argument, "a number from %u to %u", least, most);
}

/* In nanoseconds; without a unit the text is in seconds. False: it is no time. */
static bool read_duration(const char *text, int64_t *to)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        { "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 }
    };
    const char *end;
    double n;
    if (!number_begin_decimal(text, &n, &end))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double seconds = n * units[i].seconds;
        if (strcmp(end, units[i].name) == 0 && seconds < 1e9) {
            *to = (int64_t)(seconds * 1e9);
            return true;
        }
    }
    return false;
}

int usage_duration(const char *program, int status, const char *option, const char *argument,
                   int64_t least, int64_t *to)
{
    if (!read_duration(argument, to))
        return usage_argument(program, status, option, argument,
                              "a time, such as 500ms, 30s, 2m or 1h");
    if (*to >= least)
        return 0;
    return usage_argument(program, status, option, argument, "a time of %lldms or more",
                          (long long)(least / 1000000));
}
