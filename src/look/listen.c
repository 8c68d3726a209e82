#define _GNU_SOURCE
#include "look/listen.h"

#include "watch/text.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_loopback(const leat_address *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->at;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->at;
    return address->at.ss_family == AF_INET ? ntohl(in->sin_addr.s_addr) >> 24 == 127
                                            : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* ":80" serves every address of this machine. */
static int resolve(const char *text, struct lt_endpoint *end)
{
    int error = lt_net_parse(text, end);
    if (error || end->is_local)
        return error;
    const char *host = *end->host ? end->host : "0.0.0.0";
    bool known = end->type == SOCK_STREAM && lt_net_number(host, end->service, &end->address) == 1;
    return known ? 0 : -EINVAL;
}

static int bind_at(int fd, const leat_address *address)
{
    if (bind(fd, (const struct sockaddr *)&address->at, address->size) == 0)
        return 0;
    return -errno;
}

/* Removes the file of a socket at which nobody listens any more: a program was killed. */
static bool remove_stale(const leat_address *address, const char *path)
{
    struct stat found;
    int fd = lt_net_socket(AF_UNIX, SOCK_STREAM);
    bool refused = fd >= 0 && lstat(path, &found) == 0 && S_ISSOCK(found.st_mode) &&
                   connect(fd, (const struct sockaddr *)&address->at, address->size) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        lt_net_close(fd);
    return refused && unlink(path) == 0;
}

static int bind_and_listen(struct lt_place *place, const leat_address *address)
{
    int error;
    if (place->is_local)
        fchmod(place->fd, S_IRUSR | S_IWUSR); /* the file gets this mode */
    else
        setsockopt(place->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    error = bind_at(place->fd, address);
    if (error == -EADDRINUSE && *place->path && remove_stale(address, place->path))
        error = bind_at(place->fd, address);
    if (error)
        place->path[0] = 0; /* the file is another program's */
    return error ? error : listen(place->fd, SOMAXCONN) == 0 ? 0 : -errno;
}

/* A user who let the system choose the port has to be told. */
static void tell_port(const struct lt_place *place)
{
    char text[LEAT_ADDRESS_TEXT];
    leat_address address = { .size = sizeof address.at };
    if (getsockname(place->fd, (struct sockaddr *)&address.at, &address.size) == 0 &&
        leat_address_text(&address, text, sizeof text) > 0)
        lt_say("leat: look at http://%s/", text);
}

int lt_place_open(struct lt_place *place, const char *address, bool has_token)
{
    struct lt_endpoint end;
    int saved = errno, error = resolve(address, &end);
    if (!error && !end.is_local && !has_token && !is_loopback(&end.address))
        error = -EPERM;
    if (error)
        return error;
    *place = (struct lt_place){ .is_local = end.is_local };
    if (end.is_local)
        snprintf(place->path, sizeof place->path, "%s",
                 ((const struct sockaddr_un *)&end.address.at)->sun_path);
    place->fd = lt_net_socket(end.address.at.ss_family, SOCK_STREAM);
    error = place->fd < 0 ? place->fd : bind_and_listen(place, &end.address);
    if (error && place->fd >= 0)
        lt_place_close(place);
    else if (!error && !end.is_local && strcmp(end.service, "0") == 0)
        tell_port(place);
    errno = saved;
    return error;
}

void lt_place_close(struct lt_place *place)
{
    int saved = errno;
    lt_net_close(place->fd);
    if (*place->path)
        unlink(place->path);
    errno = saved;
}

int lt_place_accept(const struct lt_place *place, bool *stranger)
{
    struct ucred peer = { 0 };
    int fd = accept4(place->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -errno;
    *stranger = place->is_local &&
                (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){ sizeof peer }) != 0 ||
                 (peer.uid != geteuid() && peer.uid != 0));
    return fd;
}
