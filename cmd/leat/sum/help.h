/* help.h: what --help prints. */
#ifndef LEAT_CMD_HELP_H
#define LEAT_CMD_HELP_H

#include "options.h"

void help_print(const struct persona *p, const struct algorithm *a);

#endif
