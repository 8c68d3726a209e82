/* line.h: a connection to the engine, with TLS if the address says so. One task uses a line;
 * another may only shut it, and not while it is opened or closed. */
#pragma once

#include "link.h"

#include <leat/io.h>

struct lk_session;

struct lk_line {
    leat_io *io;                /* NULL: closed */
    struct lk_session *session; /* NULL: without TLS */
};

/* Is leat_connect; a test in the seeded world replaces it, before the world begins. */
extern int (*lk_dial)(leat_scope *scope, const char *address, leat_io **connection,
                      int64_t deadline);

/* Connects to the link's engine. 0; -EACCES or -EPROTO as lk_session_open (tls.h); or an error of
 * leat_connect. After an error the line is closed. */
int lk_line_open(struct lk_line *line, const leat_link *link, int64_t deadline);

/* Reads 1 to `n` bytes. Returns how many; 0 at the end; or an error. */
int64_t lk_line_read(struct lk_line *line, void *to, size_t n, int64_t deadline);

/* Writes 1 to `n` bytes. Returns how many, or an error, after which the line is of no use. */
int64_t lk_line_write(struct lk_line *line, const void *from, size_t n, int64_t deadline);

/* Ends the other task's reads and writes. The line may be closed. */
void lk_line_shut(const struct lk_line *line);

/* The line may be closed already. */
void lk_line_close(struct lk_line *line);
