/* test_io_stackless.c: transfers by blocks and callbacks: of all forms, on descriptors that block,
 * and taken back at any moment. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "traffic.h"

#include <sys/timerfd.h>

/* ---- callbacks ---- */

struct told {
    leat_io_op op;
    _Atomic int calls, status;
};

static void told(leat_io_op *op, int status)
{
    struct told *me = (struct told *)op;
    atomic_store(&me->status, status);
    atomic_fetch_add(&me->calls, 1);
}

static struct told told_op(leat_scope *scope, unsigned flags)
{
    return (struct told){ .op = LEAT_IO_OP(scope, flags) };
}

static int callbacks_transfer(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char bytes[10] = "", byte;
    for (int i = 0; i < 4; i++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        open_two(outer, true, ends);
        struct told reads = told_op(i & 1 ? s : NULL, i & 2 ? LEAT_ON_WORKER : 0), writes = reads;
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, sizeof bytes, told));
        CHECK_IS(0, atomic_load(&reads.calls));
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], "hello", 5, told));
        WAIT_UNTIL(atomic_load(&reads.calls));
        WAIT_UNTIL(atomic_load(&writes.calls));
        CHECK(atomic_load(&reads.status) > 0 && bytes[0] == 'h');
        CHECK_IS(0, atomic_load(&writes.status));
        CHECK_IS(5, writes.op.done);
        size_t got = (size_t)atomic_load(&reads.status);
        CHECK_IS(5 - got, got < 5 ? leat_read_full(ends[0], bytes + got, 5 - got, late()) : 0);
        CHECK(memcmp(bytes, "hello", 5) == 0);

        /* Again with the same memory: ended by a close, */
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, 1, told));
        CHECK_IS(0, leat_io_close(ends[0]));
        WAIT_UNTIL(atomic_load(&reads.calls) == 2);
        CHECK_IS(-EBADF, atomic_load(&reads.status));
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, 1, told));
        WAIT_UNTIL(atomic_load(&reads.calls) == 3);
        CHECK_IS(-EBADF, atomic_load(&reads.status));
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], "x", 1, told));
        WAIT_UNTIL(atomic_load(&writes.calls) == 2);
        CHECK_IS(-EPIPE, atomic_load(&writes.status));
        CHECK_IS(0, writes.op.done);
        CHECK_IS(0, leat_scope_close(s));

        /* and by the scope, which may have been cancelled before. */
        open_two(outer, true, ends);
        s = leat_scope_open(LEAT_NEVER);
        struct told one = told_op(s, 0), two = told_op(s, 0);
        CHECK_IS(0, leat_read_then(&one.op, ends[0], bytes, 1, told));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_read_then(&two.op, ends[0], bytes, 1, told));
        CHECK_IS(0, leat_scope_close(s));
        CHECK(atomic_load(&one.calls) == 1 && atomic_load(&one.status) == -ECANCELED);
        CHECK(atomic_load(&two.calls) == 1 && atomic_load(&two.status) == -ECANCELED);
        CHECK_IS(1, leat_write(ends[1], "x", 1));
        CHECK_IS(1, leat_read(ends[0], &byte, 1));

        CHECK_IS(-EINVAL, leat_read_then(NULL, ends[0], bytes, 1, told));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, NULL, bytes, 1, told));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], NULL, 1, told));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, 0, told));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, 1, NULL));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, (size_t)1 << 31, told));
        CHECK_IS(-EINVAL, leat_write_then(&writes.op, ends[0], NULL, 1, told));
        CHECK_IS(-EINVAL, leat_write_then(&writes.op, ends[0], "", 0, told));
        CHECK_IS(-EINVAL, leat_write_then(NULL, ends[0], "x", 1, told));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(callbacks_transfer);

