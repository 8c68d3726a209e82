#include "look/format.h"

#include <math.h>
#include <stdio.h>

/* Three digits at least, and a letter. */
static void scale(char to[FORMATTED], double n, double unit, const char *letters)
{
    while (fabs(n) >= unit && letters[1]) {
        n /= unit;
        letters++;
    }
    int digits = fabs(n) >= 100 || n == floor(n) ? 0 : fabs(n) >= 10 ? 1 : 2;
    if (fabs(n) >= 1e6)
        snprintf(to, FORMATTED, "%.1e", n);
    else
        snprintf(to, FORMATTED, *letters == ' ' ? "%.*f" : "%.*f%c", digits, n, *letters);
}

const char *format_count(char to[FORMATTED], double count)
{
    if (isnan(count))
        return "-";
    if (fabs(count) < 1e5)
        snprintf(to, FORMATTED, fabs(count) < 10 && count != floor(count) ? "%.1f" : "%.0f", count);
    else
        scale(to, count, 1000, " kMGTP");
    return to;
}

const char *format_bytes(char to[FORMATTED], double bytes)
{
    if (isnan(bytes))
        return "-";
    scale(to, bytes, 1024, " KMGTP");
    return to;
}

const char *format_seconds(char to[FORMATTED], double seconds)
{
    if (isnan(seconds))
        return "-";
    const char *sign = seconds < 0 ? "-" : "";
    double s = fabs(seconds);
    if (s < 0.9995)
        snprintf(to, FORMATTED, "%s%.0fms", sign, s * 1000);
    else if (s < 99.95)
        snprintf(to, FORMATTED, "%s%.*fs", sign, s < 10 ? 2 : 1, s);
    else if (s < 3600)
        snprintf(to, FORMATTED, "%s%d:%02d", sign, (int)s / 60, (int)s % 60);
    else if (s < 100.0 * 3600)
        snprintf(to, FORMATTED, "%s%d:%02d:%02d", sign, (int)s / 3600, (int)s / 60 % 60,
                 (int)s % 60);
    else
        snprintf(to, FORMATTED, s < 1e12 ? "%s%.0fd" : "%s%.1ed", sign, s / 86400);
    return to;
}
