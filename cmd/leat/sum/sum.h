/* sum.h: the command `leat sum`. */
#pragma once

#include "options.h"

/* Runs the command with its own arguments; argv[0] is its name. Returns the exit status. */
int sum_main(const struct persona *persona, int argc, char **argv);
