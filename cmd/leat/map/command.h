/* command.h: the command's arguments with their placeholders, filled in for each job.
 *
 * A placeholder is {} or a number in braces. Either may be shortened: {.} without extension, {/}
 * last part, {//} folder, {/.} last part without extension; so {2/.}, too. {#} is the job's number,
 * {%} its place. Other braces are left alone, as are a shell's ${1}. No shell sees the
 * placeholders. */
#pragma once

#include "map/plan.h"
#include "shared/text.h"

/* The values of a job: its items, columns, or one of each list. It is one allocation. */
struct row {
    char *whole; /* the value of {}; NULL: all values */
    size_t count;
    char *values[];
};

/* The numbers of the job, for {#} and {%}. Both begin with 1; 0: the placeholder is left alone. */
struct which {
    uint64_t number;
    unsigned place;
};

/* Checks the placeholders of the command, or of `output`. 0 or the exit status. */
int command_check(const struct plan *p);

/* Adds the command's arguments to *to, each followed by a NUL, and returns their number, including
 * the script's own ones. */
size_t command_fill(const struct plan *p, const struct row *row, struct which which,
                    struct text *to);

/* How often each item of a group is in the arguments, 1 at least. */
size_t command_copies(const struct plan *p);

/* Adds the name of the output file. */
void command_output(const struct plan *p, const struct row *row, struct which which,
                    struct text *to);

/* Adds `count` arguments, each followed by a NUL, so that a shell reads the same ones. The text is
 * one line in every locale. */
void command_quote(struct text *to, const char *arguments, size_t count);
