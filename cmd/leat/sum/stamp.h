/* stamp.h: shows whether a file has changed, without reading it.
 *
 * A write puts its time into the file's stamp. But clocks tick: a second write within the same
 * tick leaves the stamp as it is. So a stamp proves later that nothing has changed only if its
 * times were well in the past when the file was read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct stamp {
    bool known;   /* the stamp of a regular file that did not change while it was read */
    bool settled; /* its times were well in the past then */
    uint64_t device, inode, size;
    struct timespec modified, changed;
};

/* `now`: a time before the system was asked for `about`; NULL: `settled` stays false. */
struct stamp stamp_of(const struct stat *about, const struct timespec *now);
bool stamp_is_same(const struct stamp *a, const struct stamp *b);
