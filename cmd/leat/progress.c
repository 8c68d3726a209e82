#include "progress.h"

#include <leat/leat.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MAX = 128 };

static const int64_t patience = 500 * LEAT_MS, interval = 100 * LEAT_MS;

void progress_open(struct progress *p, int fd, bool wanted)
{
    int64_t now = leat_now();
    *p = (struct progress){
        .fd = fd, .on = wanted && isatty(fd), .started = now, .due = now + patience
    };
}

int64_t progress_due(const struct progress *p)
{
    return p->on ? p->due : LEAT_NEVER;
}

/* Ignores errors: if the terminal is gone, the next result or message meets the error too. */
static void put(const struct progress *p, const char *line, int len)
{
    if (write(p->fd, line, (size_t)len) < 0)
        return;
}

static int columns(const struct progress *p)
{
    struct winsize size;
    if (ioctl(p->fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 79;
    /* The last column would move some terminals to the next line. */
    return size.ws_col > COLUMNS_MAX ? COLUMNS_MAX : size.ws_col - 1;
}

/* "1.23 GB": three significant digits. */
static void add_size(char *to, size_t room, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    unsigned unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(to, room, "%.*f %s", decimals, bytes, units[unit]);
}

/* Overwrites the line, with spaces where the new text is shorter. */
static void show(struct progress *p, const char *text, int len)
{
    char line[2 * COLUMNS_MAX + 4];
    int at = 0;
    line[at++] = '\r';
    memcpy(line + at, text, (size_t)len);
    at += len;
    for (int i = len; i < p->shown; i++)
        line[at++] = ' ';
    if (len == 0)
        line[at++] = '\r';
    put(p, line, at);
    p->shown = len;
}

/* ", 1:02:03 left", if the rate stays the same; nothing for 100 hours or more. */
static void add_left(char *to, size_t room, double seconds)
{
    if (seconds >= 100 * 60 * 60)
        return;
    unsigned s = (unsigned)seconds + 1;
    if (s >= 60 * 60)
        snprintf(to, room, ", %u:%02u:%02u left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(to, room, ", %u:%02u left", s / 60, s % 60);
}

void progress_draw(struct progress *p, uint64_t files, uint64_t bytes, const struct goal *goal)
{
    int64_t now = p->on ? leat_now() : 0;
    if (!p->on || now < p->due)
        return;
    p->due = now + interval;
    if (tcgetpgrp(p->fd) != getpgrp())
        return;
    char text[COLUMNS_MAX + 1], size[32], rate[32], left[32] = "";
    double done = (double)bytes, all = goal_bytes(goal), seconds = (double)(now - p->started) / 1e9;
    add_size(size, sizeof size, done);
    add_size(rate, sizeof rate, done / seconds);
    if (done > 0 && all >= done)
        add_left(left, sizeof left, (all - done) * seconds / done);
    int len = snprintf(text, sizeof text, "%llu files, %s, %s/s%s", (unsigned long long)files, size,
                       rate, left);
    int room = columns(p);
    show(p, text, len < room ? len : room);
}

void progress_erase(struct progress *p)
{
    if (p->shown > 0)
        show(p, "", 0);
}
