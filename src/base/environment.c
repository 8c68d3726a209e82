#include "base/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *lt_env(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

int lt_env_refuse(const char *variable, const char *wanted)
{
    int saved = errno;
    dprintf(STDERR_FILENO, "leat: %s=%s: wanted is %s\n", variable, lt_env(variable), wanted);
    errno = saved;
    return -EINVAL;
}

int64_t lt_env_number(const char *variable, long most)
{
    const char *text = lt_env(variable);
    if (!text)
        return 0;
    char *end, wanted[64];
    int saved = errno;
    long n = strtol(text, &end, 10); /* out of range: too large or too small for us, too */
    errno = saved;
    if (!*end && n >= 1 && n <= most)
        return n;
    snprintf(wanted, sizeof wanted, "a number from 1 to %ld", most);
    return lt_env_refuse(variable, wanted);
}
