#include "shared/progress.h"

#include <leat/leat.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const int64_t patience = 500 * LEAT_MS, interval = 100 * LEAT_MS;

void progress_open(struct progress *p, bool wanted)
{
    int64_t now = leat_now();
    *p = (struct progress){ .on = wanted && isatty(STDERR_FILENO),
                            .started = now,
                            .due = now + patience };
}

int64_t progress_due(const struct progress *p)
{
    return p->on ? p->due : LEAT_NEVER;
}

size_t progress_line(struct progress *p, const char *text, char line[PROGRESS_LINE])
{
    size_t at = (size_t)snprintf(line, PROGRESS_LINE, "\r%.*s", (int)progress_room(), text);
    size_t len = at - 1;
    while (at <= p->shown)
        line[at++] = ' ';
    if (len == 0)
        line[at++] = '\r';
    p->shown = len;
    return at;
}

void progress_add_left(char *to, size_t room, double seconds)
{
    *to = '\0';
    if (seconds >= 100 * 60 * 60)
        return;
    unsigned s = (unsigned)seconds + 1;
    if (s >= 60 * 60)
        snprintf(to, room, ", %u:%02u:%02u left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(to, room, ", %u:%02u left", s / 60, s % 60);
}

bool progress_is_due(struct progress *p)
{
    int64_t now = p->on ? leat_now() : 0;
    if (!p->on || now < p->due)
        return false;
    p->due = now + interval;
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

double progress_seconds(const struct progress *p)
{
    return (double)(leat_now() - p->started) / 1e9;
}

size_t progress_room(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 79;
    /* The last column would move some terminals to the next line. */
    return size.ws_col > PROGRESS_MOST ? PROGRESS_MOST : size.ws_col - 1u;
}

/* Ignores errors: if the terminal is gone, the next result or message fails, too. */
void progress_show(struct progress *p, const char *text)
{
    char line[PROGRESS_LINE];
    size_t len = progress_line(p, text, line);
    if (write(STDERR_FILENO, line, len) < 0)
        return;
}

void progress_erase(struct progress *p)
{
    if (p->shown > 0)
        progress_show(p, "");
}
