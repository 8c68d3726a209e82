/* test_io_nasty.c: descriptors of all kinds, and what the kernel says of them that is easy to
 * overlook. */
#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* A wait that ends at this deadline has lost something. */
static int64_t late(void)
{
    return leat_after(30 * LEAT_S);
}

static leat_io *adopt(leat_scope *scope, int fd)
{
    leat_io *io = NULL;
    CHECK(fd >= 0);
    CHECK_IS(0, leat_io_adopt(scope, fd, &io));
    return io;
}

/* ends[0] is adopted as *a, ends[1] as *b. */
static void adopt_pair(leat_scope *scope, int type, leat_io **a, leat_io **b)
{
    int ends[2];
    CHECK_IS(0, socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
    *a = adopt(scope, ends[0]);
    *b = adopt(scope, ends[1]);
}

static void adopt_pipe(leat_scope *scope, int flags, leat_io **from, leat_io **to)
{
    int ends[2];
    CHECK_IS(0, pipe2(ends, O_CLOEXEC | flags));
    *from = adopt(scope, ends[0]);
    *to = adopt(scope, ends[1]);
}

static void tcp_pair(int ends[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, bind(listener, (struct sockaddr *)&address, size));
    CHECK_IS(0, listen(listener, 1));
    CHECK_IS(0, getsockname(listener, (struct sockaddr *)&address, &size));
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, connect(ends[0], (struct sockaddr *)&address, size));
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(ends[1] >= 0);
    close(listener);
}

/* Registers the descriptor and lowers its channel. */
static void find_empty(leat_io *io)
{
    char byte;
    CHECK_IS(-ETIMEDOUT, leat_read_until(io, &byte, 1, leat_after(LEAT_MS)));
    CHECK_IS(-EAGAIN, leat_read_until(io, &byte, 1, LEAT_NOW));
}

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
    /* A UNIX socket stops a read behind a message with descriptors, */
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
    /* and a pipe behind each packet, which only the writer needs to ask for. */
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

/* The kernel tells a socket that is not connected when the receiver has taken its own datagrams,
 * and nothing of others'. */
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

/* ---- ends and errors behind the last bytes ---- */

