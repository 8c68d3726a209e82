/* unwatched.c: runs a program for which epoll cannot watch the descriptors with the numbers from
 * argv[1] to argv[2], as when the user has as many watches as the system allows. The program's
 * children use no epoll. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define UNLESS(test, value, steps) BPF_JUMP(BPF_JMP | BPF_K | (test), (unsigned)(value), 0, (steps))
#define IF_ABOVE(value, steps) BPF_JUMP(BPF_JMP | BPF_K | BPF_JGT, (unsigned)(value), (steps), 0)

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    /* The lower half of each argument comes first. */
    struct sock_filter steps[] = {
        LOAD(nr),
        UNLESS(BPF_JEQ, SYS_epoll_ctl, 6),
        LOAD(args[1]),
        UNLESS(BPF_JEQ, EPOLL_CTL_ADD, 4),
        LOAD(args[2]),
        UNLESS(BPF_JGE, atoi(argv[1]), 2),
        IF_ABOVE(atoi(argv[2]), 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof steps / sizeof *steps, .filter = steps };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("unwatched");
        return 77;
    }
    /* Its own descriptors have the same numbers wherever it runs. */
    for (int fd = 3; fd < 1000; fd++)
        close(fd);
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
