#define _GNU_SOURCE /* environ */
#include "base/environment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const known[] = {
    "DEADLOCK",
    "DUMP",
    "IO",
    "LOOK",
    "LOOK_TOKEN",
    "PINNED",
    "SEED",
    "TRACE",
    "WATCH",
    "WATCHDOG",
    "WORKERS",
    /* libleat-link's */
    "LINK_CA",
    "LINK_CERT",
    "LINK_KEY",
    "LINK_PASSWORD",
    "LINK_USER",
    /* the command's */
    "LANES",
    "QUICK",
    "SSH",
    "SYSFS",
    /* the tests', whose programs inherit them */
    "BIN",
    "BUILD_DIR",
    "EMULATED",
    "LINK_SEED",
    "LONG",
    "PROGRAMS",
    "ROUNDS",
    "SANITIZE",
    "SIM",
    "SEQ", /* these three tell a job of leat map which one it is */
    "SLOT",
    "SOURCE_DIR",
    "STRESS_SECONDS",
    "TRY",
};

/* `name`: what follows LEAT_. */
static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && memcmp(known[i], name, length) == 0)
            return true;
    return false;
}

void lt_env_tell_unknown(void)
{
    static _Atomic bool told;
    const char *prefix = "LEAT_";
    const size_t length = strlen(prefix);
    /* Relaxed: it orders nothing. */
    if (atomic_exchange_explicit(&told, true, memory_order_relaxed))
        return;
    int saved = errno;
    for (char **at = environ; at && *at; at++) {
        const char *name = *at + length;
        if (strncmp(*at, prefix, length) == 0 && !is_known(name, strcspn(name, "=")))
            dprintf(STDERR_FILENO, "leat: %.*s: leat knows no such variable\n",
                    (int)strcspn(*at, "="), *at);
    }
    errno = saved;
}

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
    long n = strtol(text, &end, 10); /* on overflow LONG_MIN or LONG_MAX: refused, too */
    errno = saved;
    if (!*end && n >= 1 && n <= most)
        return n;
    snprintf(wanted, sizeof wanted, "a number from 1 to %ld", most);
    return lt_env_refuse(variable, wanted);
}
