/* json.h: a file's name in a line of JSON. */
#pragma once

#include "shared/text.h"

/* "key":"name". JSON cannot hold a name that is not UTF-8; that becomes "key_hex":"digits". */
void json_name(struct text *to, const char *key, const char *name);
