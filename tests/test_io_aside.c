/* test_io_aside.c: calls whose EAGAIN does not show that there are no bytes, or no room. They keep
 * no other party from these, and do not spin. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <sys/syscall.h>
#include <sys/un.h>

/* How often a party may have tried since then, if it pauses in between. */
static int64_t most_tries(int64_t since)
{
    return (leat_now() - since) / LT_IO_PAUSE + 2;
}

/* ---- reading ---- */

struct watcher {
    leat_block block;
    leat_io *io;
    _Atomic int tries;
    int status;
    struct msghdr header;
    char control[64];
};

static struct msghdr *next_try(struct watcher *w)
{
    w->header = (struct msghdr){ .msg_control = w->control, .msg_controllen = sizeof w->control };
    atomic_fetch_add(&w->tries, 1);
    return &w->header;
}

static int watch_errors(leat_block *b)
{
    struct watcher *w = LT_CONTAINER(b, struct watcher, block);
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECVMSG(b, w->io, next_try(w), MSG_ERRQUEUE, LEAT_NEVER, NULL);
    w->status = b->status;
    LEAT_END(b);
}

static int a_block_waits_for_errors(void *arg)
{
    (void)arg;
    if (getenv("LEAT_EMULATED"))
        return 0; /* an emulator says that a message of 0 bytes has come */
    int ends[2];
    char bytes[10];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    tcp_pair(ends);
    leat_io *b = adopt(scope, ends[1]);
    struct watcher watcher = { .io = adopt(scope, ends[0]) };
    CHECK_IS(0, leat_go_block(inner, &watcher.block, watch_errors));
    WAIT_UNTIL(receivers_of(lt_io_chan(watcher.io, LT_IN)) == 1);
    int before = atomic_load(&watcher.tries);
    int64_t start = leat_now();
    CHECK_IS(5, leat_write(b, "hello", 5));
    WAIT_UNTIL(atomic_load(&watcher.tries) > before);
    leat_sleep(20 * LEAT_MS);
    CHECK(atomic_load(&watcher.tries) - before <= most_tries(start));
    CHECK_IS(5, leat_read_until(watcher.io, bytes, sizeof bytes, late()));
    WAIT_UNTIL(receivers_of(lt_io_chan(watcher.io, LT_IN)) == 1); /* it waits as before */
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(-ECANCELED, watcher.status);
    return leat_scope_close(scope);
}
ON_WORKERS(a_block_waits_for_errors);

/* With SO_PEEK_OFF each peek begins where the last one has ended. */
static int a_peek_hides_no_bytes(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    int from = 0;
    char bytes[10];
    struct iovec part = { bytes, sizeof bytes };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
    if (setsockopt(leat_io_fd(pair.a), SOL_SOCKET, SO_PEEK_OFF, &from, sizeof from) != 0)
        return leat_scope_close(scope); /* an emulator does not know it */
    find_empty(pair.a);
    CHECK_IS(5, leat_write(pair.b, "hello", 5));
    CHECK_IS(5, leat_recvmsg(pair.a, &header, MSG_PEEK, late()));
    CHECK_IS(-EAGAIN, leat_recvmsg(pair.a, &header, MSG_PEEK, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_recvmsg(pair.a, &header, MSG_PEEK, leat_after(5 * LEAT_MS)));
    leat_case cases[] = { LEAT_READABLE(pair.a) };
    CHECK_IS(0, leat_select(cases, 1, late()));
    CHECK_IS(5, leat_read_until(pair.a, bytes, sizeof bytes, late()));
    CHECK_IS(-ETIMEDOUT, leat_recvmsg(pair.a, &header, MSG_PEEK, leat_after(5 * LEAT_MS)));
    return leat_scope_close(scope);
}
ON_WORKERS(a_peek_hides_no_bytes);

/* ---- sending to a socket that is full ---- */

static _Atomic int sends;

/* In place of the C library's sendmsg. */
ssize_t count_and_send(int fd, const struct msghdr *header, int flags) __asm__("sendmsg");

ssize_t count_and_send(int fd, const struct msghdr *header, int flags)
{
    atomic_fetch_add(&sends, 1);
    return syscall(SYS_sendmsg, fd, header, flags);
}

struct sender {
    leat_block block;
    leat_io *io;
    struct sockaddr_un to;
    _Atomic bool sent;
};

static int send_to(void *arg)
{
    struct sender *s = arg;
    CHECK_IS(1, leat_sendto(s->io, "x", 1, (struct sockaddr *)&s->to, sizeof s->to, late()));
    atomic_store(&s->sent, true);
    return 0;
}

static int send_in_block(leat_block *b)
{
    struct sender *s = LT_CONTAINER(b, struct sender, block);
    LEAT_BEGIN(b);
    LEAT_AWAIT_SENDTO(b, s->io, "x", 1, (struct sockaddr *)&s->to, sizeof s->to, LEAT_NEVER, NULL);
    CHECK_IS(1, b->status);
    atomic_store(&s->sent, true);
    LEAT_END(b);
}

/* For an unconnected socket poll(2) does not look at the receiver, and each send that fails reports
 * room anew. */
static int a_full_socket_does_not_spin(void *arg)
{
    (void)arg;
    for (int in_block = 0; in_block < 2; in_block++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        struct sender sender = { .io = adopt(scope, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
                                 .to = { .sun_family = AF_UNIX } };
        struct sockaddr *to = (struct sockaddr *)&sender.to;
        int receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), n = 0;
        char byte;
        snprintf(sender.to.sun_path + 1, 60, "leat-test-%d-%p", (int)getpid(), (void *)&sender);
        CHECK_IS(0, bind(receiver, to, sizeof sender.to));
        while (sendto(leat_io_fd(sender.io), "x", 1, MSG_DONTWAIT, to, sizeof sender.to) == 1)
            n++;
        int64_t start = leat_now();
        atomic_store(&sends, 0);
        if (in_block)
            CHECK_IS(0, leat_go_block(scope, &sender.block, send_in_block));
        else
            CHECK_IS(0, leat_go(scope, send_to, &sender));
        WAIT_UNTIL(atomic_load(&sends) > 2);
        leat_sleep(20 * LEAT_MS);
        CHECK(atomic_load(&sends) <= 1 + most_tries(start));
        while (n--)
            CHECK_IS(1, recv(receiver, &byte, 1, MSG_DONTWAIT));
        WAIT_UNTIL(atomic_load(&sender.sent));
        CHECK_IS(0, leat_scope_close(scope));
        close(receiver);
    }
    return 0;
}
ON_WORKERS(a_full_socket_does_not_spin);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(a_block_waits_for_errors),
        TESTS_ON_WORKERS(a_peek_hides_no_bytes),
        TESTS_ON_WORKERS(a_full_socket_does_not_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
