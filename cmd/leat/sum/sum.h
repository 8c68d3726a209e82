/* sum.h: the command `leat sum`. */
#ifndef LEAT_CMD_SUM_H
#define LEAT_CMD_SUM_H

#include "options.h"

/* Runs the command with its own arguments; argv[0] is its name. Returns the exit status. */
int sum_main(const struct persona *persona, int argc, char **argv);

#endif
