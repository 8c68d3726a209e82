/* program.h: the arguments and environment of a program. */
#pragma once

#include <stddef.h>

/* LEAT_SEQ, LEAT_SLOT and LEAT_TRY, which identify a job of `leat map`. */
enum { PROGRAM_VARIABLES = 3 };

/* Pointers to `count` strings, each followed by a NUL, then NULL. The caller frees them. NULL: no
 * memory. */
const char **program_strings(const char *strings, size_t count);

/* The environment, in which PROGRAM_VARIABLES strings NAME=value, each followed by a NUL, replace
 * others of these names, then NULL. The caller frees the array. NULL: no memory. */
const char **program_environment(const char *variables);
