/* stop.h: the signals that end a command.
 *
 * A signal that is ignored at the start stays ignored: with nohup, or in a shell's background. The
 * command decides what a second signal does; in the end it dies of the first one (finish.h). */
#pragma once

#include <leat/leat.h>

#include <stdbool.h>

/* As leat_signals, but without those that are ignored, or that LEAT_DUMP names. If none is left,
 * *come is NULL. */
int stop_signals(leat_scope *scope, const int *signals, size_t n, leat_chan **come);

typedef void stop_fn(void *arg, int signal);

struct stop {
    leat_chan *come; /* or NULL */
    stop_fn *act;
    void *arg;
};

/* Until stop_close, a task of the scope calls `act` for each SIGINT, SIGTERM, SIGHUP and SIGQUIT;
 * with `pauses`, for SIGTSTP and SIGCONT, too. `act` may cancel the scope: the task goes on. 0 or a
 * negative errno value. */
int stop_open(struct stop *s, leat_scope *scope, bool pauses, stop_fn *act, void *arg);

/* The last call of `act` may end later, but before the scope is closed. */
void stop_close(struct stop *s);
