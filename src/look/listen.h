/* listen.h: the socket at which a look is served. */
#ifndef LT_LOOK_LISTEN_H
#define LT_LOOK_LISTEN_H

#include "net/net.h"

#include <stdbool.h>

struct lt_place {
    int fd;
    bool is_local;                              /* a UNIX socket */
    char path[sizeof(struct sockaddr_storage)]; /* of its file, or "" */
};

/* Listens. `has_token`: also at an address that other machines reach. 0, or as lt_server_start. */
int lt_place_open(struct lt_place *place, const char *address, bool has_token);

/* Closes the socket, and removes its file. */
void lt_place_close(struct lt_place *place);

/* Accepts a client: its descriptor, or a negative errno value. *stranger: another user of this
 * machine. */
int lt_place_accept(const struct lt_place *place, bool *stranger);

#endif
