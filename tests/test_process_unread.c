/* test_process_unread.c: /proc can be opened, but not read: the rest of a group keeps its grace. */
#define _GNU_SOURCE
#include "processes.h"

#include <sys/syscall.h>

static _Atomic bool unread;

/* In place of the C library's getdents64. */
ssize_t list_or_refuse(int fd, void *entries, size_t size) __asm__("getdents64");

ssize_t list_or_refuse(int fd, void *entries, size_t size)
{
    if (!atomic_load(&unread))
        return syscall(SYS_getdents64, fd, entries, size);
    errno = ENOMEM;
    return -1;
}

/* The process itself dies of SIGTERM at once; another one of its group has something to do. */
static int let_a_group_finish(void *arg)
{
    (void)arg;
    char said[8] = { 0 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT, .grace = 3600 * LEAT_S };
    leat_process *process =
        spawn(scope,
              SHELL("(trap 'sleep 0.1; echo late; exit' TERM; exec 2>/dev/null; echo 0;"
                    " while :; do sleep 0.01; done) & exec sleep 100"),
              &options);
    CHECK_IS(2, leat_read(leat_process_out(process), said, 2));
    atomic_store(&unread, true);
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(5, leat_read(leat_process_out(process), said, sizeof said));
    CHECK(memcmp(said, "late\n", 5) == 0);
    atomic_store(&unread, false);
    CHECK_IS(SIGTERM, signal_of(process));
    return leat_scope_close(scope);
}
ON_WORKERS(let_a_group_finish);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(let_a_group_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
