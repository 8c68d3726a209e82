#include "stamp.h"

/* The coarsest clock of a file system ticks every two seconds. */
enum { TICK = 2 };

struct stamp stamp_of(const struct stat *about, const struct timespec *now)
{
    return (struct stamp){
        .known = S_ISREG(about->st_mode),
        .settled = now && about->st_mtim.tv_sec < now->tv_sec - TICK &&
                   about->st_ctim.tv_sec < now->tv_sec - TICK,
        .device = about->st_dev,
        .inode = about->st_ino,
        .size = (uint64_t)about->st_size,
        .modified = about->st_mtim,
        .changed = about->st_ctim,
    };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool stamp_is_same(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}