static int finds_the_end_behind_bytes(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char bytes[10];
    for (int kind = 0; kind < 3; kind++) {
        for (int half = 0; half < 2; half++) {
            int ends[2];
            if (kind == 0)
                tcp_pair(ends);
            else if (kind == 1)
                CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
            else
                CHECK_IS(0, pipe2(ends, O_CLOEXEC));
            leat_io *io = adopt(scope, ends[0]);
            find_empty(io);
            CHECK_IS(3, write(ends[1], "abc", 3));
            if (half && kind < 2)
                CHECK_IS(0, shutdown(ends[1], SHUT_WR));
            else
                close(ends[1]);
            CHECK_IS(3, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK_IS(0, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK_IS(0, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK(leat_ready(io, LEAT_IN, late()) & LEAT_IN);
            leat_case cases[] = { LEAT_READABLE(io) };
            CHECK_IS(0, leat_select(cases, 1, late()));
            if (half && kind < 2) {
                CHECK_IS(2, leat_write(io, "xy", 2)); /* the other direction goes on */
                CHECK_IS(2, read(ends[1], bytes, 10));
                close(ends[1]);
            }
            CHECK_IS(0, leat_io_close(io));
        }
    }
    return leat_scope_close(scope);
}
ON_WORKERS(finds_the_end_behind_bytes);

static int keeps_an_error_for_the_next_call(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b;
    char bytes[10];
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    CHECK_IS(1, leat_write(a, "x", 1)); /* never read: so the close resets the connection */
    CHECK_IS(3, leat_write(b, "abc", 3));
    CHECK_IS(0, leat_io_close(b));
    CHECK_IS(3, leat_read_full(a, bytes, sizeof bytes, late()));
    CHECK_IS(-ECONNRESET, leat_read(a, bytes, 1));
    CHECK_IS(0, leat_read(a, bytes, 1));
    return leat_scope_close(scope);
}
ON_WORKERS(keeps_an_error_for_the_next_call);

/* ---- SIGPIPE ---- */

static _Atomic int pipe_signals;

static void count_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&pipe_signals, 1);
}

static char many[1 << 20];

static int read_and_close(void *arg)
{
    int fd = *(int *)arg;
    char bytes[100];
    nap();
    CHECK(read(fd, bytes, sizeof bytes) > 0);
    nap();
    return close(fd);
}

/* A named pipe can not be told not to block. */
static void fifo(int ends[2])
{
    static _Atomic int number;
    char name[64];
    snprintf(name, sizeof name, "/tmp/leat-fifo-%d-%d", (int)getpid(),
             atomic_fetch_add(&number, 1));
    CHECK_IS(0, mkfifo(name, 0600));
    ends[0] = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ends[1] = open(name, O_WRONLY | O_CLOEXEC);
    CHECK(ends[0] >= 0 && ends[1] >= 0);
    CHECK_IS(0, fcntl(ends[0], F_SETFL, 0));
    unlink(name);
}

static int write_without_reader(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b, *from, *to;
    sigset_t pending;
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    adopt_pipe(scope, 0, &from, &to);
    CHECK_IS(0, leat_io_close(b));
    CHECK_IS(0, leat_io_close(from));
    CHECK_IS(-EPIPE, leat_write(a, "x", 1));
    CHECK_IS(-EPIPE, leat_sendto(a, "x", 1, NULL, 0, LEAT_NEVER));
    CHECK_IS(-EPIPE, leat_write(to, "x", 1));
    adopt_pipe(scope, O_NONBLOCK, &from, &to);
    CHECK_IS(0, leat_io_close(from));
    CHECK_IS(-EPIPE, leat_write(to, "x", 1));
    /* sendfile raises it for sockets, too. */
    adopt_pair(scope, SOCK_STREAM | SOCK_NONBLOCK, &a, &b);
    CHECK_IS(0, leat_io_close(b));
    FILE *file = tmpfile();
    CHECK_IS(1, fwrite("hello", 5, 1, file));
    CHECK_IS(0, fflush(file));
    from = adopt(scope, dup(fileno(file)));
    CHECK_IS(0, lseek(leat_io_fd(from), 0, SEEK_SET));
    CHECK_IS(-EPIPE, leat_copy(a, from, 100, LEAT_NEVER));
    fclose(file);
    /* A write that has moved some bytes. */
    int ends[2];
    struct foreign thread;
    fifo(ends);
    to = adopt(scope, ends[1]);
    foreign_start(&thread, read_and_close, &ends[0]);
    CHECK(leat_write(to, many, sizeof many) > 0);
    CHECK_IS(0, foreign_join(&thread));
    CHECK_IS(-EPIPE, leat_write(to, many, 1));
    if (!lt_current_worker()) {
        CHECK_IS(0, sigpending(&pending));
        CHECK_IS(0, sigismember(&pending, SIGPIPE));
    }
    return leat_scope_close(scope);
}

static int raises_no_signal(void *arg)
{
    (void)arg;
    struct crew crew;
    struct sigaction before, count = { .sa_handler = count_signal };
    sigset_t sigpipe, mask;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    CHECK_IS(0, sigaction(SIGPIPE, &count, &before));
    crew_open(&crew);
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        /* Threads that leat did not start inherit their maker's mask. */
        CHECK_IS(0, pthread_sigmask(SIG_UNBLOCK, &sigpipe, &mask));
        crew_go(&crew, kind, write_without_reader, NULL);
        CHECK_IS(0, pthread_sigmask(SIG_SETMASK, &mask, NULL));
    }
    crew_close(&crew);
    CHECK_IS(0, sigaction(SIGPIPE, &before, NULL));
    CHECK_IS(0, atomic_load(&pipe_signals));
    return 0;
}
ON_WORKERS(raises_no_signal);

/* ---- kinds ---- */

