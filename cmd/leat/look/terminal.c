#define _GNU_SOURCE
#include "look/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int open_path(const char *path)
{
    return path ? open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
}

bool terminal_is_ours(const struct terminal *t)
{
    pid_t foreground = tcgetpgrp(t->fd);
    return foreground < 0 || foreground == getpgrp();
}

bool terminal_open(struct terminal *t)
{
    const char *kind = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !kind || !*kind || strcmp(kind, "dumb") == 0)
        return false;
    *t = (struct terminal){ .fd = open_path(ttyname(STDOUT_FILENO)) };
    if (t->fd < 0)
        t->fd = open_path("/dev/tty"); /* in a container, the other name may be from outside */
    if (t->fd >= 0 && !terminal_is_ours(t))
        raise(SIGTTOU);
    return t->fd >= 0 && tcgetattr(t->fd, &t->former) == 0;
}

void terminal_close(struct terminal *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/* At an end all output must be written before the program goes on: this waits for the terminal. */
static void put(const struct terminal *t, const char *bytes)
{
    size_t len = strlen(bytes);
    while (len) {
        ssize_t n = write(t->fd, bytes, len);
        struct pollfd ready = { .fd = t->fd, .events = POLLOUT };
        if (n < 0 && errno != EINTR && (errno != EAGAIN || poll(&ready, 1, 1000) <= 0))
            return;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

void terminal_enter(struct terminal *t)
{
    if (t->entered || tcgetattr(t->fd, &t->former) != 0)
        return;
    struct termios raw = t->former;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(t->fd, TCSADRAIN, &raw);
    t->entered = true;
    put(t, "\033[?1049h\033[?25l\033[2J");
}

void terminal_leave(struct terminal *t)
{
    if (!t->entered)
        return;
    t->entered = false;
    put(t, "\033[m\033[?25h\033[?1049l");
    tcsetattr(t->fd, TCSADRAIN, &t->former);
}

void terminal_size(const struct terminal *t, size_t *columns, size_t *rows)
{
    struct winsize size = { 0 };
    bool known = ioctl(t->fd, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}
