/* test_io_stackless.c: transfers by blocks and callbacks of several parts, of messages, on
 * descriptors that block, and accepting. */
#define _GNU_SOURCE
#include "counted.h"
#include "descriptors.h"
#include "traffic.h"

#include <sys/timerfd.h>

/* ---- blocks, several parts ---- */

struct parts_block {
    leat_block block;
    leat_io *io;
    unsigned char *bytes;
    struct iovec parts[3];
    size_t n, left;
};

static int write_parts(leat_block *b)
{
    struct parts_block *me = (struct parts_block *)b;
    LEAT_BEGIN(b);
    in_three(me->parts, me->bytes, me->n);
    LEAT_AWAIT_WRITEV(b, me->io, me->parts, 3, LEAT_NEVER, NULL);
    CHECK_IS(0, b->status);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, me->parts[i].iov_len);
    LEAT_AWAIT_WRITEV(b, me->io, me->parts, 3, LEAT_NEVER, NULL);
    CHECK_IS(-EINVAL, b->status); /* no bytes */
    LEAT_AWAIT_WRITEV(b, me->io, me->parts, -1, LEAT_NEVER, NULL);
    CHECK_IS(-EINVAL, b->status);
    LEAT_END(b);
}

static int read_parts(leat_block *b)
{
    struct parts_block *me = (struct parts_block *)b;
    LEAT_BEGIN(b);
    me->left = me->n;
    while (me->left) {
        in_three(me->parts, me->bytes + me->n - me->left, me->left);
        LEAT_AWAIT_READV(b, me->io, me->parts, 3, LEAT_NEVER, NULL);
        CHECK(b->status > 0);
        me->left -= (size_t)b->status;
    }
    LEAT_AWAIT_READ_UNTIL(b, me->io, me->bytes, 1, LEAT_NOW, NULL);
    CHECK_IS(-EAGAIN, b->status); /* from now on without a system call */
    LEAT_AWAIT_READ_UNTIL(b, me->io, me->bytes, 0, LEAT_NOW, NULL);
    CHECK_IS(-EINVAL, b->status);
    LEAT_AWAIT_READV(b, me->io, (&(struct iovec){ me->bytes, 0 }), 1, LEAT_NOW, NULL);
    CHECK_IS(-EINVAL, b->status);
    LEAT_AWAIT_READV(b, me->io, NULL, 3, LEAT_NEVER, NULL);
    CHECK_IS(-EINVAL, b->status);
    me->parts[0].iov_len = (size_t)1 << 31;
    LEAT_AWAIT_READV(b, me->io, me->parts, 1, LEAT_NEVER, NULL);
    CHECK_IS(-EINVAL, b->status);
    LEAT_END(b);
}

static int blocks_move_parts(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    struct parts_block to = { .io = ends[1], .bytes = malloc(MOST_BYTES), .n = MOST_BYTES },
                       from = { .io = ends[0], .bytes = malloc(MOST_BYTES), .n = MOST_BYTES };
    fill(to.bytes, MOST_BYTES, 0);
    CHECK_IS(0, leat_go_block(s, &to.block, write_parts));
    CHECK_IS(0, leat_go_block(s, &from.block, read_parts));
    CHECK_IS(0, leat_scope_close(s));
    expect(from.bytes, MOST_BYTES, 0);
    free(to.bytes);
    free(from.bytes);
    return 0;
}
ON_WORKERS(blocks_move_parts);

