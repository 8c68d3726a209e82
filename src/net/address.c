/* address.c: addresses and their texts. */
#define _GNU_SOURCE
#include "net/net.h"

#include "base/cancel.h"
#include "io/io.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path) };

/* ---- from text ---- */

/* "unix:@" alone has the length for which the system chooses a name. */
static int parse_local(const char *path, leat_address *address)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&address->at;
    size_t length = strlen(path);
    if (!length)
        return -EINVAL;
    if (length >= sizeof un->sun_path)
        return -ENAMETOOLONG;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, length);
    address->size = (socklen_t)(PATH_AT + length + 1);
    if (*path == '@') {
        un->sun_path[0] = 0;
        address->size = (socklen_t)(length == 1 ? PATH_AT : PATH_AT + length);
    }
    return 0;
}

static int copy_part(char *to, const char *from, size_t length)
{
    if (length >= LT_NET_HOST)
        return -ENAMETOOLONG;
    memcpy(to, from, length);
    to[length] = 0;
    return 0;
}

static int parse_host(const char *text, struct lt_endpoint *end)
{
    const char *colon = strrchr(text, ':'), *host = text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!colon || !colon[1])
        return -EINVAL;
    if (*text == '[') {
        if (length < 3 || colon[-1] != ']')
            return -EINVAL;
        host++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return -EINVAL;
    }
    int error = copy_part(end->host, host, length);
    if (!error)
        error = copy_part(end->service, colon + 1, strlen(colon + 1));
    return error;
}

int lt_net_parse(const char *text, struct lt_endpoint *end)
{
    *end = (struct lt_endpoint){ .type = SOCK_STREAM };
    if (!text)
        return -EINVAL;
    end->is_local = strncmp(text, "unix:", 5) == 0;
    if (end->is_local)
        return parse_local(text + 5, &end->address);
    if (strncmp(text, "udp:", 4) == 0) {
        end->type = SOCK_DGRAM;
        text += 4;
    }
    return parse_host(text, end);
}

/* -1 if the text is not a number; -EINVAL if the number is too large. */
static int64_t number_of(const char *text, int64_t most)
{
    int64_t number = 0;
    if (!*text)
        return -1;
    for (const char *digit = text; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return -1;
        if (number <= most)
            number = 10 * number + *digit - '0';
    }
    return number <= most ? number : -EINVAL;
}

/* As number_of; -EINVAL also if the text begins with a blank or a sign: the system would take that
 * for a number, too, and no service has such a name. */
static int port_of(const char *service)
{
    bool odd = *service && strchr(" \t\n\v\f\r+-", *service);
    return odd ? -EINVAL : (int)number_of(service, 65535);
}

/* Reads what follows the % in an IPv6 address: 1; 0 if there is no such interface; or an error.
 * if_nametoindex does not say whether it got a descriptor. */
static int read_zone(const char *name, uint32_t *zone)
{
    struct ifreq request;
    int64_t number = number_of(name, UINT32_MAX);
    if (number > 0) {
        *zone = (uint32_t)number;
        return 1;
    }
    size_t size = strlen(name) + 1;
    if (size > sizeof request.ifr_name)
        return 0;
    int fd = lt_net_socket(AF_INET6, SOCK_DGRAM);
    if (fd < 0)
        return fd;
    memcpy(request.ifr_name, name, size);
    bool known = ioctl(fd, SIOCGIFINDEX, &request) == 0;
    lt_close(fd);
    *zone = known ? (uint32_t)request.ifr_ifindex : 0;
    return known;
}

/* As lt_net_number. */
static int number6(const char *host, struct sockaddr_in6 *in6)
{
    char bare[INET6_ADDRSTRLEN];
    const char *zone = strchr(host, '%');
    size_t length = zone ? (size_t)(zone - host) : strlen(host);
    if (length >= sizeof bare)
        return 0;
    memcpy(bare, host, length);
    bare[length] = 0;
    if (inet_pton(AF_INET6, bare, &in6->sin6_addr) != 1)
        return 0;
    return zone ? read_zone(zone + 1, &in6->sin6_scope_id) : 1;
}

int lt_net_number(const char *host, const char *service, leat_address *address)
{
    int port = port_of(service);
    if (port < 0)
        return port == -1 ? 0 : port;
    *address = (leat_address){ 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)&address->at;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->at;
    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        address->size = sizeof *in;
        return 1;
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons((uint16_t)port);
    address->size = sizeof *in6;
    return number6(host, in6);
}

/* ---- to text ---- */

static int local_text(const leat_address *address, char *text, size_t n)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&address->at;
    size_t length = address->size > PATH_AT ? address->size - PATH_AT : 0;
    if (length && un->sun_path[0])
        length = strnlen(un->sun_path, length);
    if (length + sizeof "unix:" > n)
        return -ENOSPC;
    memcpy(text, "unix:", 5);
    for (size_t i = 0; i < length; i++)
        text[5 + i] = un->sun_path[i] ? un->sun_path[i] : '@';
    text[5 + length] = 0;
    return (int)(5 + length);
}

static int text6(const struct sockaddr_in6 *in6, char *text, size_t n)
{
    char host[INET6_ADDRSTRLEN], zone[16] = "";
    inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
    if (in6->sin6_scope_id)
        snprintf(zone, sizeof zone, "%%%u", in6->sin6_scope_id);
    return snprintf(text, n, "[%s%s]:%u", host, zone, ntohs(in6->sin6_port));
}

static int text4(const struct sockaddr_in *in, char *text, size_t n)
{
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
    return snprintf(text, n, "%s:%u", host, ntohs(in->sin_port));
}

int leat_address_text(const leat_address *address, char *text, size_t n)
{
    if (!address || !text || address->size < sizeof(sa_family_t) ||
        address->size > sizeof address->at)
        return -EINVAL;
    int saved = errno, length;
    switch (address->at.ss_family) {
    case AF_UNIX: return local_text(address, text, n);
    case AF_INET:
        if (address->size < sizeof(struct sockaddr_in))
            return -EINVAL;
        length = text4((const struct sockaddr_in *)&address->at, text, n);
        break;
    case AF_INET6:
        if (address->size < sizeof(struct sockaddr_in6))
            return -EINVAL;
        length = text6((const struct sockaddr_in6 *)&address->at, text, n);
        break;
    default: return -EAFNOSUPPORT;
    }
    errno = saved;
    return (size_t)length < n ? length : -ENOSPC;
}

/* ---- of sockets ---- */

static int address_of(leat_io *io, leat_address *address, bool peer)
{
    if (!io || !address)
        return -EINVAL;
    if (!lt_io_enter(io))
        return -EBADF;
    leat_address found = { .size = sizeof found.at };
    struct sockaddr *at = (struct sockaddr *)&found.at;
    int saved = errno, error = 0;
    if (lt_io_is_simulated(io))
        error = -ENOTSUP;
    else if ((peer ? getpeername(io->fd, at, &found.size) : getsockname(io->fd, at, &found.size)) !=
             0)
        error = -errno;
    errno = saved;
    lt_io_leave(io);
    if (!error)
        *address = found;
    return error;
}

int leat_io_local(leat_io *io, leat_address *address)
{
    return address_of(io, address, false);
}

int leat_io_peer(leat_io *io, leat_address *address)
{
    return address_of(io, address, true);
}

int leat_io_local_text(leat_io *io, char *text, size_t n)
{
    leat_address address;
    int error = leat_io_local(io, &address);
    return error ? error : leat_address_text(&address, text, n);
}

/* ---- sockets ---- */

int lt_net_socket(int family, int type)
{
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 ? fd : -errno;
}

void lt_net_undelay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}
