/* tell.h: prints what a look has found: as text, as a graph, and in pieces for other writers. */
#ifndef LT_DUMP_TELL_H
#define LT_DUMP_TELL_H

#include "watch/picture.h"

#include <stdio.h>

/* Writes lines of text, and a graph, in Graphviz's language, of a look without a bound. */
void lt_tell(FILE *to, const struct lt_look *look);
void lt_draw(FILE *to, const struct lt_look *look);

/* "task", "thread", … */
const char *lt_tell_thing(enum lt_thing thing);

/* Writes a function's name, if the linker left one, else its place in its file, for addr2line. */
void lt_tell_code(FILE *to, const void *code);

/* Writes a call of a stack: its place for addr2line and, if the linker left a name, that. */
void lt_tell_frame(FILE *to, const void *code);

/* Writes "descriptor 7", by its record's number. */
void lt_tell_descriptor(FILE *to, uint32_t number);

/* Writes seconds, with three decimals. */
void lt_tell_time(FILE *to, int64_t ns);

/* Writes a JSON string: control characters, quotes, and bytes that are no UTF-8 (as U+FFFD) are
 * escaped. NULL becomes null. */
void lt_tell_json(FILE *to, const char *text);

/* How many bytes of the pages from `low` on are in memory. */
size_t lt_resident(const char *low, size_t size);

#endif
