#define _GNU_SOURCE
#include "shared/program.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char **program_strings(const char *strings, size_t count)
{
    const char **at = calloc(count + 1, sizeof *at);
    for (size_t i = 0; at && i < count; i++) {
        at[i] = strings;
        strings += strlen(strings) + 1;
    }
    return at;
}

/* Whether one of the PROGRAM_VARIABLES strings at `all` has the variable's name. */
static bool is_replaced(const char *const *all, const char *variable)
{
    for (size_t i = 0; i < PROGRAM_VARIABLES; i++)
        if (strncmp(all[i], variable, strcspn(all[i], "=") + 1) == 0)
            return true;
    return false;
}

const char **program_environment(const char *variables)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    const char **all = calloc(n + PROGRAM_VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    for (; kept < PROGRAM_VARIABLES; variables += strlen(variables) + 1)
        all[kept++] = variables;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(all, environ[i]))
            all[kept++] = environ[i];
    return all;
}
