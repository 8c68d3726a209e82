/* usage.h: messages about wrong arguments. Each returns the exit status. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Prints how to get help. */
int usage_help(const char *program, int status);

/* Prints the program's name, the message, and how to get help. */
__attribute__((format(printf, 3, 4))) int usage_refuse(const char *program, int status,
                                                       const char *format, ...);

/* Reports that the option, such as "--jobs", does not take the argument. The format names what it
 * takes. */
__attribute__((format(printf, 5, 6))) int usage_argument(const char *program, int status,
                                                         const char *option, const char *argument,
                                                         const char *format, ...);

/* The same for an option that takes one of `count` names. */
int usage_name(const char *program, int status, const char *option, const char *argument,
               const char *(*name)(const void *from, size_t i), const void *from, size_t count);

/* Read an argument: a number, or a time in nanoseconds. Return 0, or the exit status after a
 * message. */
int usage_number(const char *program, int status, const char *option, const char *argument,
                 unsigned least, unsigned most, unsigned *to);
int usage_duration(const char *program, int status, const char *option, const char *argument,
                   int64_t least, int64_t *to);
