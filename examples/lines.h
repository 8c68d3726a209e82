/* lines.h: reads a connection line by line. For the examples that serve connections. */
#ifndef EXAMPLES_LINES_H
#define EXAMPLES_LINES_H

#include <leat/leat.h>

#include <errno.h>
#include <string.h>

/* A connection, and the bytes that were read and not yet used: those from `begin` to `end`. */
struct lines {
    leat_io *io;
    size_t begin, end;
    char bytes[1024];
};

/* Reads a line into `line`, which has room for `room` bytes, without its "\n" or "\r\n". Returns
 * its length; -EPIPE at the end of the stream; -EMSGSIZE when the line is too long, or has a byte
 * that is 0; or the error of leat_read_until. */
static inline int read_line(struct lines *in, char *line, size_t room, int64_t deadline)
{
    for (size_t n = 0;;) {
        if (in->begin == in->end) {
            int64_t more = leat_read_until(in->io, in->bytes, sizeof in->bytes, deadline);
            if (more <= 0)
                return more < 0 ? (int)more : -EPIPE;
            in->begin = 0;
            in->end = (size_t)more;
        }
        char byte = in->bytes[in->begin++];
        if (byte == '\n') {
            n -= n > 0 && line[n - 1] == '\r';
            line[n] = '\0';
            return (int)n;
        }
        if (byte == '\0' || n + 1 == room)
            return -EMSGSIZE;
        line[n++] = byte;
    }
}

/* Writes the text of the address at which `listener` listens; `text` has room for
 * LEAT_ADDRESS_TEXT bytes. Returns 0 or an error. */
static inline int address_of(leat_io *listener, char *text)
{
    leat_address address;
    int error = leat_io_local(listener, &address);
    int n = error ? error : leat_address_text(&address, text, LEAT_ADDRESS_TEXT);
    return n < 0 ? n : 0;
}

#endif