/* A long write goes on as the reader makes room. Taken back, it says how far it came. */
static int long_writes(void *arg)
{
    (void)arg;
    unsigned char *bytes = malloc(MOST_BYTES), *got = malloc(MOST_BYTES);
    fill(bytes, MOST_BYTES, 0);
    for (int back = 0; back < 2; back++) {
        leat_io *ends[2];
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        open_two(s, false, ends);
        struct told writes = told_op(s, 0);
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], bytes, MOST_BYTES, told));
        CHECK_IS(1000, leat_read_full(ends[0], got, 1000, late()));
        size_t rest = MOST_BYTES;
        if (back) {
            int error = leat_withdraw(&writes.op.op);
            CHECK(error == 0 || error == -EALREADY);
            if (error)
                WAIT_UNTIL(atomic_load(&writes.calls));
            CHECK_IS(error ? -ECANCELED : 0, atomic_load(&writes.status));
            rest = writes.op.done;
            CHECK_IS(0, leat_io_close(ends[1]));
        }
        CHECK_IS(rest - 1000, leat_read_full(ends[0], got + 1000, rest - 1000, late()));
        expect(got, rest, 0);
        if (back)
            CHECK_IS(0, leat_read(ends[0], got, 1));
        else
            WAIT_UNTIL(atomic_load(&writes.calls));
        CHECK_IS(back ? writes.op.done : MOST_BYTES, writes.op.done);
        CHECK_IS(0, leat_scope_close(s));
    }
    free(bytes);
    free(got);
    return 0;
}
ON_WORKERS(long_writes);

/* ---- taking back ---- */

struct race {
    leat_io *ends[2];
    _Atomic int written;
    int rounds;
};

static int write_each_round(void *arg)
{
    struct race *race = arg;
    for (int i = 0; i < race->rounds; i++) {
        WAIT_UNTIL(atomic_load(&race->written) == 2 * i + 1);
        CHECK_IS(1, leat_write(race->ends[1], "x", 1));
        atomic_store(&race->written, 2 * i + 2);
    }
    return 0;
}

/* Two operations want one byte, and both are taken back while it comes: so one is often woken in
 * vain. No byte is lost, and each function is called once or not at all. */
static int taking_back_races_with_bytes(void *arg)
{
    (void)arg;
    struct race race = { .rounds = IN_SIM ? 5 : 20000 / SCALE };
    uint64_t chance = seed_of_test();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, race.ends);
    CHECK_IS(0, leat_go_blocking(s, write_each_round, &race));
    for (int i = 0; i < race.rounds; i++) {
        char bytes[2][1];
        struct told ops[2] = { told_op(s, 0), told_op(s, 0) };
        int read = 0;
        for (int k = 0; k < 2; k++)
            CHECK_IS(0, leat_read_then(&ops[k].op, race.ends[0], bytes[k], 1, told));
        atomic_store(&race.written, 2 * i + 1);
        for (unsigned n = below(&chance, 300); n; n--)
            atomic_thread_fence(memory_order_seq_cst);
        if (below(&chance, 4) == 0)
            leat_yield();
        for (int k = 0; k < 2; k++) {
            int error = leat_withdraw(&ops[k].op.op);
            CHECK(error == 0 || error == -EALREADY);
            if (error)
                WAIT_UNTIL(atomic_load(&ops[k].calls));
            CHECK_IS(error ? 1 : 0, atomic_load(&ops[k].calls));
            int status = atomic_load(&ops[k].status);
            CHECK(!error || status == 1 || status == -ECANCELED);
            read += error && status == 1;
        }
        WAIT_UNTIL(atomic_load(&race.written) == 2 * i + 2);
        CHECK(read <= 1);
        if (!read)
            CHECK_IS(1, leat_read_until(race.ends[0], bytes[0], 1, late()));
        CHECK_IS(-EAGAIN, leat_read_until(race.ends[0], bytes[0], 1, LEAT_NOW));
    }
    return leat_scope_close(s);
}
ON_WORKERS(taking_back_races_with_bytes);

