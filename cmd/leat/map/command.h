/* command.h: the command's arguments with their placeholders, and what becomes of them for a job.
 *
 * A placeholder is {} or a number in braces, either with a way to shorten it: {.} without
 * extension, {/} last part, {//} folder, {/.} last part without extension; so {2/.}, too. {#} is
 * the job's number, {%} its place. Other braces stand for themselves, as a
 * shell's ${1} does. Nothing here is ever seen by
 * a shell. */
#ifndef LEAT_MAP_COMMAND_H
#define LEAT_MAP_COMMAND_H

#include "map/plan.h"
#include "shared/text.h"

/* What a job gets: its items, columns, or one of each list. Memory: one allocation. */
struct row {
    char *whole; /* what {} stands for; NULL: all values */
    size_t count;
    char *values[];
};

/* Which job it is, for {#} and {%}. Both begin with 1; 0: the placeholder stays as it is. */
struct which {
    uint64_t number;
    unsigned place;
};

/* Checks the placeholders of the command, or of `output`. 0 or the exit status. */
int command_check(const struct plan *p);

/* Adds the command's arguments to *to, each with a NUL behind it, and returns their number; with
 * the script's own ones. */
size_t command_fill(const struct plan *p, const struct row *row, struct which which,
                    struct text *to);

/* Adds the name of the output's file. */
void command_output(const struct plan *p, const struct row *row, struct which which,
                    struct text *to);

/* Adds `count` arguments, each with a NUL behind it, so that a shell reads the same ones. The text
 * is one line, whatever the locale. */
void command_quote(struct text *to, const char *arguments, size_t count);

#endif
