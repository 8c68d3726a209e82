/* net.h: addresses and sockets from the inside. */
#pragma once

#include <leat/net.h>

#include <stdbool.h>

enum { LT_NET_ADDRESSES = 32, LT_NET_HOST = 256 };

/* The parts of an address's text. */
struct lt_endpoint {
    int type;               /* SOCK_STREAM or SOCK_DGRAM */
    bool is_local;          /* "unix:": `address` is set, the rest is not */
    char host[LT_NET_HOST]; /* may be empty */
    char service[LT_NET_HOST];
    leat_address address;
};

/* 0, -EINVAL or -ENAMETOOLONG. */
int lt_net_parse(const char *text, struct lt_endpoint *end);

/* Whether host and service are numbers: 1 and the address; 0; -EINVAL for an impossible port; or
 * the error of a socket, which is needed for the name of an interface. */
int lt_net_number(const char *host, const char *service, leat_address *address);

/* Makes a socket with O_NONBLOCK, which is closed by execve. The descriptor, or a negative errno
 * value. */
int lt_net_socket(int family, int type);

/* Makes a socket that is bound and, unless it is for datagrams, listens. `both`: at an address of
 * IPv6 it serves IPv4, too. `backlog`: 0 is the system's default. `mode`: for the file of a local
 * socket; 0 is the system's default. The descriptor, or a negative errno value. */
int lt_net_listen(const struct lt_endpoint *end, bool both, int backlog, mode_t mode);

/* Makes the socket send small writes at once, if its protocol has such an option. */
void lt_net_undelay(int fd);

/* Asks the system for up to LT_NET_ADDRESSES addresses. Returns their number, or a negative errno
 * value. Tests replace it. */
typedef int lt_net_asks(const char *host, const char *service, leat_address *addresses);
extern lt_net_asks *_Atomic lt_net_ask;
