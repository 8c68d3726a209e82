/* print.h: prints a look: as text, as a graph, and in pieces for other writers. */
#pragma once

#include "watch/picture.h"

#include <stdio.h>

/* lt_print writes lines of text. lt_draw writes a graph in Graphviz's language, of a look without a
 * bound. */
void lt_print(FILE *to, const struct lt_look *look);
void lt_draw(FILE *to, const struct lt_look *look);

/* What a thing is called, and the letter in its id. */
extern const struct lt_word_of_thing {
    const char *word;
    char letter;
} lt_things[LT_THINGS];

/* lt_print_code writes a function's name, if the linker left one, else its place in its file, for
 * addr2line. lt_print_frame writes a call of a stack: its place, and its name if the linker left
 * one. `escaped`: see lt_print_name. */
void lt_print_code(FILE *to, const void *code, const char *escaped);
void lt_print_frame(FILE *to, const void *code, const char *escaped);

/* Writes a name that the program chose, with a backslash before each character of `escaped`, and
 * a `?` for what would break the line or command a terminal: control characters, and bytes that are
 * no UTF-8. */
void lt_print_name(FILE *to, const char *name, const char *escaped);

/* Writes "descriptor 7", by its record's number. */
void lt_print_descriptor(FILE *to, uint32_t number);

/* Writes seconds, with three decimals. */
void lt_print_time(FILE *to, int64_t ns);

/* Writes a JSON string: control characters, quotes, and bytes that are no UTF-8 (as U+FFFD) are
 * escaped. NULL becomes null. */
void lt_print_json(FILE *to, const char *text);

/* The number of bytes of the pages from `low` on that are in memory. */
size_t lt_resident(const char *low, size_t size);
