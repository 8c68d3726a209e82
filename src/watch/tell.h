/* tell.h: prints what a look has found, as text. */
#ifndef LT_WATCH_TELL_H
#define LT_WATCH_TELL_H

#include "watch/look.h"
#include "watch/text.h"

/* Writes lines of text. */
void lt_tell(struct lt_text *text, const struct lt_look *look);

/* ---- for others that write what a look has found ---- */

/* "task", "thread", … */
const char *lt_tell_thing(enum lt_thing thing);

/* Writes a function's name, if the linker left one, else its place in its file, for addr2line. */
void lt_tell_code(struct lt_text *text, const void *code);

/* Writes a call of a stack: its place for addr2line and, if the linker left a name, that. */
void lt_tell_frame(struct lt_text *text, const void *code);

/* Writes "descriptor 7", by its record's number. */
void lt_tell_descriptor(struct lt_text *text, uint32_t number);

/* Writes seconds, with three decimals. */
void lt_tell_time(struct lt_text *text, int64_t ns);

#endif
