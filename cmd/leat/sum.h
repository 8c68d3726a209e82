/* sum.h: the command `leat sum`. */
#ifndef LEAT_CMD_SUM_H
#define LEAT_CMD_SUM_H

#include "options.h"

/* Runs it with its own arguments, argv[0] being its name. Returns the exit status. */
int sum_main(const struct persona *persona, int argc, char **argv);

/* Standard output through stdio is over: the status, or failure when it could not be written. */
int sum_finish_stdio(const char *program, int status);

#endif
