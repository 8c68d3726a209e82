/* load.c: the load generator: one thread and io_uring, so that it costs less than what it loads.
 *
 *   load PORT echo N ACTIVE SECONDS PID   N connections and ACTIVE requests of 64 bytes under way,
 *                                         each on a connection chosen at random among the idle
 *   load PORT conn ACTIVE SECONDS PID     connect, one request, close
 *   load PORT stream SECONDS PID          one connection, writes of 64 KiB
 *
 * With SPIN=1 it looks for answers again and again, and never sleeps. Else the server's sends have
 * to wake it, the more often the slower the server is, and a virtual machine pays dearly for that.
 *
 * Prints name=value pairs: rate (a second, or GB/s); p50, p99, p999 (us); cpu, the server's user
 * and system time (us for a request, or ms for a GB); mycpu, the same of this program; mem and
 * kern, the bytes of the server's anonymous memory and of the kernel's for a connection. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MSG = 64, BUFS = 8192, WARM_MS = 300 };
#define SERVER_TIMEOUT 20

static struct io_uring ring;
static struct io_uring_buf_ring *br;
static char *bufs, message[MSG], big[65536];
static int port, pid;
static bool spins;
static clockid_t server_clock;
static uint32_t *lat;
static size_t nlat, maxlat = 16u << 20;
static double count; /* requests answered while measured */

typedef struct conn {
    int fd, got;
    int64_t t0;
} conn;

/* A measured time: when it began and is to end, and the processor times at its beginning. */
typedef struct span {
    int64_t start, end, cpu, my;
} span;

static int64_t now(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static span begin(double seconds)
{
    int64_t start = now(CLOCK_MONOTONIC);
    return (span){ start, start + (int64_t)(seconds * 1e9), now(server_clock),
                   now(CLOCK_PROCESS_CPUTIME_ID) };
}
static void die(const char *what, int e)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(e));
    exit(1);
}

static long field(const char *path, const char *name)
{
    FILE *f = fopen(path, "r");
    char line[256];
    long v = 0;
    size_t n = strlen(name);
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, n))
            v = atol(line + n);
    if (f)
        fclose(f);
    return v * 1024;
}
static long server_mem(void)
{
    char p[64];
    snprintf(p, sizeof p, "/proc/%d/status", pid);
    return field(p, "RssAnon:");
}
static long kernel_mem(void)
{
    const char *m = "/proc/meminfo";
    return field(m, "Slab:") + field(m, "KernelStack:") + field(m, "PageTables:") +
           field(m, "Percpu:");
}

static int dial(int host)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0)
        die("socket", errno);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(0x7f000002u + (unsigned)host % 64) };
    setsockopt(fd, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, &one, sizeof one);
    if (bind(fd, (void *)&a, sizeof a))
        die("bind", errno);
    a.sin_addr.s_addr = htonl(0x7f000001u);
    a.sin_port = htons(port);
    if (connect(fd, (void *)&a, sizeof a))
        die("connect", errno);
    return fd;
}

