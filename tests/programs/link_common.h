/* link_common.h: what link_near and link_far share: options as NAME=VALUE, a link, and SIGTERM. */
#pragma once

#include <leat/leat.h>
#include <leat/link.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program {
    char **options;
    leat_scope *around, *scope; /* SIGTERM cancels `scope` */
    leat_chan *signals;
    leat_link *link;
};

static inline const char *text_option(const struct program *p, const char *name, const char *unless)
{
    size_t n = strlen(name);
    for (char **at = p->options; *at; at++)
        if (strncmp(*at, name, n) == 0 && (*at)[n] == '=')
            return *at + n + 1;
    return unless;
}

static inline int64_t option(const struct program *p, const char *name, int64_t unless)
{
    const char *text = text_option(p, name, NULL);
    return text ? strtoll(text, NULL, 10) : unless;
}

/* In milliseconds, or "never". */
static inline int64_t time_option(const struct program *p, const char *name)
{
    const char *text = text_option(p, name, "0");
    return strcmp(text, "never") == 0 ? LEAT_NEVER : strtoll(text, NULL, 10) * LEAT_MS;
}

static inline int open_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        perror(path);
        exit(99);
    }
    return fd;
}

/* One write(2), so lines of several processes do not mix. */
static inline void write_line(int fd, const char *line, int n)
{
    if (write(fd, line, (size_t)n) != n)
        exit(99);
}

static inline void print_message(void *unused, const char *message)
{
    (void)unused;
    fprintf(stderr, "message: %s\n", message);
}

static inline int heed_signals(void *program)
{
    const struct program *p = (const struct program *)program;
    leat_signal got;
    int error = leat_recv(p->signals, &got);
    if (!error)
        leat_scope_cancel(p->scope);
    return error;
}

/* Opens both scopes, and the link; with insist=1 until that succeeds. Returns what leat_link_open
 * returned. */
static inline int begin(struct program *p, const char *url)
{
    const int signals[] = { SIGTERM };
    p->around = leat_scope_open(LEAT_NEVER);
    p->scope = leat_scope_open(LEAT_NEVER);
    leat_signals(p->around, signals, 1, &p->signals);
    leat_go(p->around, heed_signals, p);
    const leat_link_spec spec = { .lease = time_option(p, "lease"),
                                  .away = time_option(p, "away"),
                                  .prefix = text_option(p, "prefix", NULL),
                                  .trust = (int)option(p, "trust", 0),
                                  .ca = text_option(p, "ca", NULL),
                                  .cert = text_option(p, "cert", NULL),
                                  .key = text_option(p, "key", NULL),
                                  .tell = print_message };
    int error = leat_link_open(p->scope, url, &spec, &p->link);
    while (error && option(p, "insist", 0) && leat_sleep(10 * LEAT_MS) == 0)
        error = leat_link_open(p->scope, url, &spec, &p->link);
    return error;
}

/* Returns the verdict of the scope. */
static inline int end(const struct program *p)
{
    int verdict = leat_scope_close(p->scope);
    leat_scope_cancel(p->around);
    leat_scope_close(p->around);
    return verdict;
}
