#pragma once

enum { WORKER_TROUBLE = 2 }; /* the exit status */

/* Runs `leat worker`. Returns the exit status. */
int worker_main(int argc, char **argv);

/* ---- worker.c ---- */

/* Reports a failure. Returns WORKER_TROUBLE. */
int worker_complain(const char *what, int error);

/* Serves the leat map that has standard input and output. Returns the exit status. */
int worker_on_stream(void);
