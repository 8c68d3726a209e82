/* stamp.h: by what a file's change is seen without reading it.
 *
 * A file that is written gets the time of that in its stamp. But clocks tick: what is written again within
 * the same tick gets the same time, and then a stamp tells nothing. So only one whose times lay well back
 * when the file was read is good for telling later that nothing has changed since. */
#ifndef LEAT_CMD_STAMP_H
#define LEAT_CMD_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct stamp {
    bool known;   /* of a regular file, which did not change while it was read */
    bool settled; /* its times lay well back by then */
    uint64_t device, inode, size;
    struct timespec modified, changed;
};

/* `now`: a time before which `about` was not asked for; NULL: nobody wants to know what is settled. */
struct stamp stamp_of(const struct stat *about, const struct timespec *now);
bool stamp_is_same(const struct stamp *a, const struct stamp *b);

#endif
