/* program.h: what a program is started with. */
#ifndef LEAT_CMD_PROGRAM_H
#define LEAT_CMD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* LEAT_SEQ, LEAT_SLOT and LEAT_TRY tell a job of `leat map` which one it is. */
enum { PROGRAM_VARIABLES = 3 };

/* Pointers to `count` strings, each with a NUL behind it, then NULL. The caller frees them. NULL:
 * no memory. */
const char **program_strings(const char *strings, size_t count);

/* The environment, with `count` variables NAME=value in place of others of these names, then NULL.
 * The caller frees the array. NULL: no memory. */
const char **program_environment(const char *const *variables, size_t count);

/* Whether a program could not be started for want of something that comes back when others end. */
bool program_is_shortage(int error);

#endif