static struct io_uring_sqe *sqe(void)
{
    struct io_uring_sqe *s;
    while (!(s = io_uring_get_sqe(&ring)))
        io_uring_submit(&ring);
    return s;
}
static void arm(conn *c)
{
    struct io_uring_sqe *s = sqe();
    io_uring_prep_recv_multishot(s, c->fd, NULL, 0, 0);
    s->flags |= IOSQE_BUFFER_SELECT;
    s->buf_group = 0;
    io_uring_sqe_set_data(s, c);
}
static void request(conn *c)
{
    struct io_uring_sqe *s = sqe();
    c->got = 0;
    c->t0 = now(CLOCK_MONOTONIC);
    io_uring_prep_send(s, c->fd, message, MSG, 0);
    s->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data(s, NULL);
}
static void open_ring(int single)
{
    struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                                          IORING_SETUP_CQSIZE,
                                 .cq_entries = 65536 };
    int e = io_uring_queue_init_params(4096, &ring, &p);
    if (e)
        die("io_uring", -e);
    if (single)
        return;
    bufs = malloc((size_t)BUFS * MSG);
    if (posix_memalign((void **)&br, 4096, BUFS * sizeof(struct io_uring_buf)))
        die("memory", ENOMEM);
    struct io_uring_buf_reg reg = { .ring_addr = (uintptr_t)br, .ring_entries = BUFS, .bgid = 0 };
    if ((e = io_uring_register_buf_ring(&ring, &reg, 0)))
        die("buf_ring", -e);
    io_uring_buf_ring_init(br);
    for (int i = 0; i < BUFS; i++)
        io_uring_buf_ring_add(br, bufs + i * MSG, MSG, i, BUFS - 1, i);
    io_uring_buf_ring_advance(br, BUFS);
}
static int64_t submit_and_spin(void)
{
    int64_t t = now(CLOCK_MONOTONIC), end = t + SERVER_TIMEOUT * 1000000000LL;
    for (; !io_uring_cq_ready(&ring); t = now(CLOCK_MONOTONIC)) {
        int e = io_uring_submit_and_get_events(&ring);
        if (e < 0 && e != -EINTR)
            die("io_uring", -e);
        if (t > end)
            die("no answer from the server", ETIME);
    }
    return t;
}
/* Submits, waits for a completion, and returns the time. */
static int64_t submit_and_wait(void)
{
    if (spins)
        return submit_and_spin();
    struct __kernel_timespec to = { SERVER_TIMEOUT, 0 };
    struct io_uring_cqe *cq;
    int e = io_uring_submit_and_wait_timeout(&ring, &cq, 1, &to, NULL);
    if (e < 0 && e != -EINTR)
        die("no answer from the server", -e);
    return now(CLOCK_MONOTONIC);
}
static void note_answer(const conn *c, int64_t t)
{
    count++;
    if (nlat < maxlat)
        lat[nlat++] = (uint32_t)(t - c->t0);
}
static int cmp(const void *a, const void *b)
{
    uint32_t x = *(uint32_t *)a, y = *(uint32_t *)b;
    return (x > y) - (x < y);
}
static void report(const span *s, int64_t stopped, double mem, double kern)
{
    double cpu = now(server_clock) - s->cpu, my = now(CLOCK_PROCESS_CPUTIME_ID) - s->my,
           sec = (stopped - s->start) / 1e9;
    qsort(lat, nlat, sizeof *lat, cmp);
#define P(q) (nlat ? lat[(size_t)((nlat - 1) * (q))] / 1e3 : 0)
    printf("rate=%.0f p50=%.1f p99=%.1f p999=%.1f cpu=%.3f mycpu=%.3f mem=%.0f kern=%.0f\n",
           count / sec, P(.5), P(.99), P(.999), cpu / 1e3 / count, my / 1e3 / count, mem, kern);
}

static void echo(int n, int active, double seconds)
{
    long m0 = server_mem(), k0 = kernel_mem();
    open_ring(0);
    conn *c = calloc(n, sizeof *c), **idle = malloc(n * sizeof *idle);
    int nidle = 0;
    for (int i = 0; i < n; i++) {
        c[i].fd = dial(i);
        arm(&c[i]);
        if (i % 256 == 255)
            io_uring_submit(&ring);
    }
    io_uring_submit(&ring);
    /* Once around, so that every connection of the server has been used; then the clock starts. */
    int first = 0, phase = 0; /* 0: the first round, 1: warm, 2: measured */
    while (first < n && first < active)
        request(&c[first++]);
    double mem = 0, kern = 0;
    int64_t start = 0;
    span measured = { 0 };
    for (;;) {
        int64_t t = submit_and_wait();
        struct io_uring_cqe *cq;
        unsigned head, seen = 0, given = 0;
        io_uring_for_each_cqe(&ring, head, cq)
        {
            seen++;
            conn *k = io_uring_cqe_get_data(cq);
            if (!k)
                die("send", -cq->res);
            if (cq->flags & IORING_CQE_F_BUFFER) {
                int b = cq->flags >> IORING_CQE_BUFFER_SHIFT;
                io_uring_buf_ring_add(br, bufs + b * MSG, MSG, b, BUFS - 1, given++);
            }
            if (cq->res <= 0 && cq->res != -ENOBUFS)
                die("connection lost", -cq->res);
            if (!(cq->flags & IORING_CQE_F_MORE))
                arm(k);
            if (cq->res <= 0)
                continue;
            k->got += cq->res;
            if (k->got < MSG)
                continue;
            if (phase == 2)
                note_answer(k, t);
            idle[nidle++] = k;
            if (first < n) {
                request(&c[first++]);
                continue;
            }
            int r = rand() % nidle;
            conn *next = idle[r];
            idle[r] = idle[--nidle];
            request(next);
        }
        io_uring_buf_ring_advance(br, given);
        io_uring_cq_advance(&ring, seen);
        if (phase == 0 && first >= n) {
            phase = 1;
            start = t + WARM_MS * 1000000LL;
        } else if (phase == 1 && t >= start) {
            phase = 2;
            mem = (double)(server_mem() - m0) / n;
            kern = (double)(kernel_mem() - k0) / n;
            measured = begin(seconds);
        } else if (phase == 2 && t >= measured.end) {
            report(&measured, t, mem, kern);
            return;
        }
    }
}

