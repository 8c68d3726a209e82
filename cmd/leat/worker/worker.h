#ifndef LEAT_WORKER_WORKER_H
#define LEAT_WORKER_WORKER_H

/* Runs `leat worker`. Returns the exit status. */
int worker_main(int argc, char **argv);

#endif
