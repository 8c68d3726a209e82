#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cores.h"

#include "base/cancel.h"

#include <leat/runtime.h>

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the quota of one group ---- */

/* Adds what is in the group's file, if that can be read. */
static void add_file(char *text, size_t size, const char *group, const char *name)
{
    char path[PATH_MAX];
    size_t length = strlen(text);
    int needs = snprintf(path, sizeof path, "%s/%s", group, name);
    FILE *file = needs < (int)sizeof path ? fopen(path, "re") : NULL;
    if (!file)
        return;
    length += fread(text + length, 1, size - 1 - length, file);
    text[length] = '\0';
    fclose(file);
}

/* A quota is some processor time for each period, both in microseconds. Version 2 has them in one
 * file, version 1 in two, and a group has the files of one version. "max" or -1 is no quota. */
static int64_t quota_of(const char *group)
{
    char text[64] = "", *end;
    add_file(text, sizeof text, group, "cpu.max");
    add_file(text, sizeof text, group, "cpu.cfs_quota_us");
    add_file(text, sizeof text, group, "cpu.cfs_period_us");
    int64_t time = strtoll(text, &end, 10), period = strtoll(end, &end, 10);
    return time > 0 && period > 0 && *end == '\n' ? (time - 1) / period + 1 : INT64_MAX;
}

/* ---- all groups ---- */

/* The least quota from the group up to the mount. In a container /proc may name the group as the
 * host sees it, while the container's own group is mounted: then only the mount has files. */
static int64_t quota_up_from(const char *root, const char *mount, const char *group)
{
    char path[PATH_MAX], *slash;
    int needs = snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s", root, mount, group);
    if (needs >= (int)sizeof path)
        return INT64_MAX;
    int64_t least = quota_of(path);
    while ((slash = strrchr(path + needs - strlen(group), '/'))) {
        *slash = '\0';
        int64_t quota = quota_of(path);
        least = quota < least ? quota : least;
    }
    return least;
}

/* The usual mount of the hierarchy with these controllers. NULL: it sets no quotas. The list, with
 * commas, is taken apart. Version 2 names no controllers. */
static const char *mount_of(char *controllers)
{
    const char *controller;
    if (!*controllers)
        return "";
    while ((controller = strsep(&controllers, ",")))
        if (strcmp(controller, "cpu") == 0)
            return "/cpu"; /* or a link to cpu,cpuacct */
    return NULL;
}

int64_t lt_cores_quota(const char *root)
{
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;
    int64_t least = INT64_MAX;
    int needs = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = needs < (int)sizeof path ? fopen(path, "re") : NULL;
    if (!file)
        return least;
    while (getline(&line, &size, file) > 0) { /* number:controllers:group */
        char *rest = line;
        strsep(&rest, ":");
        char *controllers = strsep(&rest, ":"), *group = strsep(&rest, "\n");
        const char *mount = group ? mount_of(controllers) : NULL;
        int64_t quota = mount ? quota_up_from(root, mount, group) : INT64_MAX;
        least = quota < least ? quota : least;
    }
    free(line);
    fclose(file);
    return least;
}

/* ---- cores ---- */

unsigned lt_processors(void)
{
    cpu_set_t set;
    /* The kernel refuses a set for more than CPU_SETSIZE processors: then the process may usually
     * use all. */
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

/* As in Go 1.25 (adjustCgroupGOMAXPROCS in runtime/cgroup_linux.go) a part of a core counts as one,
 * and two are the least: a quota bounds the time in a period, not how many cores run at once. Go
 * heeds only the process's own group. */
unsigned lt_cores_within(unsigned processors, int64_t quota)
{
    quota = quota < 2 ? 2 : quota;
    return processors < quota ? processors : (unsigned)quota;
}

unsigned leat_cores(void)
{
    int saved = errno, cancel = lt_cancel_put_off();
    unsigned cores = lt_cores_within(lt_processors(), lt_cores_quota(""));
    lt_cancel_restore(cancel);
    errno = saved;
    return cores;
}
