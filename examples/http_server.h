/* http_server.h: a server for the files of a folder, in HTTP/1.1 with GET and HEAD.
 *
 * Each connection is a task. Each request has a scope with a deadline: it ends every wait, also
 * that for the next request, and closing it closes the file. The kernel copies the bytes of a file
 * to the socket (leat_copy). A connection stays open for further requests until an error, or until
 * the client asks otherwise. */
#ifndef EXAMPLES_HTTP_SERVER_H
#define EXAMPLES_HTTP_SERVER_H

#include <leat/leat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST_S = 60, PATH_ROOM = 1000, HEADERS = 100 };

struct site {
    int folder;
    leat_io *listener;
    leat_chan *stop;
};

/* A connection, and the bytes that were read and not yet used: those from `begin` to `end`. A
 * channel of lines (leat_lines) would need a second task, and read on into a body. */
struct input {
    leat_io *io;
    size_t begin, end;
    char bytes[1024];
};

struct request {
    char method[16], path[PATH_ROOM];
    int stays;  /* the connection stays open for the next request */
    int status; /* of HTTP; 0: not known yet */
    leat_io *file;
    int64_t size;
};

/* ---- reading a request ---- */

/* Reads a line into `line`, which has room for `room` bytes, without its "\n" or "\r\n". Returns
 * its length; -EPIPE at the end of the stream; -EMSGSIZE when the line is too long, or has a byte
 * that is 0; or the error of leat_read. */
