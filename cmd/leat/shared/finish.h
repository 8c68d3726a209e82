/* finish.h: how a command ends. */
#pragma once

/* Asks the system whether it could store what was written to standard output: a network file system
 * may say only at a close that there was no room. 0 or a negative errno value. */
int finish_output(void);

/* Flushes stdio's standard output. Returns `status`, or `failure` with a message if the output was
 * not written. */
int finish_stdio(const char *program, int status, int failure);

/* finish_text prints a text, such as a help; finish_version prints the program's name and leat's
 * version. Both return 0, or `failure`, as finish_stdio. */
int finish_text(const char *program, const char *text, int failure);
int finish_version(const char *program, int failure);

/* Ends the program by the signal, so that a shell sees that, and its loops stop, too. */
int finish_by_signal(int number);
