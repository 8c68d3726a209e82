/* program.h: starts the program of a job of `leat map`. */
#pragma once

#include <leat/leat.h>

#include <stddef.h>

/* LEAT_SEQ, LEAT_SLOT and LEAT_TRY, which identify the job. */
enum { PROGRAM_VARIABLES = 3 };

/* Starts a program as leat_spawn does, in this process's environment. `strings`: `count` of them,
 * each followed by a NUL: PROGRAM_VARIABLES strings NAME=value, which replace variables of these
 * names, then the program's arguments. */
int program_spawn(leat_scope *scope, const char *strings, size_t count, leat_spawn_options options,
                  leat_process **process);
