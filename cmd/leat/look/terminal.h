/* terminal.h: the terminal while a screen is on it.
 *
 * Between terminal_enter and terminal_leave the terminal shows its alternate screen, and gives each
 * key at once. Signals of keys (Ctrl-C, Ctrl-Z) come as usual. */
#pragma once

#include "shared/text.h"

#include <leat/io.h>
#include <termios.h>

struct terminal {
    int fd; /* this process's own open file, so that O_NONBLOCK disturbs no other process */
    bool entered;
    struct termios former;
};

/* Opens the terminal of standard output. False if there is none, or it cannot draw. Stops the
 * process, as the system would, if it is in the background. */
bool terminal_open(struct terminal *t);
void terminal_close(struct terminal *t);

void terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t);

/* Whether this process may use the terminal now. */
bool terminal_is_ours(const struct terminal *t);
void terminal_size(const struct terminal *t, size_t *columns, size_t *rows);
