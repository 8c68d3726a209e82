/* environment.h: leat's environment variables.
 *
 * A user that sets a variable may only know the program from outside, and does not see leat's
 * results. So leat also reports on standard error the values that it does not understand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The variable's value; NULL when it has none, or an empty one. */
const char *lt_env(const char *variable);

/* Numbers begin with a digit: strtol and its like would also take blanks and a sign before it. */
static inline bool lt_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Prints that the variable's value must be `wanted`. Returns -EINVAL. */
int lt_env_refuse(const char *variable, const char *wanted);

/* The variable's value, a decimal number from 1 to `most`. 0 if it has no value, or an empty one;
 * -EINVAL, after a message, for any other. */
int64_t lt_env_number(const char *variable, long most);

/* A word and its value. A list of words ends with a NULL. */
struct lt_word {
    const char *text;
    int value;
};

/* The value of the variable's word. 0: it has none; -EINVAL, after a message, if the list does not
 * have the word. */
int lt_env_word(const char *variable, const struct lt_word *words);

/* The first call names on standard error each variable that begins with LEAT_ and is unknown to
 * leat. */
void lt_env_report_unknown(void);