/* A write that is cut short by its deadline says how far it came. */
static int cuts_a_write_at_its_deadline(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < 4; kind++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        int ends[2];
        if (kind == 0)
            CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
        else if (kind == 1)
            CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        else if (kind == 2)
            tcp_pair(ends);
        else
            fifo(ends);
        int flags = fcntl(ends[1], F_GETFL);
        leat_io *from = adopt(scope, ends[0]), *to = adopt(scope, ends[1]);
        char *got = malloc(16 * sizeof many);
        int64_t sent = 0, n;
        while ((n = leat_write_until(to, many, sizeof many, leat_after(LEAT_MS))) > 0)
            sent += n;
        CHECK_IS(-ETIMEDOUT, n);
        CHECK(sent > 0 && sent < (int64_t)(16 * sizeof many));
        CHECK_IS(sent, leat_read_full(from, got, (size_t)sent, late()));
        find_empty(from);
        CHECK_IS(
            sizeof many < (size_t)sent ? 4096 : sent,
            leat_write_until(to, many, sizeof many < (size_t)sent ? 4096 : (size_t)sent, late()));
        CHECK_IS(flags, fcntl(ends[1], F_GETFL));
        CHECK_IS(0, fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        free(got);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}
ON_WORKERS(cuts_a_write_at_its_deadline);

/* ---- more kinds ---- */

static int reads_lines_of_a_terminal(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char bytes[100];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(master >= 0);
    CHECK_IS(0, grantpt(master));
    CHECK_IS(0, unlockpt(master));
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
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

static int gives_descriptors_back(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int ends[2];
    char byte;
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    for (int i = 0; i < 3; i++) {
        leat_io *io = adopt(scope, ends[0]);
        if (i)
            find_empty(io);
        CHECK_IS(ends[0], leat_io_release(io));
        CHECK_IS(-EBADF, leat_io_release(io));
        CHECK_IS(-EBADF, leat_read(io, &byte, 1));
        CHECK_IS(-EBADF, leat_io_close(io));
        CHECK_IS(ends[0], leat_io_fd(io));
    }
    CHECK_IS(-EINVAL, leat_io_release(NULL));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(1, write(ends[1], "x", 1));
    CHECK_IS(1, read(ends[0], &byte, 1));
    close(ends[0]);
    close(ends[1]);
    return 0;
}
ON_WORKERS(gives_descriptors_back);

/* ---- the same number from many ---- */

static int poll_it(void *arg)
{
    int found = leat_poll(*(int *)arg, LEAT_IN, late());
    CHECK_IS(LEAT_IN, found);
    return 0;
}

static int polls_from_many(void *arg)
{
    (void)arg;
    for (int round = 0; round < 40 / SCALE + 1; round++) {
        struct crew crew;
        int ends[2];
        crew_open(&crew);
        CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        leat_io *twice[2] = { adopt(NULL, ends[0]), adopt(NULL, ends[0]) };
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_ready(twice[i], LEAT_IN, LEAT_NOW) + EAGAIN);
        for (int i = 0; i < 10; i++)
            crew_go(&crew, kind_of(i), poll_it, &ends[0]);
        if (round % 2)
            leat_yield();
        CHECK_IS(1, write(ends[1], "x", 1));
        crew_close(&crew);
        CHECK_IS(LEAT_IN, leat_ready(twice[0], LEAT_IN, late()));
        CHECK_IS(LEAT_IN, leat_ready(twice[1], LEAT_IN, late()));
        CHECK_IS(0, leat_io_unref(twice[0]));
        CHECK_IS(ends[0], leat_io_fd(twice[1]));
        CHECK_IS(0, leat_io_unref(twice[1]));
        close(ends[1]);
    }
    return 0;
}
ON_WORKERS(polls_from_many);

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

/* ---- fairness ---- */

struct fair {
    leat_io *io;
    _Atomic bool stop;
    _Atomic int turns;
};

static int read_always(void *arg)
{
    struct fair *fair = arg;
    char byte;
    while (!atomic_load(&fair->stop))
        CHECK_IS(1, leat_read(fair->io, &byte, 1));
    return 0;
}

static int yield_always(void *arg)
{
    struct fair *fair = arg;
    while (!atomic_load(&fair->stop)) {
        atomic_fetch_add(&fair->turns, 1);
        leat_yield();
    }
    return 0;
}

static int lets_others_run(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct fair zero = { .io = adopt(scope, open("/dev/zero", O_RDONLY | O_CLOEXEC)) },
                busy = { 0 };
    leat_io *a, *b;
    char byte;
    CHECK_IS(0, leat_go(scope, read_always, &zero));
    CHECK_IS(0, leat_go(scope, yield_always, &busy));
    for (int i = 0; i < 10; i++) {
        int turns = atomic_load(&busy.turns);
        WAIT_UNTIL(atomic_load(&busy.turns) > turns);
    }
    atomic_store(&zero.stop, true);
    /* A busy run queue does not keep descriptors waiting. */
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    for (int i = 0; i < 10; i++) {
        find_empty(a);
        CHECK_IS(1, write(leat_io_fd(b), "x", 1));
        CHECK_IS(1, leat_read_until(a, &byte, 1, late()));
    }
    atomic_store(&busy.stop, true);
    return leat_scope_close(scope);
}
ON_WORKERS(lets_others_run);

/* ---- many, and none that is active ---- */

static int reads_one_of_many(void *arg)
{
    (void)arg;
    enum { MANY = 5000 / SCALE };
    struct rlimit limit;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    int n = limit.rlim_cur < 2 * MANY + 200 ? (int)limit.rlim_cur / 2 - 200 : MANY;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io **near = malloc((size_t)n * sizeof *near), **far = malloc((size_t)n * sizeof *far);
    for (int i = 0; i < n; i++) {
        char byte;
        adopt_pair(scope, SOCK_STREAM, &near[i], &far[i]);
        CHECK_IS(-EAGAIN, leat_read_until(near[i], &byte, 1, LEAT_NOW));
    }
    for (int i = 0; i < n; i += n / 50) {
        char byte = 0, sent = (char)i;
        CHECK_IS(1, leat_write(far[i], &sent, 1));
        CHECK_IS(1, leat_read_until(near[i], &byte, 1, late()));
        CHECK_IS(sent, byte);
    }
    free(near);
    free(far);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_one_of_many);

static uint64_t sleeps(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    return counts.sleeps;
}

struct reader {
    leat_io *io;
    int64_t result;
};

static int read_one(void *arg)
{
    struct reader *reader = arg;
    char byte;
    reader->result = leat_read(reader->io, &byte, 1);
    return 0;
}

/* With descriptors on all workers, nobody wakes while nothing comes. Other programs may delay the
 * workers' way to sleep: so one calm interval of many is enough. */
static void rests_without_wakeups(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        leat_io *a[8], *b[8];
        struct reader readers[8];
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 8; i++) {
            adopt_pair(scope, SOCK_STREAM, &a[i], &b[i]);
            readers[i] = (struct reader){ a[i], 0 };
            CHECK_IS(0, leat_go(scope, read_one, &readers[i]));
        }
        uint64_t before;
        int tries = 0;
        do {
            CHECK(tries++ < 100);
            nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
            before = sleeps();
            nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        } while (sleeps() != before);
        for (int i = 0; i < 8; i++)
            CHECK_IS(1, leat_write(b[i], "x", 1));
        CHECK_IS(0, leat_scope_close(scope));
        for (int i = 0; i < 8; i++)
            CHECK_IS(1, readers[i].result);
        CHECK_IS(0, leat_stop());
    }
}

