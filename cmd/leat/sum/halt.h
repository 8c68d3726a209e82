/* halt.h: the one way to stop `leat sum`, early or when all is done.
 *
 * Ctrl-C, --fail-fast, a failed write and the end of the work all put a byte into a pipe that
 * nobody empties. So a thread that would block on a terminal or a pipe waits for that and for the
 * halt together. A task turns the halt into a cancelled scope, which ends all other waits.
 *
 * The first SIGINT, SIGTERM or SIGHUP halts; the next one ends the program at once. From halt_open
 * to halt_close one thread waits for these signals and all others block them. A signal that was
 * ignored at the start stays ignored. */
#ifndef LEAT_CMD_HALT_H
#define LEAT_CMD_HALT_H

enum { HALT_DESCRIPTORS = 2 }; /* that it keeps open */

/* Takes over the signals; called before other threads start. 0 or a negative errno value. */
int halt_open(void);
void halt_close(void);

/* Any thread may call it, any number of times. */
void halt_now(void);

/* The signal that halted; 0 when none did. */
int halt_signal(void);

/* Waits until `fd` has one of poll's `events`, or an error; with fd -1, for the halt alone.
 * 0, or -ECANCELED once halted. */
int halt_wait(int fd, short events);

#endif
