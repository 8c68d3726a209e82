/* sockets.h: what the tests of connections share. */
#pragma once

#include "net/net.h"
#include "support.h"

#include <dirent.h>
#include <unistd.h>

/* How many sockets are open. The runtime's own descriptors are of other kinds. */
static inline int sockets(void)
{
    int n = 0;
    char path[300], target[8];
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        n += readlink(path, target, 7) == 7 && memcmp(target, "socket:", 7) == 0;
    }
    closedir(folder);
    return n;
}

/* Writes the text of a listener's address. */
static inline void format_address(leat_io *listener, char *text)
{
    int n = leat_io_local_text(listener, text, LEAT_ADDRESS_TEXT);
    CHECK_IS(strlen(text), n);
}

static inline leat_io *listen_at(const char *at, int backlog, char *text)
{
    leat_io *listener;
    CHECK_IS(0, leat_listen(NULL, at, backlog, &listener));
    format_address(listener, text);
    return listener;
}
