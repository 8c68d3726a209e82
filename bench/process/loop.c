/* loop.c: the floor: one thread that runs N programs, P at a time, by clone and pidfds in an epoll.
 *
 *     loop N P [capture] PROGRAM ARGS…
 *
 * With `capture` each program's output comes through a pipe and is written in the order of the
 * programs; the first in line writes what it has at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    int pidfd, out; /* -1: closed */
    int done;
    char *text;
    size_t size, room;
};

static char **command;
static int child_out, epoll;
static struct job *jobs;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int child(void *unused)
{
    (void)unused;
    if (child_out >= 0)
        dup2(child_out, 1);
    execve(command[0], command, environ);
    _exit(127);
}

static void watch(int fd, uint64_t data)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
}

/* A child between vfork and execve may have a copy: closing alone would not end the watch. */
static void drop(int *fd)
{
    epoll_ctl(epoll, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

static void start(int i, int capture)
{
    static char stack[65536] __attribute__((aligned(16)));
    struct job *job = &jobs[i];
    int ends[2] = { -1, -1 };
    if (capture && pipe2(ends, O_CLOEXEC) != 0)
        die("pipe2");
    child_out = ends[1];
    if (clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, NULL,
              &job->pidfd) < 0)
        die("clone");
    job->out = ends[0];
    if (capture) {
        close(ends[1]);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        watch(ends[0], (uint64_t)i << 1 | 1);
    }
    watch(job->pidfd, (uint64_t)i << 1);
}

static void put(struct job *job)
{
    for (size_t done = 0; done < job->size;) {
        ssize_t n = write(1, job->text + done, job->size - done);
        if (n < 0)
            die("write");
        done += (size_t)n;
    }
    job->size = 0;
}

static void take_output(struct job *job, int is_first)
{
    ssize_t n;
    do {
        if (job->room - job->size < 4096)
            job->text = realloc(job->text, job->room += 8192);
        n = read(job->out, job->text + job->size, job->room - job->size);
        if (n > 0)
            job->size += (size_t)n;
        if (is_first)
            put(job);
    } while (n > 0);
    if (n == 0 || errno != EAGAIN)
        drop(&job->out);
}

static void take_status(struct job *job)
{
    siginfo_t info;
    if (waitid(P_PIDFD, (id_t)job->pidfd, &info, WEXITED) != 0)
        die("waitid");
    drop(&job->pidfd);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int n = atoi(argv[1]), width = atoi(argv[2]), capture = strcmp(argv[3], "capture") == 0;
    int started = 0, running = 0, first = 0;
    struct epoll_event events[64];
    command = argv + 3 + capture;
    jobs = calloc((size_t)n, sizeof *jobs);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    while (started < n || running) {
        for (; started < n && running < width; running++)
            start(started++, capture);
        int found = epoll_wait(epoll, events, 64, -1);
        for (int k = 0; k < found; k++) {
            int i = (int)(events[k].data.u64 >> 1);
            struct job *job = &jobs[i];
            if (events[k].data.u64 & 1)
                take_output(job, i == first);
            else
                take_status(job);
            if (!job->done && job->pidfd < 0 && job->out < 0) {
                job->done = 1;
                running--;
            }
        }
        for (; first < started; first++) {
            put(&jobs[first]);
            if (!jobs[first].done)
                break;
            free(jobs[first].text);
        }
    }
    return 0;
}
