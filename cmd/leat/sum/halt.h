/* halt.h: ends waits of `leat sum` for terminals and pipes, early or at the end.
 *
 * A thread that would block on one waits for that and for the halt together. It polls: by the
 * reactor, a worker would wake for each read, too, and a fast digest of a pipe took twice as
 * long. */
#pragma once

/* 0 or a negative errno value. */
int halt_open(void);

/* From here on halt_wait only waits for its `fd`. No other thread is in it. */
void halt_close(void);

/* Any thread may call it, any number of times. */
void halt_now(void);

/* Waits until `fd` has one of poll's `events`, or an error. 0, or -ECANCELED once halted. */
int halt_wait(int fd, short events);
