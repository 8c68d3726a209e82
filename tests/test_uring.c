/* test_uring.c: a ring of this thread's own, without a runtime: what is queued, called off, taken
 * back and closed. models/uring.pml has all orders of these steps. */
#define _GNU_SOURCE
#include "support.h"

#include "base/config.h"
#include "sched/uring.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct operation {
    struct lt_party party;
    struct lt_uring_op op;
    char byte;
};

/* From now on the calling thread may not enter a ring. */
static void refuse(int error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof steps / sizeof *steps, .filter = steps };
    CHECK_IS(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK_IS(0, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static bool receive(struct lt_uring *ring, struct operation *o, int fd)
{
    *o = (struct operation){ .op.party = &o->party };
    return lt_uring_queue(ring, &o->op, LT_URING_RECV, fd, &o->byte, 1);
}

static int count(const struct lt_party *chain)
{
    int n = 0;
    for (; chain; chain = chain->next)
        n++;
    return n;
}

static void run_in_child(void (*body)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        body();
        _exit(0);
    }
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
}

/* ---- a refused ring ---- */

/* The ring is refused when its queue is full and one more is to go in. */
static void fill(struct lt_uring *ring, int *ends)
{
    static struct operation operations[LT_URING_QUEUE + 1];
    CHECK(lt_uring_open(ring));
    CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (int i = 0; i < LT_URING_QUEUE; i++)
        CHECK(receive(ring, &operations[i], ends[0]));
    refuse(EPERM);
    CHECK(!receive(ring, &operations[LT_URING_QUEUE], ends[0]));
    CHECK(!lt_uring_is(ring, LT_URING_OPEN));
}

static void take_back(void)
{
    struct lt_uring ring = { 0 };
    int ends[2];
    fill(&ring, ends);
    CHECK(lt_uring_has_more(&ring));
    CHECK_IS(LT_URING_QUEUE, count(lt_uring_round(&ring)));
    CHECK_IS(0, lt_uring_owed(&ring));
    CHECK(!lt_uring_has_more(&ring));
}

static void takes_back_what_a_refused_ring_has_queued(void **state)
{
    (void)state;
    run_in_child(take_back);
}

static void close_once(void)
{
    struct lt_uring ring = { 0 };
    int ends[2];
    fill(&ring, ends);
    int other = dup(ends[0]), epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK_IS(ring.fd, other);
    CHECK_IS(LT_URING_QUEUE, count(lt_uring_sleep(&ring, epoll, 0)));
    CHECK(fcntl(other, F_GETFD) >= 0);
}

/* Its number may be another descriptor's by then. */
static void closes_a_refused_ring_once(void **state)
{
    (void)state;
    run_in_child(close_once);
}

/* ---- an operation that has ended ---- */

static void calls_off_no_operation_that_has_ended(void **state)
{
    (void)state;
    struct lt_uring ring = { 0 };
    struct operation o;
    int ends[2];
    CHECK(lt_uring_open(&ring));
    CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK(receive(&ring, &o, ends[0]));
    CHECK_IS(1, write(ends[1], "x", 1));
    struct lt_party *chain = lt_uring_round(&ring);
    while (!chain)
        chain = lt_uring_round(&ring);
    CHECK(chain == &o.party && !chain->next);
    CHECK_IS(1, o.op.result);
    lt_uring_call_off(&ring, &o.op);
    CHECK_IS(0, lt_uring_owed(&ring));
    CHECK(!lt_uring_has_queued(&ring));
    lt_uring_close(&ring);
    close(ends[0]);
    close(ends[1]);
}

/* ---- a thief ---- */

static void *queue_poll(void *arg)
{
    struct lt_uring *ring = arg;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll >= 0);
    refuse(EAGAIN); /* as if memory were short */
    CHECK(!lt_uring_sleep(ring, epoll, 0));
    CHECK(ring->polls && lt_uring_has_queued(ring));
    return NULL;
}

/* It would end in the thief's thread, and not wake the worker while the thief computes. */
static void takes_back_the_poll(void **state)
{
    (void)state;
    struct lt_uring ring = { 0 };
    pthread_t thread;
    CHECK(lt_uring_open(&ring));
    CHECK_IS(0, pthread_create(&thread, NULL, queue_poll, &ring));
    CHECK_IS(0, pthread_join(thread, NULL));
    CHECK(!lt_uring_stand_in(&ring));
    CHECK(!ring.polls && !lt_uring_has_queued(&ring));
    lt_uring_close(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_back_what_a_refused_ring_has_queued),
        cmocka_unit_test(closes_a_refused_ring_once),
        cmocka_unit_test(calls_off_no_operation_that_has_ended),
        cmocka_unit_test(takes_back_the_poll),
    };
    struct lt_uring ring = { 0 };
    if (!lt_uring_open(&ring))
        return 77;
    lt_uring_close(&ring);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
