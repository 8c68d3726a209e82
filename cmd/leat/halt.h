/* halt.h: the one way in which `leat sum` is told to stop early, or that all is done.
 *
 * Ctrl-C, --fail-fast, a failed write and the end of the work all come down to one byte in a pipe
 * that nobody empties, so every thread that would block on a terminal or a pipe can wait for that and
 * for the halt together. A task turns the halt into a cancelled scope, which ends all other waits.
 *
 * The first SIGINT, SIGTERM or SIGHUP halts; any further one ends the program on the spot, for people
 * who cannot wait. From halt_open to halt_close a thread waits for these signals and all others
 * block them. A signal that was ignored at the start stays ignored. */
#ifndef LEAT_CMD_HALT_H
#define LEAT_CMD_HALT_H

enum { HALT_DESCRIPTORS = 2 }; /* that it has open */

/* Takes the signals; called before other threads are started. 0, or a negative errno value. */
int halt_open(void);
void halt_close(void);

/* Any thread may call it, any number of times. */
void halt_now(void);

/* The signal that halted; 0 when none did. */
int halt_signal(void);

/* Waits until `fd` has one of poll's `events`, or is of no use; fd -1: for the halt alone.
 * Returns 0, or -ECANCELED once halted. */
int halt_wait(int fd, short events);

#endif
