/* server.h: what the servers in C share. PORT in the environment is where to listen on 127.0.0.1.
 * With SINK=1 they read 64 KiB at a time and write nothing back; else they echo 1 KiB at a time. */
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { ECHO_BYTES = 1024, SINK_BYTES = 64 * 1024 };

/* For the beginning: it looks into the environment. */
static inline bool is_sink(void)
{
    const char *text = getenv("SINK");
    return text && *text == '1';
}

static inline int open_listener(void)
{
    const char *port = getenv("PORT");
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)(port ? atoi(port) : 7000)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
        perror("listen");
        exit(1);
    }
    return fd;
}
