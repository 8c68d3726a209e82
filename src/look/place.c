#define _GNU_SOURCE /* accept4, struct ucred */
#include "look/place.h"

#include "base/cancel.h"
#include "base/futex.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
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

/* Removes the file of a socket that no longer has a listener: its program was killed. */
static bool remove_stale(const leat_address *address, const char *path)
{
    struct stat found;
    int fd = lt_net_socket(AF_UNIX, SOCK_STREAM);
    bool refused = fd >= 0 && lstat(path, &found) == 0 && S_ISSOCK(found.st_mode) &&
                   connect(fd, (const struct sockaddr *)&address->at, address->size) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        lt_close(fd);
    return refused && unlink(path) == 0;
}

/* Without the lock, two programs could serve at one path: a socket that is bound and does not
 * listen yet looks like one whose program was killed. Returns the descriptor of the folder, or -1.
 * It is not locked if others keep the lock for longer than a program needs here. */
static int lock_folder(const char *path)
{
    char copy[sizeof(struct sockaddr_un)];
    snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && tries < 1000; tries++)
        lt_nap(LEAT_MS);
    return fd;
}

static int listen_at(const struct lt_endpoint *end, const char *path)
{
    int folder = *path ? lock_folder(path) : -1;
    int fd = lt_net_listen(end, false, 0, S_IRUSR | S_IWUSR);
    if (fd == -EADDRINUSE && *path && remove_stale(&end->address, path))
        fd = lt_net_listen(end, false, 0, S_IRUSR | S_IWUSR);
    if (folder >= 0)
        lt_close(folder);
    return fd;
}

/* Reports the port to a user that let the system choose it. */
static void report_port(const struct lt_place *place)
{
    char text[LEAT_ADDRESS_TEXT];
    leat_address address = { .size = sizeof address.at };
    if (getsockname(place->fd, (struct sockaddr *)&address.at, &address.size) == 0 &&
        leat_address_text(&address, text, sizeof text) > 0)
        dprintf(STDERR_FILENO, "leat: look at http://%s/\n", text);
}

/* In this order: while the socket is open, no other file gets its file's number, and no other
 * program takes the file for one that was left. */
void lt_place_close(struct lt_place *place)
{
    int saved = errno;
    struct stat now;
    if (place->path && lstat(place->path, &now) == 0 && now.st_dev == place->file.st_dev &&
        now.st_ino == place->file.st_ino)
        unlink(place->path);
    free(place->path);
    lt_close(place->fd);
    errno = saved;
}

int lt_place_open(struct lt_place *place, const char *address, bool has_token)
{
    struct lt_endpoint end;
    int saved = errno, error = resolve(address, &end);
    if (!error && !end.is_local && !has_token && !is_loopback(&end.address))
        error = -EPERM;
    if (error)
        return error;
    const char *path = end.is_local ? ((const struct sockaddr_un *)&end.address.at)->sun_path : "";
    *place = (struct lt_place){ .fd = listen_at(&end, path), .is_local = end.is_local };
    if (place->fd >= 0 && *path && stat(path, &place->file) == 0)
        place->path = realpath(path, NULL);
    if (place->fd >= 0 && !end.is_local && strcmp(end.service, "0") == 0)
        report_port(place);
    errno = saved;
    return place->fd < 0 ? place->fd : 0;
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
