/* older.c: runs a program as on an older Linux, such as Debian 12's: it lacks calls, and flags of
 * calls, that leat can do without. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By number, since the headers may be older, too. */
enum { CLOSE_RANGE = 436, EPOLL_PWAIT2 = 441, IO_URING_SETUP = 425, PROCESS_MADVISE = 440 };
enum { GUARD_INSTALL = 102, NOWAIT = 8 };

#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define UNLESS(test, value, steps) BPF_JUMP(BPF_JMP | BPF_K | (test), (unsigned)(value), 0, (steps))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define WITHOUT(call) UNLESS(BPF_JEQ, call, 1), REFUSE(ENOSYS)
/* The lower half of each argument comes first. */
#define WITHOUT_FLAG(call, argument, test, value, error) \
    UNLESS(BPF_JEQ, call, 4), LOAD(args[argument]), UNLESS(test, value, 1), REFUSE(error), ALLOW

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    struct sock_filter steps[] = {
        LOAD(nr),
        WITHOUT(CLOSE_RANGE),
        WITHOUT(EPOLL_PWAIT2),
        WITHOUT(IO_URING_SETUP),
        WITHOUT(PROCESS_MADVISE),
        WITHOUT_FLAG(SYS_madvise, 2, BPF_JEQ, GUARD_INSTALL, EINVAL),
        WITHOUT_FLAG(SYS_preadv2, 5, BPF_JSET, NOWAIT, EOPNOTSUPP),
        WITHOUT_FLAG(SYS_pwritev2, 5, BPF_JSET, NOWAIT, EOPNOTSUPP),
        ALLOW,
    };
    struct sock_fprog filter = { .len = sizeof steps / sizeof *steps, .filter = steps };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("older");
        return 77;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