/* ---- signals while a thread waits ---- */

static void ignore_signal(int signal)
{
    (void)signal;
}

static int read_in_a_storm(void *arg)
{
    struct reader *reader = arg;
    char byte;
    int64_t begin = leat_now();
    CHECK_IS(-ETIMEDOUT, leat_read_until(reader->io, &byte, 1, leat_after(50 * LEAT_MS)));
    CHECK(leat_now() - begin >= 50 * LEAT_MS);
    reader->result = leat_read(reader->io, &byte, 1);
    return 0;
}

static void waits_through_signals(void **state)
{
    (void)state;
    struct sigaction before, nothing = { .sa_handler = ignore_signal };
    CHECK_IS(0, sigaction(SIGUSR1, &nothing, &before));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_io *a, *b;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    struct reader reader = { a, 0 };
    struct foreign thread;
    foreign_start(&thread, read_in_a_storm, &reader);
    for (int i = 0; i < 200; i++) {
        CHECK_IS(0, pthread_kill(thread.thread, SIGUSR1));
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    CHECK_IS(1, leat_write(b, "x", 1));
    CHECK_IS(0, foreign_join(&thread));
    CHECK_IS(1, reader.result);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, sigaction(SIGUSR1, &before, NULL));
}

/* ---- a sandbox ---- */

