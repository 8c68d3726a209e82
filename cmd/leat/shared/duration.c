#include "shared/duration.h"

#include <stdlib.h>
#include <string.h>

bool duration_read(const char *text, int64_t *to)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        { "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 }
    };
    size_t digits = strspn(text, "0123456789."); /* strtod would also take 0x10, 1e3 and inf */
    const char *end = text + digits;
    double n = strtod(text, NULL);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double seconds = n * units[i].seconds;
        if (digits && strcmp(end, units[i].name) == 0 && seconds < 1e9) {
            *to = (int64_t)(seconds * 1e9);
            return true;
        }
    }
    return false;
}
