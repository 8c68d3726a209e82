/* look_client.h: a client of the page that a program serves at a socket in a folder of its own. */
#pragma once

#include "support.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER = 1 << 20 };

static char folder[64], path[128], address[160], answer[ANSWER];
static bool was_reset; /* the connection, after the answer */

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/leat-look-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(address, sizeof address, "unix:%s", path);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static inline int client(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(un.sun_path, path, strlen(path) + 1);
    CHECK(fd >= 0);
    CHECK_IS(0, connect(fd, (struct sockaddr *)&un, sizeof un));
    return fd;
}

static inline void say(int fd, const char *text)
{
    CHECK_IS((ssize_t)strlen(text), send(fd, text, strlen(text), MSG_NOSIGNAL));
}

/* Reads to the end of the connection; the answer's status. */
static inline int hear(int fd)
{
    size_t n = 0;
    ssize_t got;
    int status = 0;
    while ((got = read(fd, answer + n, sizeof answer - 1 - n)) > 0)
        n += (size_t)got;
    was_reset = got < 0;
    answer[n] = 0;
    close(fd);
    CHECK(n < sizeof answer - 1);
    if (n)
        CHECK_IS(1, sscanf(answer, "HTTP/1.1 %d ", &status));
    return status;
}

/* Asks with these lines after the first one. */
static inline int ask_with(const char *target, const char *headers)
{
    char request[512];
    int fd = client();
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%s\r\n", target, headers);
    say(fd, request);
    return hear(fd);
}

static inline int ask(const char *target)
{
    return ask_with(target, "Host: localhost\r\n");
}

static inline bool answer_has(const char *text)
{
    return strstr(answer, text) != NULL;
}
