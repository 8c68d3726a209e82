#include "line.h"

#include "tls.h"

#include <leat/net.h>

int (*lk_dial)(leat_scope *, const char *, leat_io **, int64_t) = leat_connect;

int lk_line_open(struct lk_line *line, const leat_link *link, int64_t deadline)
{
    *line = (struct lk_line){ 0 };
    leat_io *io;
    int error = lk_dial(NULL, link->url.address, &io, deadline);
    if (error)
        return error;
    line->io = io;
    error = link->tls ? lk_session_open(&line->session, link, io, deadline) : 0;
    if (error)
        lk_line_close(line);
    return error;
}

int64_t lk_line_read(struct lk_line *line, void *to, size_t n, int64_t deadline)
{
    return line->session ? lk_session_read(line->session, to, n, deadline)
                         : leat_read_until(line->io, to, n, deadline);
}

int64_t lk_line_write(struct lk_line *line, const void *from, size_t n, int64_t deadline)
{
    return line->session ? lk_session_write(line->session, from, n, deadline)
                         : leat_write_until(line->io, from, n, deadline);
}

void lk_line_shut(const struct lk_line *line)
{
    if (line->io)
        leat_shutdown(line->io, SHUT_RDWR);
}

void lk_line_close(struct lk_line *line)
{
    lk_session_close(line->session);
    if (line->io) {
        leat_io_close(line->io);
        leat_io_unref(line->io);
    }
    *line = (struct lk_line){ 0 };
}
