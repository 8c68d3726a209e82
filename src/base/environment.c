#define _GNU_SOURCE /* environ */
#include "base/environment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variables of the library, of libleat-link, of the command, and of the tests, whose programs
 * inherit them. SEQ, SLOT and TRY identify a job of leat map. */
static const char known[] =
    " DEADLOCK DUMP IO LOOK LOOK_TOKEN PINNED SEED TRACE WATCH WATCHDOG WORKERS"
    " LINK_CA LINK_CERT LINK_KEY LINK_PASSWORD LINK_USER"
    " LANES QUICK SEQ SLOT SSH SYSFS TRY"
    " BIN BUILD_DIR EMULATED LINK_SEED LONG PROGRAMS ROUNDS SANITIZE SIM SOURCE_DIR "
    "STRESS_SECONDS ";

/* `name`: the part after LEAT_. */
static bool is_known(const char *name, size_t length)
{
    char spaced[32];
    int n = snprintf(spaced, sizeof spaced, " %.*s ", (int)length, name);
    return n < (int)sizeof spaced && strstr(known, spaced);
}

void lt_env_report_unknown(void)
{
    static _Atomic bool reported;
    const char *prefix = "LEAT_";
    const size_t length = strlen(prefix);
    /* Relaxed: it orders nothing. */
    if (atomic_exchange_explicit(&reported, true, memory_order_relaxed))
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
    long n = strtol(text, &end, 10); /* on overflow LONG_MAX: refused, too */
    errno = saved;
    if (lt_is_digit(*text) && !*end && n >= 1 && n <= most)
        return n;
    snprintf(wanted, sizeof wanted, "a number from 1 to %ld", most);
    return lt_env_refuse(variable, wanted);
}

int lt_env_word(const char *variable, const struct lt_word *words)
{
    const char *text = lt_env(variable);
    char wanted[64] = "";
    if (!text)
        return 0;
    for (const struct lt_word *word = words; word->text; word++) {
        if (strcmp(text, word->text) == 0)
            return word->value;
        size_t length = strlen(wanted);
        const char *before = !length ? "" : word[1].text ? ", " : " or ";
        snprintf(wanted + length, sizeof wanted - length, "%s%s", before, word->text);
    }
    return lt_env_refuse(variable, wanted);
}
