/* usage.h: messages about arguments that make no sense. */
#ifndef LEAT_CMD_USAGE_H
#define LEAT_CMD_USAGE_H

/* Prints where help is. Returns `status`. */
int usage_help(const char *program, int status);

/* Prints the program's name, the message, and where help is. Returns `status`. */
__attribute__((format(printf, 3, 4))) int usage_refuse(const char *program, int status,
                                                       const char *format, ...);

#endif
