/* json.h: a file's name in a line of JSON. */
#ifndef LEAT_CMD_JSON_H
#define LEAT_CMD_JSON_H

#include "text.h"

/* "path":"name". What is not UTF-8 cannot stand in JSON: its bytes do, as "path_hex":"digits". */
void json_path(struct text *to, const char *name);

#endif
