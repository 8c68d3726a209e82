/* http_files: a server for the files of a folder, in HTTP/1.1 with GET and HEAD: http_server.h.
 *
 *     http_files ADDRESS FOLDER    serves until Ctrl-C
 *     http_files                   serves a folder of its own to itself */
#include "http_server.h"

#include <stdlib.h>

/* ---- the client of the test ---- */

enum { LARGE = 1000000 };

static const char *const requests[] = {
    "GET /hello.txt HTTP/1.1",
    "HEAD /hello.txt HTTP/1.1",
    "GET /two%20words?x=1 HTTP/1.1",
    "GET /large HTTP/1.1",
    "GET /empty HTTP/1.1",
    "GET /none HTTP/1.1",
    "GET / HTTP/1.1",
    "GET /../etc/passwd HTTP/1.1",
    "GET /%2e%2e/etc HTTP/1.1",
    "GET /a..b HTTP/1.1",
    "DELETE /hello.txt HTTP/1.1",
    "GET /%zz HTTP/1.1",
    "nonsense",
    "GET /hello.txt HTTP/1.0",
};

/* Reads a body and prints it, or only its size when it is large. */
static int read_body(struct input *in, size_t size)
{
    char *body = malloc(size + 1);
    size_t had = in->end - in->begin < size ? in->end - in->begin : size;
    if (!body)
        return -ENOMEM;
    memcpy(body, in->bytes + in->begin, had);
    in->begin += had;
    int64_t more = had < size ? leat_read_full(in->io, body + had, size - had, LEAT_NEVER) : 0;
    body[size] = '\0';
    int whole = more >= 0 && had + (size_t)more == size;
    if (whole && size < 100)
        printf("    %s", body);
    else if (whole)
        printf("    %zu bytes, all x: %s\n", size, strspn(body, "x") == size ? "yes" : "no");
    free(body);
    return whole ? 0 : -EPIPE;
}

/* Sends a request and prints the answer. Returns 1 when the connection stays open, 0 when it has
 * ended, or an error. */
static int ask(struct input *in, const char *request)
{
    char line[256];
    size_t size = 0;
    int stays = 1, n = snprintf(line, sizeof line, "%s\r\nHost: test\r\n\r\n", request);
    printf("%s\n", request);
    leat_write(in->io, line, (size_t)n);
    while ((n = read_line(in, line, sizeof line)) > 0) {
        printf("    %s\n", line);
        sscanf(line, "Content-Length: %zu", &size);
        stays = stays && strcmp(line, "Connection: close") != 0;
    }
    if (n == 0 && size > 0 && strncmp(request, "HEAD", 4) != 0)
        n = read_body(in, size);
    if (n == 0 && !stays && read_line(in, line, sizeof line) != -EPIPE)
        n = -EPROTO;
    return n < 0 ? n : stays;
}

static int ask_all(void *arg)
{
    char address[LEAT_ADDRESS_TEXT];
    int stays = leat_io_local_text(arg, address, sizeof address);
    struct input in;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (size_t i = 0; i < sizeof requests / sizeof *requests && stays >= 0; i++) {
        if (i == 0 || !stays) {
            in = (struct input){ 0 };
            stays = leat_connect(s, address, &in.io, LEAT_NEVER);
        }
        if (stays >= 0)
            stays = ask(&in, requests[i]);
    }
    leat_scope_close(s);
    kill(getpid(), SIGINT);
    return stays < 0 ? stays : 0;
}

static int serve_itself(void)
{
    static const char *const names[] = { "hello.txt", "two words", "large", "empty", "a..b" };
    char folder[] = "/tmp/http_files.XXXXXX", path[64];
    if (!mkdtemp(folder))
        return -errno;
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "w");
        for (int n = 0; file && i == 2 && n < LARGE; n++)
            putc('x', file);
        if (file && i < 2)
            fprintf(file, "This is %s.\n", names[i]);
        if (file)
            fclose(file);
    }
    int error = http_serve("127.0.0.1:0", folder, ask_all);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    return error;
}

static int run(void *arg)
{
    char **argv = arg;
    return argv[1] ? http_serve(argv[1], argv[2], NULL) : serve_itself();
}

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: http_files [ADDRESS FOLDER]\n");
        return 2;
    }
    int error = leat_main(run, argv);
    if (error < 0)
        fprintf(stderr, "http_files: %s\n", strerror(-error));
    return error < 0;
}
