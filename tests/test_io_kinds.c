/* test_io_kinds.c: descriptors of all kinds, each with its own way to say that there is more. */
#define _GNU_SOURCE
#include "descriptors.h"

#include "base/alloc.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/un.h>

/* ---- a short read does not always mean that there is no more ---- */

static void pass_descriptor(int fd)
{
    char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec part = { (char[]){ 'a' }, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int passed = STDERR_FILENO;
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
    CHECK_IS(1, sendmsg(fd, &message, 0));
}

/* Reads what is there in several calls: "ab". */
static void read_in_pieces(leat_io *io)
{
    char bytes[10];
    size_t n = 0;
    WAIT_UNTIL(leat_ready(io, LEAT_IN, LEAT_NOW) == LEAT_IN);
    while (n < 2) {
        int64_t got = leat_read_until(io, bytes + n, sizeof bytes - n, late());
        CHECK(got > 0);
        n += (size_t)got;
    }
    CHECK_IS(2, n);
    CHECK(memcmp(bytes, "ab", 2) == 0);
    CHECK_IS(-EAGAIN, leat_read_until(io, bytes, 1, LEAT_NOW));
}

/* The two ends of a connection that leat has made. */
static void connect_here(leat_scope *scope, leat_io **a, leat_io **b)
{
    leat_io *listener;
    char text[LEAT_ADDRESS_TEXT];
    CHECK_IS(0, leat_listen(scope, "unix:@", 0, &listener));
    CHECK(leat_io_local_text(listener, text, sizeof text) > 0);
    CHECK_IS(0, leat_connect(scope, text, a, late()));
    CHECK_IS(0, leat_accept(listener, scope, b, late()));
}

static int reads_on_after_a_border(void *arg)
{
    (void)arg;
    int on = 1, ends[2];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b;
    /* A UNIX socket stops a read after a message with descriptors, */
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    find_empty(a);
    pass_descriptor(leat_io_fd(b));
    CHECK_IS(1, write(leat_io_fd(b), "b", 1));
    read_in_pieces(a);
    connect_here(scope, &a, &b);
    for (int i = 0; i < 2; i++) {
        leat_io *from = i ? a : b, *to = i ? b : a;
        find_empty(to);
        pass_descriptor(leat_io_fd(from));
        CHECK_IS(1, write(leat_io_fd(from), "b", 1));
        read_in_pieces(to);
    }
    /* and a pipe after each packet, which only the writer needs to ask for. */
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    a = adopt(scope, ends[0]);
    find_empty(a);
    if (fcntl(ends[1], F_SETFL, O_DIRECT) == 0) {
        CHECK_IS(1, write(ends[1], "a", 1));
        CHECK_IS(1, write(ends[1], "b", 1));
        read_in_pieces(a);
    }
    close(ends[1]);
    /* TCP stops a read before urgent data. */
    tcp_pair(ends);
    a = adopt(scope, ends[0]);
    CHECK_IS(0, setsockopt(ends[0], SOL_SOCKET, SO_OOBINLINE, &on, sizeof on));
    find_empty(a);
    CHECK_IS(1, send(ends[1], "a", 1, 0));
    CHECK_IS(1, send(ends[1], "b", 1, MSG_OOB));
    WAIT_UNTIL(recv(ends[0], (char[2]){ 0 }, 2, MSG_PEEK | MSG_DONTWAIT) > 0);
    read_in_pieces(a);
    close(ends[1]);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_on_after_a_border);

/* ---- an empty queue of errors does not mean that there are no bytes ---- */

static int error_queue_hides_no_bytes(void *arg)
{
    (void)arg;
    if (getenv("LEAT_EMULATED"))
        return 0; /* an emulator says that a message of 0 bytes has come */
    int ends[2];
    char byte, control[64];
    struct msghdr message = { .msg_control = control, .msg_controllen = sizeof control };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    tcp_pair(ends);
    leat_io *a = adopt(scope, ends[0]), *b = adopt(scope, ends[1]);
    find_empty(a);
    CHECK_IS(1, leat_write(b, "x", 1));
    CHECK_IS(0, leat_recv_until(leat_io_readable(a), NULL, late()));
    CHECK_IS(-EAGAIN, leat_recvmsg(a, &message, MSG_ERRQUEUE, LEAT_NOW));
    CHECK_IS(1, leat_read_until(a, &byte, 1, leat_after(5 * LEAT_S)));
    CHECK_IS(1, leat_write(b, "x", 1));
    CHECK_IS(-ETIMEDOUT, leat_recvmsg(a, &message, MSG_ERRQUEUE, leat_after(5 * LEAT_MS)));
    CHECK_IS(1, leat_read_until(a, &byte, 1, leat_after(5 * LEAT_S)));
    return leat_scope_close(scope);
}
ON_WORKERS(error_queue_hides_no_bytes);

/* ---- a message behind bytes that have come back ---- */

struct receiver {
    leat_io *io;
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header;
};

static int receive_message(void *arg)
{
    struct receiver *r = arg;
    char byte;
    struct iovec part = { &byte, 1 };
    r->header = (struct msghdr){ .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = r->control,
                                 .msg_controllen = sizeof r->control };
    CHECK_IS(1, leat_recvmsg(r->io, &r->header, 0, late()));
    CHECK_IS('a', byte);
    return 0;
}

/* Another party takes the bytes when the receiver has just seen them. */
static int receives_descriptors_behind_others_bytes(void *arg)
{
    (void)arg;
    int got;
    struct crew crew;
    crew_open(&crew);
    leat_io *a, *b;
    adopt_pair(crew.scope, SOCK_STREAM, &a, &b);
    struct lt_unread *taken = lt_alloc(sizeof *taken + 1);
    taken->end = 1;
    CHECK(lt_io_make_more(a));
    lt_io_unread(a, taken);
    pass_descriptor(leat_io_fd(b));
    struct receiver receiver = { .io = a };
    lt_lock(&a->lock);
    crew_go(&crew, FOREIGN, receive_message, &receiver);
    for (int64_t until = leat_after(30 * LEAT_MS); leat_now() < until;)
        nap();
    atomic_store(&lt_io_more(a)->unread, NULL);
    lt_unlock(&a->lock);
    lt_free(taken);
    CHECK_IS(0, foreign_join(&crew.foreign[0]));
    crew.foreigners = 0;
    CHECK_IS(0, receiver.header.msg_flags);
    CHECK_IS(sizeof receiver.control, receiver.header.msg_controllen);
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&receiver.header)), sizeof got);
    close(got);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(receives_descriptors_behind_others_bytes);

