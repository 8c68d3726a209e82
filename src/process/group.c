/* group.c: checks whether processes are left in a group whose leader has ended.
 *
 * kill(2) with signal 0 does not show that: the leader counts until its status is taken, and while
 * it does, no other process or group gets its number. So this asks for the group of each process.
 * That costs 1 us for three of them, and happens only when a process is being ended. */
#define _GNU_SOURCE
#include "io/io.h"
#include "process/process.h"
#include "process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* After a process's name in /proc: its state, and how many threads it has. */
#define STATE " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d"

/* A process that has ended keeps its group while its parent has not taken its status. Its state is
 * Z then; but also while others of its threads run on after the first. */
static bool has_ended(pid_t pid)
{
    char path[32], text[512], state;
    int threads;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return !lt_io_is_shortage(-errno);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    const char *name_end = strrchr(text, ')');
    return !name_end || sscanf(name_end + 1, STATE, &state, &threads) != 2 ||
           (strchr("ZX", state) && threads < 2);
}

struct search {
    pid_t leader;
    bool found;
};

static void look_at(int pid, void *arg)
{
    struct search *search = arg;
    if (!search->found && pid != search->leader && pid && getpgid(pid) == search->leader)
        search->found = !has_ended(pid);
}

bool lt_process_has_followers(const leat_process *process)
{
    struct search search = { .leader = process->pid };
    int error = lt_each_number("/proc", look_at, &search);
    return search.found || lt_io_is_shortage(error); /* then the grace goes on */
}