static int parts_are_moved(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char a[3] = "", b[3] = "";
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    struct iovec parts[] = { { "ab", 2 }, { NULL, 0 }, { "cde", 3 } };
    CHECK_IS(5, leat_writev(ends[1], parts, 3, late()));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, parts[i].iov_len);
    struct iovec into[] = { { a, 2 }, { NULL, 0 }, { b, 3 } };
    int64_t n = 0;
    WAIT_UNTIL(IN_SIM || leat_ready(ends[0], LEAT_IN, LEAT_NOW) == LEAT_IN);
    CHECK((n = leat_readv(ends[0], into, 3, late())) > 0);
    for (int64_t more; n < 5; n += more) {
        into[0] = (struct iovec){ n < 2 ? a + n : b + n - 2, n < 2 ? (size_t)(2 - n) : 0 };
        into[2] = n < 2 ? (struct iovec){ b, 3 } : (struct iovec){ b + n - 2, (size_t)(5 - n) };
        CHECK((more = leat_readv(ends[0], into, 3, late())) > 0);
    }
    CHECK(memcmp(a, "ab", 2) == 0 && memcmp(b, "cde", 3) == 0);
    CHECK_IS(-EAGAIN, leat_readv(ends[0], (struct iovec[]){ { a, 1 } }, 1, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_readv(ends[0], parts, 0, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_readv(ends[0], parts, 1025, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_writev(ends[0], NULL, 1, LEAT_NOW));
    return leat_scope_close(s);
}
ON_WORKERS(parts_are_moved);

/* ---- messages ---- */

struct mail {
    char control[CMSG_SPACE(sizeof(int))];
    char bytes[2][4];
    struct iovec parts[2];
    struct msghdr header;
};

static void set_up_mail(struct mail *mail)
{
    for (int i = 0; i < 2; i++)
        mail->parts[i] = (struct iovec){ mail->bytes[i], i ? 3 : 2 };
    mail->header = (struct msghdr){ .msg_iov = mail->parts,
                                    .msg_iovlen = 2,
                                    .msg_control = mail->control,
                                    .msg_controllen = sizeof mail->control };
}

/* "ab" and "cde", and a descriptor. */
static void write_mail(struct mail *mail, int passed)
{
    memset(mail, 0, sizeof *mail);
    set_up_mail(mail);
    memcpy(mail->bytes, "ab\0\0cde", 7);
    struct cmsghdr *header = CMSG_FIRSTHDR(&mail->header);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
}

static void check_mail(struct mail *mail)
{
    int got;
    struct cmsghdr *header = CMSG_FIRSTHDR(&mail->header);
    CHECK(memcmp(mail->bytes[0], "ab", 2) == 0 && memcmp(mail->bytes[1], "cde", 3) == 0);
    CHECK(header && header->cmsg_type == SCM_RIGHTS);
    memcpy(&got, CMSG_DATA(header), sizeof got);
    CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
    close(got);
}

static int messages_are_moved(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    for (int type = 0; type < 2; type++) {
        leat_io *a, *b;
        struct mail mail;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        adopt_pair(s, type ? SOCK_DGRAM : SOCK_STREAM, &a, &b);
        set_up_mail(&mail);
        CHECK_IS(-EAGAIN, leat_recvmsg(a, &mail.header, 0, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_recvmsg(a, &mail.header, 0, leat_after(LEAT_MS)));
        write_mail(&mail, leat_io_fd(b));
        CHECK_IS(5, leat_sendmsg(b, &mail.header, 0, late()));
        memset(&mail, 0, sizeof mail);
        set_up_mail(&mail);
        CHECK_IS(5, leat_recvmsg(a, &mail.header, 0, late()));
        check_mail(&mail);
        CHECK_IS(-EINVAL, leat_recvmsg(a, NULL, 0, LEAT_NOW));
        CHECK_IS(-EINVAL, leat_sendmsg(a, NULL, 0, LEAT_NOW));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(messages_are_moved);

struct post_block {
    leat_block block;
    leat_alarm alarm;
    leat_io *io;
    struct mail mail;
    struct sockaddr_in address;
    socklen_t size;
    char bytes[10];
    _Atomic bool waits;
};

/* Receives two messages, by either call, and answers the first. */
static int receive_post(leat_block *b)
{
    struct post_block *me = (struct post_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECVFROM(b, me->io, me->bytes, 10, NULL, NULL, leat_after(LEAT_MS), &me->alarm);
    CHECK_IS(-ETIMEDOUT, b->status);
    atomic_store(&me->waits, true);
    me->size = sizeof me->address;
    LEAT_AWAIT_RECVFROM(b, me->io, me->bytes, 10, (struct sockaddr *)&me->address, &me->size,
                        LEAT_NEVER, NULL);
    CHECK_IS(3, b->status);
    LEAT_AWAIT_SENDTO(b, me->io, me->bytes, 3, (struct sockaddr *)&me->address, me->size,
                      LEAT_NEVER, NULL);
    CHECK_IS(3, b->status);
    set_up_mail(&me->mail);
    LEAT_AWAIT_RECVMSG(b, me->io, &me->mail.header, 0, LEAT_NEVER, NULL);
    CHECK_IS(5, b->status);
    CHECK(memcmp(me->mail.bytes[1], "cde", 3) == 0);
    me->mail.header.msg_name = &me->address;
    me->mail.header.msg_namelen = me->size;
    LEAT_AWAIT_SENDMSG(b, me->io, &me->mail.header, 0, LEAT_NEVER, NULL);
    CHECK_IS(5, b->status);
    LEAT_END(b);
}

static int blocks_move_messages(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    leat_io *there, *here;
    char text[LEAT_ADDRESS_TEXT], bytes[10];
    struct mail mail;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_listen(s, "udp:127.0.0.1:0", 0, &there));
    strcpy(text, "udp:");
    CHECK(leat_io_local_text(there, text + 4, sizeof text - 4) > 0);
    CHECK_IS(0, leat_connect(s, strncmp(text + 4, "udp:", 4) ? text : text + 4, &here, late()));
    struct post_block block = { .io = there };
    CHECK_IS(0, leat_go_block(s, &block.block, receive_post));
    WAIT_UNTIL(atomic_load(&block.waits));
    CHECK_IS(3, leat_sendto(here, "xyz", 3, NULL, 0, late()));
    CHECK_IS(3, leat_recvfrom(here, bytes, 10, NULL, NULL, late()));
    CHECK(memcmp(bytes, "xyz", 3) == 0);
    write_mail(&mail, 0);
    mail.header.msg_controllen = 0;
    CHECK_IS(5, leat_sendmsg(here, &mail.header, 0, late()));
    CHECK_IS(5, leat_recvfrom(here, bytes, 10, NULL, NULL, late()));
    CHECK(memcmp(bytes, "abcde", 5) == 0);
    return leat_scope_close(s);
}
ON_WORKERS(blocks_move_messages);

/* ---- descriptors that block ---- */

struct file_block {
    leat_block block;
    leat_io *io;
    unsigned char *bytes;
    struct iovec parts[3];
    size_t done;
    int64_t result;
};

static int write_file(leat_block *b)
{
    struct file_block *me = (struct file_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_WRITE(b, me->io, me->bytes, MOST_BYTES / 2, me->done);
    CHECK_IS(0, b->status);
    CHECK_IS(MOST_BYTES / 2, me->done);
    in_three(me->parts, me->bytes + MOST_BYTES / 2, MOST_BYTES / 2);
    LEAT_AWAIT_WRITEV(b, me->io, me->parts, 3, LEAT_NEVER, NULL);
    CHECK_IS(0, b->status);
    LEAT_END(b);
}

static int read_file(leat_block *b)
{
    struct file_block *me = (struct file_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ(b, me->io, me->bytes, 1000);
    CHECK_IS(1000, b->status);
    in_three(me->parts, me->bytes + 1000, MOST_BYTES - 1000);
    LEAT_AWAIT_READV(b, me->io, me->parts, 3, LEAT_NEVER, NULL);
    CHECK_IS(MOST_BYTES - 1000, b->status);
    LEAT_AWAIT_READ(b, me->io, me->bytes, 1000);
    CHECK_IS(0, b->status);
    LEAT_AWAIT_READ(b, me->io, NULL, 1000);
    CHECK_IS(-EINVAL, b->status);
    LEAT_END(b);
}

static unsigned pool_threads(void)
{
    unsigned threads, idle;
    lt_pool_count(&threads, &idle);
    return threads;
}

static leat_io *adopt_file(leat_scope *scope, FILE *file)
{
    rewind(file);
    return adopt(scope, dup(fileno(file)));
}

/* A thread of the pool makes the calls, not the worker. */
static int files_go_through_the_pool(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    FILE *file = tmpfile();
    unsigned char *bytes = malloc(MOST_BYTES);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, pool_threads());
    fill(bytes, MOST_BYTES, 0);
    struct file_block to = { .io = adopt_file(s, file), .bytes = bytes };
    CHECK_IS(0, leat_go_block(s, &to.block, write_file));
    CHECK_IS(0, leat_block_join(&to.block));
    CHECK(pool_threads() > 0);
    memset(bytes, 0, MOST_BYTES);
    struct file_block from = { .io = adopt_file(s, file), .bytes = bytes };
    CHECK_IS(0, leat_go_block(s, &from.block, read_file));
    CHECK_IS(0, leat_block_join(&from.block));
    expect(bytes, MOST_BYTES, 0);

    struct counted reads = counted_op(s, 0), writes = counted_op(s, LEAT_ON_WORKER);
    leat_io *io = adopt_file(s, file);
    CHECK_IS(0, leat_write_then(&writes.op, io, bytes + 1, 9999, count_call));
    WAIT_UNTIL(atomic_load(&writes.calls));
    CHECK_IS(0, atomic_load(&writes.status));
    CHECK_IS(9999, writes.op.done);
    io = adopt_file(s, file);
    memset(bytes, 0, MOST_BYTES);
    CHECK_IS(0, leat_read_then(&reads.op, io, bytes, MOST_BYTES, count_call));
    CHECK_IS(-EALREADY, leat_withdraw(&reads.op.op)); /* it can not be taken back */
    WAIT_UNTIL(atomic_load(&reads.calls));
    CHECK_IS(MOST_BYTES, atomic_load(&reads.status));
    expect(bytes, 9999, 1);
    expect(bytes + 9999, MOST_BYTES - 9999, 9999);

    /* A write to a file that is open for reading only; a folder. */
    io = adopt(s, open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    CHECK_IS(0, leat_write_then(&writes.op, io, bytes, 10, count_call));
    WAIT_UNTIL(atomic_load(&writes.calls) == 2);
    CHECK_IS(-EBADF, atomic_load(&writes.status));
    CHECK_IS(0, leat_read_then(&reads.op, adopt(s, open("/", O_RDONLY | O_CLOEXEC)), bytes, 1,
                               count_call));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(2, atomic_load(&reads.calls));
    CHECK_IS(-EISDIR, atomic_load(&reads.status));
    fclose(file);
    free(bytes);
    return 0;
}
ON_WORKERS(files_go_through_the_pool);

struct timer_block {
    leat_block block;
    leat_io *io;
    uint64_t count;
};

static int read_timer(leat_block *b)
{
    struct timer_block *me = (struct timer_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ(b, me->io, &me->count, sizeof me->count);
    CHECK_IS(8, b->status);
    LEAT_END(b);
}

/* A call that may block is made by a thread, after a wait for readiness. */
static int others_are_waited_for_first(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    const struct itimerspec soon = { { 0, 0 }, { 0, 3000000 } };
    for (int i = 0; i < 3; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_io *timer = adopt(s, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
        struct timer_block block = { .io = timer };
        struct counted op = counted_op(s, 0);
        uint64_t count = 0;
        if (i == 0)
            CHECK_IS(0, leat_go_block(s, &block.block, read_timer));
        else
            CHECK_IS(0, leat_read_then(&op.op, timer, &count, sizeof count, count_call));
        WAIT_UNTIL(readers_of(timer) == 1);
        if (i == 2)
            CHECK_IS(0, leat_withdraw(&op.op.op));
        CHECK_IS(0, timerfd_settime(leat_io_fd(timer), 0, &soon, NULL));
        if (i == 2)
            CHECK_IS(8, leat_read_until(timer, &count, sizeof count, late()));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(1, i == 0 ? block.count : count);
        CHECK_IS(i == 1, atomic_load(&op.calls));
        CHECK_IS(i == 1 ? 8 : 0, atomic_load(&op.status));
    }
    return 0;
}
ON_WORKERS(others_are_waited_for_first);

/* ---- accepting ---- */

struct accept_block {
    leat_block block;
    leat_io *listener, *got;
    leat_scope *scope;
};

static int accept_one(leat_block *b)
{
    struct accept_block *me = (struct accept_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_ACCEPT(b, me->listener, me->scope, &me->got, LEAT_NEVER, NULL);
    CHECK_IS(0, b->status);
    LEAT_END(b);
}

static leat_io *blocking_listener(leat_scope *scope)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    CHECK_IS(0, listen(fd, 10));
    return adopt(scope, fd);
}

static void say_hello(leat_io *from, leat_io *to)
{
    char bytes[5];
    CHECK_IS(5, leat_write(from, "hello", 5));
    CHECK_IS(5, leat_read_full(to, bytes, 5, late()));
}

static int accepts_by_blocks_and_callbacks(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    for (int foreign = 0; foreign < 2; foreign++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        leat_io *listener, *call, *got = NULL;
        char text[LEAT_ADDRESS_TEXT];
        if (foreign)
            listener = blocking_listener(outer);
        else
            CHECK_IS(0, leat_listen(outer, "127.0.0.1:0", 0, &listener));
        CHECK(leat_io_local_text(listener, text, sizeof text) > 0);
        struct accept_block block = { .listener = listener, .scope = outer };
        CHECK_IS(0, leat_go_block(s, &block.block, accept_one));
        CHECK_IS(0, leat_connect(outer, text, &call, late()));
        CHECK_IS(0, leat_block_join(&block.block));
        say_hello(call, block.got);

        struct counted op = counted_op(s, 0);
        CHECK_IS(0, leat_accept_then(&op.op, listener, outer, &got, count_call));
        CHECK_IS(0, leat_connect(outer, text, &call, late()));
        WAIT_UNTIL(atomic_load(&op.calls));
        CHECK_IS(0, atomic_load(&op.status));
        say_hello(got, call);

        /* Taken back: the connection waits for the next. */
        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, count_call));
        CHECK_IS(0, leat_withdraw(&op.op.op));
        CHECK_IS(0, leat_connect(outer, text, &call, late()));
        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, count_call));
        WAIT_UNTIL(atomic_load(&op.calls) == 2);
        CHECK_IS(0, atomic_load(&op.status));
        say_hello(call, got);
        CHECK_IS(0, leat_io_unref(got));

        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, count_call));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(3, atomic_load(&op.calls));
        CHECK_IS(-ECANCELED, atomic_load(&op.status));
        CHECK_IS(-EINVAL, leat_accept_then(&op.op, listener, NULL, NULL, count_call));
        CHECK_IS(-EINVAL, leat_accept_then(&op.op, NULL, NULL, &got, count_call));
        CHECK_IS(-EINVAL, leat_accept_then(NULL, listener, NULL, &got, count_call));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(accepts_by_blocks_and_callbacks);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(blocks_move_parts),
        TESTS_ON_WORKERS(parts_are_moved),
        TESTS_ON_WORKERS(messages_are_moved),
        TESTS_ON_WORKERS(blocks_move_messages),
        TESTS_ON_WORKERS(files_go_through_the_pool),
        TESTS_ON_WORKERS(others_are_waited_for_first),
        TESTS_ON_WORKERS(accepts_by_blocks_and_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