/* ---- datagrams ---- */

static int keeps_datagrams_apart(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET };
    for (int t = 0; t < 2; t++) {
        leat_io *a, *b;
        char bytes[10];
        adopt_pair(scope, types[t], &a, &b);
        find_empty(a);
        for (int i = 1; i <= 3; i++)
            CHECK_IS(i, leat_write(b, "abc", (size_t)i));
        for (int i = 1; i <= 3; i++)
            CHECK_IS(i, leat_read_until(a, bytes, sizeof bytes, late()));
        find_empty(a);
        CHECK_IS(0, leat_sendto(b, NULL, 0, NULL, 0, late())); /* an empty one */
        CHECK_IS(2, leat_sendto(b, "xy", 2, NULL, 0, late()));
        CHECK_IS(0, leat_recvfrom(a, bytes, sizeof bytes, NULL, NULL, late()));
        CHECK_IS(1, leat_recvfrom(a, bytes, 1, NULL, NULL, late())); /* cut off */
        find_empty(a);
    }
    return leat_scope_close(scope);
}
ON_WORKERS(keeps_datagrams_apart);

/* The kernel reports to an unconnected socket when the receiver has taken its own datagrams, and
 * nothing of others'. */
struct sender {
    leat_io *io;
    struct sockaddr_un to;
    _Atomic bool sent;
};

static int send_to(void *arg)
{
    struct sender *sender = arg;
    CHECK_IS(1, leat_sendto(sender->io, "x", 1, (struct sockaddr *)&sender->to, sizeof sender->to,
                            late()));
    atomic_store(&sender->sent, true);
    return 0;
}

