#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
    FOLDERS_MAX = 512,
    NUMBERS_MAX = 64 * 1024, /* tried one by one if /proc is missing */
};

/* Counts only numbers below `limit`: open descriptors above it do not use it up. */
static size_t count_open(size_t limit)
{
    size_t open = 0;
    DIR *all = opendir("/proc/self/fd");
    if (all) {
        for (const struct dirent *found; (found = readdir(all));)
            open += *found->d_name != '.' && strtoul(found->d_name, NULL, 10) < limit;
        closedir(all);
    }
    /* A list that could be read has its own descriptor, too. */
    if (open > 0)
        return open - 1;
    for (size_t fd = 0; fd < limit && fd < NUMBERS_MAX; fd++)
        open += fcntl((int)fd, F_GETFD) >= 0;
    return open;
}

/* The number that this process may still open, at most `wanted`. Raises the soft limit if need
 * be. */
static size_t count_free(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return wanted;
    size_t open = count_open(limit.rlim_cur), enough = open + wanted;
    if (limit.rlim_cur < enough) {
        struct rlimit more = { limit.rlim_max < enough ? limit.rlim_max : enough, limit.rlim_max };
        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            limit = more;
        open = count_open(limit.rlim_cur);
    }
    size_t left = limit.rlim_cur > open ? limit.rlim_cur - open : 0;
    return left < wanted ? left : wanted;
}

int descriptors_share(struct flow *f, size_t others, size_t *folders)
{
    size_t left = count_free(others + FOLDERS_MAX * 4 + (size_t)f->jobs * f->files);
    if (left < others + 1)
        return -EMFILE;
    left -= others;
    if (f->jobs > left / 2)
        f->jobs = left / 2 > 0 ? (unsigned)(left / 2) : 1;
    while (f->files > 1 && (size_t)f->jobs * f->files > left / 2)
        f->files--;
    left -= (size_t)f->jobs * f->files;
    /* The other half is for descriptors that are open only for a moment. */
    size_t folders_more = (left + 1) / 2;
    *folders = 1 + (folders_more < FOLDERS_MAX ? folders_more : FOLDERS_MAX);
    return 0;
}