/* From now on epoll_pwait2 fails, in all threads. */
static void refuse_pwait2(int error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof steps / sizeof *steps, .filter = steps };
    CHECK_IS(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK_IS(0, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
}

static int wait_and_read(void *arg)
{
    leat_io *a, *b;
    char byte;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    find_empty(a);
    for (int later = 0; later < 2; later++) {
        int64_t begin = leat_now();
        CHECK_IS(-ETIMEDOUT, leat_read_until(a, &byte, 1, leat_after(3 * LEAT_MS / 2)));
        CHECK(leat_now() - begin >= 3 * LEAT_MS / 2);
        CHECK_IS(1, write(leat_io_fd(b), "x", 1));
        CHECK_IS(1, leat_read_until(a, &byte, 1, late()));
        if (arg && !later)
            refuse_pwait2(*(int *)arg);
    }
    return leat_scope_close(scope);
}

static void waits_in_a_sandbox(void **state)
{
    (void)state;
    skip_under_emulation();
    for (int i = 0; i < 4; i++) {
        int status, error = i % 2 ? EPERM : ENOSYS;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(100);
            if (i < 2)
                refuse_pwait2(error);
            CHECK_IS(0, leat_main_with(wait_and_read, i < 2 ? NULL : &error,
                                       &(leat_options){ .workers = 2 }));
            _exit(0);
        }
        CHECK_IS(child, waitpid(child, &status, 0));
        CHECK_IS(0, status);
    }
}

/* ---- the search for deadlocks ---- */

/* The parent process writes: no thread of this one could. */
static void is_no_deadlock(void **state)
{
    (void)state;
    skip_under_emulation();
    int ends[2], status;
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct reader reader = { NULL, 0 };
        alarm(100);
        CHECK_IS(0,
                 leat_start(&(leat_options){ .workers = 2, .watch = LEAT_WATCH_DEADLOCK_ABORT }));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        reader.io = adopt(scope, ends[0]);
        CHECK_IS(0, leat_go(scope, read_one, &reader));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(1, reader.result);
        _exit(0);
    }
    nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
    CHECK_IS(1, write(ends[1], "x", 1));
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(reads_on_after_a_border),
        TESTS_ON_WORKERS(keeps_datagrams_apart),
        TESTS_ON_WORKERS(sends_to_a_full_socket),
        TESTS_ON_WORKERS(finds_the_end_behind_bytes),
        TESTS_ON_WORKERS(keeps_an_error_for_the_next_call),
        TESTS_ON_WORKERS(raises_no_signal),
        TESTS_ON_WORKERS(cuts_a_write_at_its_deadline),
        TESTS_ON_WORKERS(reads_lines_of_a_terminal),
        TESTS_ON_WORKERS(reads_counters),
        TESTS_ON_WORKERS(gives_descriptors_back),
        TESTS_ON_WORKERS(polls_from_many),
        TESTS_ON_WORKERS(copies_between_kinds),
        TESTS_ON_WORKERS(lets_others_run),
        TESTS_ON_WORKERS(reads_one_of_many),
        cmocka_unit_test(waits_in_a_sandbox),
        cmocka_unit_test(is_no_deadlock),
        cmocka_unit_test(rests_without_wakeups),
        cmocka_unit_test(waits_through_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