static int sends_to_a_full_socket(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        struct sender sender = { adopt(crew.scope, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
                                 { .sun_family = AF_UNIX },
                                 false };
        int receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
            other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        char byte;
        snprintf(sender.to.sun_path + 1, 60, "leat-test-%d-%p", (int)getpid(), (void *)&sender);
        CHECK_IS(0, bind(receiver, (struct sockaddr *)&sender.to, sizeof sender.to));
        int n = 0;
        while (sendto(other, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&sender.to,
                      sizeof sender.to) == 1)
            n++;
        crew_go(&crew, kind, send_to, &sender);
        for (int i = 0; i < 5; i++) {
            leat_yield();
            nap();
        }
        for (int i = 0; i < n; i++)
            CHECK_IS(1, recv(receiver, &byte, 1, MSG_DONTWAIT));
        WAIT_UNTIL(atomic_load(&sender.sent));
        crew_close(&crew);
        close(receiver);
        close(other);
    }
    return 0;
}
ON_WORKERS(sends_to_a_full_socket);

/* ---- terminals, counters and files ---- */

static void open_terminal(int *master, int *slave)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(*master >= 0);
    CHECK_IS(0, grantpt(*master));
    CHECK_IS(0, unlockpt(*master));
    *slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int reads_lines_of_a_terminal(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char bytes[100];
    int master, slave;
    open_terminal(&master, &slave);
    int flags = fcntl(slave, F_GETFL);
    leat_io *io = adopt(scope, slave), *keys = adopt(scope, master);
    find_empty(io);
    CHECK_IS(7, leat_write(keys, "a\nbc\nd\n", 7));
    CHECK_IS(2, leat_read_until(io, bytes, sizeof bytes, late()));
    CHECK_IS(3, leat_read_until(io, bytes, sizeof bytes, late()));
    CHECK_IS(2, leat_read_until(io, bytes, sizeof bytes, late()));
    find_empty(io);
    CHECK_IS(2, leat_write(io, "ok", 2));
    CHECK(leat_read_until(keys, bytes, sizeof bytes, late()) > 0);
    CHECK_IS(flags, fcntl(slave, F_GETFL));
    CHECK_IS(0, leat_io_close(keys));
    int64_t n = leat_read_until(io, bytes, sizeof bytes, late());
    CHECK(n == 0 || n == -EIO);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_lines_of_a_terminal);

enum { READERS = 4 };

static int results(struct user *readers, int64_t result)
{
    int n = 0;
    for (int i = 0; i < READERS; i++)
        n += atomic_load(&readers[i].result) == result;
    return n;
}

/* A reader that was too late waits on, and not in the system: there nothing would cancel it. */
static int shares_a_terminal(void *arg)
{
    (void)arg;
    int master, slave;
    open_terminal(&master, &slave);
    for (int round = 0; round < often(400) + 5; round++) {
        struct user readers[READERS];
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_io *io = adopt(scope, dup(slave));
        for (int i = 0; i < READERS; i++) {
            readers[i] = (struct user){ io, 0, LEAT_NEVER };
            CHECK_IS(0, i % 2 ? leat_go_blocking(scope, read_one, &readers[i])
                              : leat_go(scope, read_one, &readers[i]));
        }
        leat_sleep(round % 5 * LEAT_MS);
        CHECK_IS(1, write(master, "\n", 1));
        WAIT_UNTIL(results(readers, 1) == 1);
        CHECK_IS(0, leat_scope_cancel(scope));
        WAIT_UNTIL(results(readers, -ECANCELED) == READERS - 1);
        CHECK_IS(0, leat_scope_close(scope));
    }
    close(master);
    close(slave);
    return 0;
}
ON_WORKERS(shares_a_terminal);

