/* place.h: the socket at which a look is served, and its file. Locking: none. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct lt_place {
    int fd;
    bool is_local; /* a UNIX socket */
    char *path;    /* of its file, from the root: the program may change its folder; or NULL */
    struct stat file;
};

/* Listens at the address. `has_token`: also at one that other machines reach. 0; -EINVAL for text
 * that is no address; -EPERM if it is not on this machine and there is no token; or the error of
 * listening there. */
int lt_place_open(struct lt_place *place, const char *address, bool has_token);

/* Removes the socket's file, unless another socket has taken its place, and closes the socket. */
void lt_place_close(struct lt_place *place);

/* Accepts a client: its descriptor, or a negative errno value. *stranger: another user of this
 * machine. */
int lt_place_accept(const struct lt_place *place, bool *stranger);
