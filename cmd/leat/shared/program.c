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

static bool is_among(const char *const *variables, size_t count, const char *variable)
{
    for (size_t i = 0; i < count; i++) {
        size_t name = strcspn(variables[i], "=") + 1;
        if (strncmp(variables[i], variable, name) == 0)
            return true;
    }
    return false;
}

const char **program_environment(const char *const *variables, size_t count)
{
    size_t n = 0;
    while (environ[n])
        n++;
    const char **all = calloc(n + count + 1, sizeof *all);
    if (!all)
        return NULL;
    size_t kept = 0;
    for (; kept < count; kept++)
        all[kept] = variables[kept];
    for (size_t i = 0; i < n; i++)
        if (!is_among(variables, count, environ[i]))
            all[kept++] = environ[i];
    return all;
}