static void connect_close(int active, double seconds)
{
    open_ring(1);
    conn *c = calloc(active, sizeof *c);
    char sink[MSG];
    int hosts = 0;
    for (int i = 0; i < active; i++)
        c[i].fd = -1;
    int64_t start = now(CLOCK_MONOTONIC) + WARM_MS * 1000000LL;
    span measured = { 0 };
    for (;;) {
        for (int i = 0; i < active; i++)
            if (c[i].fd < 0) {
                c[i].t0 = now(CLOCK_MONOTONIC);
                c[i].fd = dial(hosts++);
                c[i].got = 0;
                if (send(c[i].fd, message, MSG, MSG_NOSIGNAL) != MSG)
                    die("send", errno);
                struct io_uring_sqe *s = sqe();
                io_uring_prep_recv(s, c[i].fd, sink, MSG, MSG_WAITALL);
                io_uring_sqe_set_data(s, &c[i]);
            }
        int64_t t = submit_and_wait();
        struct io_uring_cqe *cq;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, cq)
        {
            seen++;
            conn *k = io_uring_cqe_get_data(cq);
            if (cq->res != MSG)
                die("connection lost", cq->res < 0 ? -cq->res : EPIPE);
            close(k->fd);
            k->fd = -1;
            if (measured.start)
                note_answer(k, t);
        }
        io_uring_cq_advance(&ring, seen);
        if (!measured.start && t >= start) {
            measured = begin(seconds);
        } else if (measured.start && t >= measured.end) {
            report(&measured, t, 0, 0);
            return;
        }
    }
}

static void stream(double seconds)
{
    int fd = dial(0);
    int64_t t0 = now(CLOCK_MONOTONIC);
    span measured = { 0 };
    double bytes = 0;
    for (;;) {
        ssize_t n = send(fd, big, sizeof big, MSG_NOSIGNAL);
        if (n <= 0)
            die("send", errno);
        int64_t t = now(CLOCK_MONOTONIC);
        if (!measured.start && t - t0 > WARM_MS * 1000000LL)
            measured = begin(seconds);
        else if (measured.start)
            bytes += n;
        if (measured.start && t >= measured.end)
            break;
    }
    double cpu = now(server_clock) - measured.cpu, my = now(CLOCK_PROCESS_CPUTIME_ID) - measured.my,
           sec = (now(CLOCK_MONOTONIC) - measured.start) / 1e9;
    shutdown(fd, SHUT_WR);
    if (recv(fd, big, sizeof big, 0) > 0)
        die("the server did not close", EPROTO);
    printf("rate=%.3f cpu=%.1f mycpu=%.1f\n", bytes / 1e9 / sec, cpu / 1e6 / (bytes / 1e9),
           my / 1e6 / (bytes / 1e9));
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    port = atoi(argv[1]);
    pid = atoi(argv[argc - 1]);
    spins = getenv("SPIN") && atoi(getenv("SPIN"));
    if (clock_getcpuclockid(pid, &server_clock))
        die("pid", ESRCH);
    lat = malloc(maxlat * sizeof *lat);
    memset(message, 'x', sizeof message);
    if (!strcmp(argv[2], "echo"))
        echo(atoi(argv[3]), atoi(argv[4]), atof(argv[5]));
    else if (!strcmp(argv[2], "conn"))
        connect_close(atoi(argv[3]), atof(argv[4]));
    else
        stream(atof(argv[3]));
    return 0;
}
