/* tell.h: what was seen, in words and as a picture. */
#ifndef LT_WATCH_TELL_H
#define LT_WATCH_TELL_H

#include "watch/look.h"
#include "watch/text.h"

/* Lines for people. */
void lt_tell(struct lt_text *text, const struct lt_look *look);

/* A graph in Graphviz's language. */
void lt_draw(struct lt_text *text, const struct lt_look *look);

/* ---- what both have in common ---- */

/* "task", "thread", … */
const char *lt_tell_thing(enum lt_thing thing);

/* A function by its name, if the linker left one, else by its place in its file, for addr2line. */
void lt_tell_code(struct lt_text *text, const void *code);

/* Seconds, to the millisecond. */
void lt_tell_time(struct lt_text *text, int64_t ns);

#endif