static int taking_back_what_is_over(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char byte;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    struct told op = told_op(s, 0);
    CHECK_IS(1, leat_write(ends[1], "x", 1));
    CHECK_IS(LEAT_IN, leat_ready(ends[0], LEAT_IN, late()));
    CHECK_IS(0, leat_read_then(&op.op, ends[0], &byte, 1, told));
    WAIT_UNTIL(atomic_load(&op.calls));
    CHECK_IS(1, atomic_load(&op.status));
    CHECK_IS(-EALREADY, leat_withdraw(&op.op.op));
    CHECK_IS(0, leat_read_then(&op.op, ends[0], &byte, 1, told));
    CHECK_IS(0, leat_withdraw(&op.op.op));
    CHECK_IS(1, atomic_load(&op.calls));
    CHECK_IS(-EALREADY, leat_withdraw(&op.op.op));
    return leat_scope_close(s);
}
ON_WORKERS(taking_back_what_is_over);

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

    struct told reads = told_op(s, 0), writes = told_op(s, LEAT_ON_WORKER);
    leat_io *io = adopt_file(s, file);
    CHECK_IS(0, leat_write_then(&writes.op, io, bytes + 1, 9999, told));
    WAIT_UNTIL(atomic_load(&writes.calls));
    CHECK_IS(0, atomic_load(&writes.status));
    CHECK_IS(9999, writes.op.done);
    io = adopt_file(s, file);
    memset(bytes, 0, MOST_BYTES);
    CHECK_IS(0, leat_read_then(&reads.op, io, bytes, MOST_BYTES, told));
    CHECK_IS(-EALREADY, leat_withdraw(&reads.op.op)); /* it can not be taken back */
    WAIT_UNTIL(atomic_load(&reads.calls));
    CHECK_IS(MOST_BYTES, atomic_load(&reads.status));
    expect(bytes, 9999, 1);
    expect(bytes + 9999, MOST_BYTES - 9999, 9999);

    /* A write to a file that is open for reading only; a folder. */
    io = adopt(s, open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    CHECK_IS(0, leat_write_then(&writes.op, io, bytes, 10, told));
    WAIT_UNTIL(atomic_load(&writes.calls) == 2);
    CHECK_IS(-EBADF, atomic_load(&writes.status));
    CHECK_IS(0,
             leat_read_then(&reads.op, adopt(s, open("/", O_RDONLY | O_CLOEXEC)), bytes, 1, told));
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

/* Where a call can not be told not to block, it is waited for first, then made by a thread. */
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
        struct told op = told_op(s, 0);
        uint64_t count = 0;
        if (i == 0)
            CHECK_IS(0, leat_go_block(s, &block.block, read_timer));
        else
            CHECK_IS(0, leat_read_then(&op.op, timer, &count, sizeof count, told));
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

        struct told op = told_op(s, 0);
        CHECK_IS(0, leat_accept_then(&op.op, listener, outer, &got, told));
        CHECK_IS(0, leat_connect(outer, text, &call, late()));
        WAIT_UNTIL(atomic_load(&op.calls));
        CHECK_IS(0, atomic_load(&op.status));
        say_hello(got, call);

        /* Taken back: the connection waits for the next. */
        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, told));
        CHECK_IS(0, leat_withdraw(&op.op.op));
        CHECK_IS(0, leat_connect(outer, text, &call, late()));
        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, told));
        WAIT_UNTIL(atomic_load(&op.calls) == 2);
        CHECK_IS(0, atomic_load(&op.status));
        say_hello(call, got);
        CHECK_IS(0, leat_io_unref(got));

        CHECK_IS(0, leat_accept_then(&op.op, listener, NULL, &got, told));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(3, atomic_load(&op.calls));
        CHECK_IS(-ECANCELED, atomic_load(&op.status));
        CHECK_IS(-EINVAL, leat_accept_then(&op.op, listener, NULL, NULL, told));
        CHECK_IS(-EINVAL, leat_accept_then(&op.op, NULL, NULL, &got, told));
        CHECK_IS(-EINVAL, leat_accept_then(NULL, listener, NULL, &got, told));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(accepts_by_blocks_and_callbacks);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(callbacks_transfer),
        TESTS_ON_WORKERS(long_writes),
        TESTS_ON_WORKERS(taking_back_races_with_bytes),
        TESTS_ON_WORKERS(taking_back_what_is_over),
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
