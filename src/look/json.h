/* json.h: JSON, written value by value into a text.
 *
 * A key is given with each value inside an object, and NULL inside an array. Commas come by
 * themselves. What the program's names contain is escaped: control characters, quotes, and bytes
 * that are no UTF-8 (as U+FFFD). */
#ifndef LT_LOOK_JSON_H
#define LT_LOOK_JSON_H

#include "watch/text.h"

#include <stdint.h>

/* Begins an object or an array: bracket is '{' or '['. lt_json_close ends it, with '}' or ']'. */
void lt_json_open(struct lt_text *to, const char *key, char bracket);
void lt_json_close(struct lt_text *to, char bracket);

/* NULL becomes null. */
void lt_json_string(struct lt_text *to, const char *key, const char *value);

void lt_json_number(struct lt_text *to, const char *key, uint64_t value);
void lt_json_bool(struct lt_text *to, const char *key, bool value);
void lt_json_null(struct lt_text *to, const char *key);

/* Nanoseconds, written as seconds. */
void lt_json_time(struct lt_text *to, const char *key, int64_t ns);

/* A letter with a number, and one with an address. */
void lt_json_id(struct lt_text *to, const char *key, char letter, uint32_t number);
void lt_json_place(struct lt_text *to, const char *key, char letter, const void *place);

#endif
