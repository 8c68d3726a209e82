#define _GNU_SOURCE
#include "shared/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pointers to the strings, then NULL; NULL: no memory. */
static const char **point_to(const char *strings, size_t count)
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

/* The variables, then those of this process that have other names, then NULL; NULL: no memory. */
static const char **make_environment(const char *const *variables)
{
    size_t n = 0, kept = PROGRAM_VARIABLES;
    while (environ[n])
        n++;
    const char **all = calloc(n + PROGRAM_VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, variables, PROGRAM_VARIABLES * sizeof *all);
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(all, environ[i]))
            all[kept++] = environ[i];
    return all;
}

int program_spawn(leat_scope *scope, const char *strings, size_t count, leat_spawn_options options,
                  leat_process **process)
{
    const char **all = point_to(strings, count);
    const char **environment = all ? make_environment(all) : NULL;
    options.environment = environment;
    int error =
        environment ? leat_spawn(scope, all + PROGRAM_VARIABLES, &options, process) : -ENOMEM;
    free(environment);
    free(all);
    return error;
}