static int reads_counters(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    uint64_t count = 0, one = 1;
    leat_io *event = adopt(scope, eventfd(0, EFD_CLOEXEC));
    CHECK_IS(-ETIMEDOUT, leat_read_until(event, &count, sizeof count, leat_after(LEAT_MS)));
    for (int i = 0; i < 10; i++) {
        CHECK_IS(8, i % 2 ? write(leat_io_fd(event), &one, 8) : leat_write(event, &one, 8));
        CHECK_IS(8, leat_read_until(event, &count, sizeof count, late()));
        CHECK_IS(1, count);
    }
    CHECK_IS(-ETIMEDOUT, leat_read_until(event, &count, sizeof count, leat_after(LEAT_MS)));
    leat_io *timer = adopt(scope, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
    CHECK_IS(0, timerfd_settime(leat_io_fd(timer), 0, &often, NULL));
    for (int i = 0; i < 5; i++) {
        CHECK_IS(8, leat_read_until(timer, &count, sizeof count, late()));
        CHECK(count > 0);
    }
    leat_io *null = adopt(scope, open("/dev/null", O_RDWR | O_CLOEXEC));
    CHECK_IS(LEAT_IN | LEAT_OUT, leat_ready(null, LEAT_IN | LEAT_OUT, late()));
    leat_case cases[] = { LEAT_WRITABLE(null) };
    CHECK_IS(0, leat_select(cases, 1, late()));
    CHECK_IS(0, leat_read(null, &count, 1));
    int ends[2];
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    close(ends[0]);
    CHECK_IS(-EBADF, leat_io_adopt(scope, ends[0], &event));
    CHECK_IS(-EBADF, leat_poll(ends[0], LEAT_IN, LEAT_NOW));
    CHECK(leat_poll(ends[1], LEAT_OUT, late()) & LEAT_HUP);
    close(ends[1]);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_counters);

/* ---- copies ---- */

struct copying {
    leat_io *to, *from;
    int64_t result;
};

static int copy_all(void *arg)
{
    struct copying *copying = arg;
    copying->result = leat_copy(copying->to, copying->from, INT64_MAX, LEAT_NEVER);
    return leat_shutdown(copying->to, SHUT_WR);
}

enum { BYTES = 300000 };

struct writing {
    leat_io *to;
    const char *bytes;
};

/* Not by the party that reads at the other end: pipe and socket together may hold less than all. */
static int write_and_close(void *arg)
{
    struct writing *writing = arg;
    CHECK_IS(BYTES, leat_write(writing->to, writing->bytes, BYTES));
    return leat_io_close(writing->to);
}

static int copies_between_kinds(void *arg)
{
    (void)arg;
    char *bytes = malloc(2 * BYTES), *got = malloc(2 * BYTES);
    for (int i = 0; i < 2 * BYTES; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    for (int kind = 0; kind < 3; kind++) {
        struct crew crew;
        leat_io *a, *b, *from;
        struct writing writing = { NULL, bytes };
        crew_open(&crew);
        adopt_pair(crew.scope, SOCK_STREAM | (kind ? SOCK_NONBLOCK : 0), &a, &b);
        FILE *file = tmpfile();
        if (kind < 2) {
            CHECK_IS(1, fwrite(bytes, BYTES, 1, file));
            CHECK_IS(0, fflush(file));
            rewind(file);
            from = adopt(crew.scope, dup(fileno(file)));
        } else {
            adopt_pipe(crew.scope, 0, &from, &writing.to);
        }
        struct copying copying = { a, from, 0 };
        crew_go(&crew, kind_of(kind), copy_all, &copying);
        if (kind == 2)
            crew_go(&crew, TASK, write_and_close, &writing);
        CHECK_IS(BYTES, leat_read_full(b, got, 2 * BYTES, late()));
        CHECK(memcmp(bytes, got, BYTES) == 0);
        CHECK_IS(0, leat_copy(a, from, 1, LEAT_NEVER));
        crew_close(&crew);
        CHECK_IS(BYTES, copying.result);
        fclose(file);
    }
    free(bytes);
    free(got);
    return 0;
}
ON_WORKERS(copies_between_kinds);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(reads_on_after_a_border),
        TESTS_ON_WORKERS(keeps_datagrams_apart),
        TESTS_ON_WORKERS(sends_to_a_full_socket),
        TESTS_ON_WORKERS(reads_lines_of_a_terminal),
        TESTS_ON_WORKERS(reads_counters),
        TESTS_ON_WORKERS(copies_between_kinds),
        TESTS_ON_WORKERS(error_queue_hides_no_bytes),
        TESTS_ON_WORKERS(receives_descriptors_behind_others_bytes),
        TESTS_ON_WORKERS(shares_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