static int read_line(struct input *in, char *line, size_t room)
{
    for (size_t n = 0;;) {
        if (in->begin == in->end) {
            int64_t more = leat_read(in->io, in->bytes, sizeof in->bytes);
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

/* Decodes "%20" and the like in place and cuts off what follows a "?". Returns 400 for a bad code,
 * 403 for a path that leads out of the folder, else 0. */
static int decode(char *path)
{
    char *to = path;
    for (const char *from = path; *from && *from != '?'; from++) {
        unsigned byte = (unsigned char)*from;
        if (byte == '%') {
            int length = 0;
            if (sscanf(from + 1, "%2x%n", &byte, &length) != 1 || length != 2 || byte == 0)
                return 400;
            from += 2;
        }
        *to++ = (char)byte;
    }
    *to = '\0';
    if (*path != '/')
        return 400;
    for (const char *part = path; part; part = strchr(part + 1, '/'))
        if (strncmp(part, "/..", 3) == 0 && (part[3] == '/' || part[3] == '\0'))
            return 403;
    return 0;
}

/* Reads a request up to its empty line, and finds faults. Returns 0, or an error of the
 * connection. */
static int read_request(struct input *in, struct request *request)
{
    char line[PATH_ROOM + 64], *value;
    int minor, length = 0, n = read_line(in, line, sizeof line);
    if (n < 0 && n != -EMSGSIZE)
        return n;
    if (n < 0 ||
        sscanf(line, "%15s %999s HTTP/1.%1d%n", request->method, request->path, &minor, &length) !=
            3 ||
        minor > 1 || length != n) {
        request->status = 400;
        return 0;
    }
    request->stays = minor >= 1;
    for (int i = 0; (n = read_line(in, line, sizeof line)) > 0; i++) {
        if (i == HEADERS || !(value = strchr(line, ':'))) {
            n = -EMSGSIZE;
            break;
        }
        *value++ = '\0';
        value += strspn(value, " \t");
        if (strcasecmp(line, "Connection") == 0)
            request->stays =
                minor ? strcasecmp(value, "close") != 0 : strcasecmp(value, "keep-alive") == 0;
        else if (strcasecmp(line, "Transfer-Encoding") == 0 ||
                 (strcasecmp(line, "Content-Length") == 0 && strcmp(value, "0") != 0))
            request->status = 400; /* a body: GET and HEAD have none */
    }
    if (n < 0 && n != -EMSGSIZE)
        return n;
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        request->status = 405;
    if (n < 0)
        request->status = 400;
    if (!request->status)
        request->status = decode(request->path);
    return 0;
}

/* ---- answering it ---- */

/* Opens the file. It is local: this takes no longer than a few lines of the program would. */
static int open_file(leat_scope *scope, int folder, struct request *request)
{
    const char *name = request->path + strspn(request->path, "/");
    int fd = openat(folder, *name ? name : ".", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat about;
    if (fd < 0)
        return errno == EACCES ? 403 : errno == ENOENT || errno == ENOTDIR ? 404 : 500;
    int status = fstat(fd, &about) != 0 ? 500 : S_ISREG(about.st_mode) ? 200 : 403;
    request->size = (int64_t)about.st_size;
    if (status == 200 && leat_io_adopt(scope, fd, &request->file) == 0)
        return 200;
    close(fd);
    return status == 200 ? 500 : status;
}

static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Internal Server Error";
    }
}

/* Returns 0 when the client has got the whole answer. */
static int answer(leat_io *client, const struct request *request)
{
    char head[256], body[64];
    snprintf(body, sizeof body, "%d %s\n", request->status, reason(request->status));
    int64_t size = request->file ? request->size : (int64_t)strlen(body);
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\n%sContent-Length: %lld\r\nConnection: %s\r\n\r\n",
                     request->status, reason(request->status),
                     request->status == 405 ? "Allow: GET, HEAD\r\n" : "", (long long)size,
                     request->stays ? "keep-alive" : "close");
    if (leat_write(client, head, (size_t)n) != n)
        return -EPIPE;
    if (size == 0 || strcmp(request->method, "HEAD") == 0)
        return 0;
    int64_t done = request->file ? leat_copy(client, request->file, size, LEAT_NEVER)
                                 : leat_write(client, body, (size_t)size);
    return done == size ? 0 : -EPIPE;
}

static int attend(leat_io *client, void *arg)
{
    struct site *site = arg;
    struct input in = { .io = client };
    int stays;
    do {
        struct request request = { 0 };
        leat_scope *s = leat_scope_open(leat_after(REQUEST_S * LEAT_S));
        int error = s ? read_request(&in, &request) : -ENOMEM;
        if (!error) {
            if (request.status)
                request.stays = 0;
            else
                request.status = open_file(s, site->folder, &request);
            error = answer(client, &request);
        }
        stays = request.stays && !error;
        if (!stays && !error) { /* read what is left: else the system may take back the answer */
            char rest[1024];
            leat_shutdown(client, SHUT_WR);
            for (int i = 0; i < 64; i++)
                if (leat_read_until(client, rest, sizeof rest, leat_after(LEAT_S)) <= 0)
                    break;
        }
        leat_scope_close(s);
    } while (stays);
    return 0;
}

/* ---- the server ---- */

static int end_at_signal(void *arg)
{
    struct site *site = arg;
    if (leat_recv(site->stop, NULL) == 0)
        leat_io_close(site->listener);
    return 0;
}

/* Serves the folder at the address until SIGINT or SIGTERM. A task runs with(listener), if it is
 * not NULL; else the URL is printed. */
static int http_serve(const char *address, const char *folder, leat_fn *with)
{
    struct site site = { .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (site.folder < 0)
        return -errno;
    char text[LEAT_ADDRESS_TEXT];
    leat_serve_options options = { .most = 1000, .grace = 2 * LEAT_S };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = leat_signals(s, (int[]){ SIGINT, SIGTERM }, 2, &site.stop);
    if (!error)
        error = leat_listen(s, address, 0, &site.listener);
    if (!error)
        error = leat_go(s, end_at_signal, &site);
    if (!error && with)
        error = leat_go(s, with, site.listener);
    if (!error && !with && leat_io_local_text(site.listener, text, sizeof text) > 0) {
        printf("http://%s/\n", text);
        fflush(stdout);
    }
    if (!error)
        error = leat_serve(site.listener, attend, &site, &options);
    if (error)
        leat_scope_cancel(s);
    int why = leat_scope_close(s);
    close(site.folder);
    return error ? error : why;
}

#endif
