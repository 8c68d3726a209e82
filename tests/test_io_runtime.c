/* test_io_runtime.c: descriptors beside a runtime that stops and starts, and beside its workers:
 * workers that compute, sleep, or are looked at by others. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "sockets.h"

#include "io/io.h"
#include "sched/current.h"
#include "sched/runtime.h"

#include <leat/process.h>
#include <leat/signal.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- a leat_io outlives the runtime ---- */

static int wait_for_io(void *arg)
{
    leat_io *io = *(leat_io **)arg;
    char byte;
    CHECK_IS(-ETIMEDOUT, leat_read_until(io, &byte, 1, leat_after(LEAT_MS)));
    CHECK_IS(1, write(leat_io_fd(((leat_io **)arg)[1]), "x", 1));
    CHECK_IS(1, leat_read(io, &byte, 1));
    CHECK_IS(-EAGAIN, leat_read_until(io, &byte, 1, LEAT_NOW));
    return 0;
}

static void outlives_the_runtime(void **state)
{
    (void)state;
    char byte;
    leat_io *ios[2];
    int fds[2], saved;
    CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    saved = dup(fds[1]);
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        if (workers == 1)
            for (int i = 0; i < 2; i++)
                CHECK_IS(0, leat_io_adopt(NULL, fds[i], &ios[i]));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(scope, wait_for_io, ios));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(0, wait_for_io(ios));
        struct user reader = { ios[0], 0, LEAT_NEVER };
        struct foreign thread;
        foreign_start(&thread, read_one, &reader);
        WAIT_UNTIL(readers_of(ios[0]) == 1);
        /* The waiting party wakes; its next call needs a runtime. */
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, foreign_join(&thread));
        CHECK_IS(-EINVAL, atomic_load(&reader.result));
        CHECK_IS(-EINVAL, leat_read(ios[0], &byte, 1));
    }
    CHECK_IS(0, leat_io_close(ios[0]));
    CHECK_IS(0, leat_io_unref(ios[0]));
    CHECK_IS(0, leat_io_unref(ios[1]));
    CHECK_IS(-1, fcntl(fds[0], F_GETFD));
    CHECK_IS(-1, fcntl(fds[1], F_GETFD));
    close(saved);
}

/* A thread registers and closes while the runtime stops. */
struct churn {
    _Atomic bool stop;
    _Atomic int rounds;
};

static int churn_descriptors(void *arg)
{
    struct churn *churn = arg;
    while (!atomic_load(&churn->stop)) {
        char byte;
        int fds[2];
        leat_io *io = NULL;
        CHECK_IS(0, pipe2(fds, O_CLOEXEC));
        if (leat_io_adopt(NULL, fds[0], &io) == 0) {
            int64_t n = leat_read_until(io, &byte, 1, leat_after(20 * LEAT_US));
            CHECK(n == -ETIMEDOUT || n == -EINVAL);
            CHECK_IS(0, leat_io_unref(io));
            CHECK_IS(-1, fcntl(fds[0], F_GETFD));
        } else {
            close(fds[0]);
        }
        close(fds[1]);
        atomic_fetch_add(&churn->rounds, 1);
    }
    return 0;
}

static void stops_beside_a_thread(void **state)
{
    (void)state;
    struct churn churn = { false, 0 };
    struct foreign thread;
    foreign_start(&thread, churn_descriptors, &churn);
    for (int i = 0; i < 200 / SCALE; i++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 + (unsigned)i % 2 }));
        int seen = atomic_load(&churn.rounds);
        WAIT_UNTIL(atomic_load(&churn.rounds) != seen);
        for (int error; (error = leat_stop()) != 0;)
            CHECK_IS(-EBUSY, error);
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
        for (unsigned k = 0; k < 2; k++)
            CHECK(atomic_load(&lt_runtime.workers[k]->reactor.sources) < 2);
        for (int error; (error = leat_stop()) != 0;)
            CHECK_IS(-EBUSY, error);
    }
    atomic_store(&churn.stop, true);
    CHECK_IS(0, foreign_join(&thread));
}

/* ---- another thread looks at a worker's descriptors while the worker goes to sleep ---- */

static int look_all_the_time(void *arg)
{
    _Atomic bool *stop = arg;
    while (!atomic_load(stop))
        lt_reactor_look(lt_runtime.workers[0]);
    return 0;
}

struct balls {
    leat_chan *there, *back;
    int n;
};

static int return_balls(void *arg)
{
    struct balls *balls = arg;
    for (int ball; leat_recv(balls->there, &ball) == 0;)
        CHECK_IS(0, leat_send(balls->back, &ball));
    return 0;
}

static int serve_balls(void *arg)
{
    struct balls *balls = arg;
    for (int i = 0; i < balls->n; i++) {
        int ball = i;
        CHECK_IS(0, leat_send(balls->there, &ball));
        CHECK_IS(0, leat_recv_until(balls->back, &ball, leat_after(60 * LEAT_S)));
        CHECK_IS(i, ball);
    }
    return leat_close(balls->there);
}

static void wakes_although_others_look(void **state)
{
    (void)state;
    char byte;
    _Atomic bool stop = false;
    struct foreign looker;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    CHECK_IS(-EAGAIN, leat_read_until(pair.a, &byte, 1, LEAT_NOW)); /* registers it */
    struct balls balls = { leat_chan_of(scope, int, 0), leat_chan_of(scope, int, 0), 4000 / SCALE };
    foreign_start(&looker, look_all_the_time, &stop);
    CHECK_IS(0, leat_go(scope, return_balls, &balls));
    CHECK_IS(0, serve_balls(&balls));
    atomic_store(&stop, true);
    CHECK_IS(0, foreign_join(&looker));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
}

/* ---- descriptors of a worker that computes ---- */

/* Threads register with any worker, also with one that computes while the other one rests. */
static void threads_read_beside_a_hog(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    struct hog hog = { false, false };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    start_hog(scope, &hog);
    for (int i = 0; i < 4; i++) {
        struct pair pair = open_pair(scope);
        struct user reader = { pair.a, 0, late() };
        struct foreign thread;
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL); /* the other worker rests */
        foreign_start(&thread, read_one, &reader);
        WAIT_UNTIL(receivers_of(lt_io_chan(pair.a, LT_IN)) == 1);
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
        CHECK_IS(1, write(leat_io_fd(pair.b), "x", 1));
        CHECK_IS(0, foreign_join(&thread));
        CHECK_IS(1, atomic_load(&reader.result));
    }
    atomic_store(&hog.stop, true);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
}

/* ---- a descriptor follows its task to a worker ---- */

enum { READS = 40 };

struct stray {
    leat_io *near, *far;
    bool selects;
    _Atomic(struct lt_worker *) at;
    _Atomic int reads;
    struct rlimit limit;
};

/* Its waits are on another worker than the one with which `near` is registered. */
static int read_from_afar(void *arg)
{
    struct stray *stray = arg;
    char byte;
    atomic_store(&stray->at, lt_current_worker());
    for (int i = 0; i < READS; i++) {
        if (stray->selects)
            CHECK_IS(0, leat_select(&(leat_case)LEAT_READABLE(stray->near), 1, late()));
        CHECK_IS(1, leat_read_until(stray->near, &byte, 1, late()));
        if (i == READS / 2)
            CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &stray->limit));
        atomic_fetch_add(&stray->reads, 1);
    }
    return 0;
}

/* The caller is pinned, and its worker is held up here: so the other one starts the task. */
static void start_afar(leat_scope *scope, leat_fn *fn, struct stray *stray)
{
    CHECK_IS(0, leat_go_pinned(scope, fn, stray));
    while (!atomic_load(&stray->at))
        nap();
    CHECK(atomic_load(&stray->at) != lt_current_worker());
}

static void write_when_read(struct stray *stray)
{
    for (int i = 0; i < READS; i++) {
        while (atomic_load(&stray->reads) < i || receivers_of(lt_io_chan(stray->near, LT_IN)) == 0)
            leat_sleep(20 * LEAT_US);
        CHECK_IS(1, write(leat_io_fd(stray->far), "x", 1));
    }
}

/* The other worker has no reactor yet, and the system has no descriptors for one: `near` stays
 * where it is, until there are some. */
static int follows_when_it_can(void *arg)
{
    CHECK_IS(0, leat_pin());
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct stray stray = { .selects = *(bool *)arg };
    adopt_pair(scope, SOCK_STREAM, &stray.near, &stray.far);
    find_empty(stray.near);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &stray.limit));
    struct rlimit none = { 1, stray.limit.rlim_max }; /* poll(2) needs one for each entry */
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    start_afar(scope, read_from_afar, &stray);
    write_when_read(&stray);
    WAIT_UNTIL(atomic_load(&stray.reads) == READS);
    CHECK(atomic_load(&stray.near->source.worker) == atomic_load(&stray.at));
    CHECK_IS(0, leat_scope_close(scope));
    return leat_unpin();
}

static void follows_a_task_when_it_can(void **state)
{
    (void)state;
    for (int selects = 0; selects < 2; selects++)
        CHECK_IS(0, leat_main_with(follows_when_it_can, &(bool){ selects },
                                   &(leat_options){ .workers = 2 }));
}

/* Its worker has as many descriptors as the other one. */
static int read_beside_more(void *arg)
{
    leat_io *near, *far;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    adopt_pair(scope, SOCK_STREAM, &near, &far);
    find_empty(near);
    for (int round = 0; round < 2; round++)
        read_from_afar(arg);
    return leat_scope_close(scope);
}

static int follows_later(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_pin());
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct lt_worker *here = lt_current_worker();
    struct stray stray = { .at = NULL };
    adopt_pair(scope, SOCK_STREAM, &stray.near, &stray.far);
    find_empty(stray.near);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &stray.limit));
    start_afar(scope, read_beside_more, &stray);
    write_when_read(&stray);
    WAIT_UNTIL(atomic_load(&stray.reads) == READS);
    CHECK(atomic_load(&stray.near->source.worker) == here);
    atomic_store(&stray.reads, 0);
    write_when_read(&stray);
    WAIT_UNTIL(atomic_load(&stray.reads) == READS);
    CHECK(atomic_load(&stray.near->source.worker) == atomic_load(&stray.at));
    CHECK_IS(0, leat_scope_close(scope));
    return leat_unpin();
}

static void follows_to_a_worker_with_more_later(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(follows_later, NULL, &(leat_options){ .workers = 2 }));
}

static int welcome(leat_io *guest, void *arg)
{
    (void)arg;
    CHECK_IS(1, leat_write(guest, "x", 1));
    return 0;
}

static int serve_from_afar(void *arg)
{
    struct stray *stray = arg;
    atomic_store(&stray->at, lt_current_worker());
    CHECK_IS(0, leat_serve(stray->near, welcome, NULL, NULL));
    return 0;
}

static void call_once(const struct stray *stray, const char *text)
{
    leat_io *guest;
    char byte;
    while (receivers_of(lt_io_chan(stray->near, LT_IN)) == 0)
        leat_sleep(20 * LEAT_US);
    CHECK_IS(0, leat_connect(NULL, text, &guest, late()));
    CHECK_IS(1, leat_read(guest, &byte, 1));
    CHECK_IS(0, leat_io_unref(guest));
}

/* The listener is registered with the caller's worker, and its server runs on the other one. */
static int listener_follows(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_pin());
    char text[LEAT_ADDRESS_TEXT];
    leat_io *none;
    struct lt_worker *here = lt_current_worker();
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct stray stray = { .near = listen_at("127.0.0.1:0", 0, text) };
    CHECK_IS(-EAGAIN, leat_accept(stray.near, NULL, &none, LEAT_NOW));
    CHECK(atomic_load(&stray.near->source.worker) == here);
    start_afar(scope, serve_from_afar, &stray);
    for (int i = 0; i < READS; i++)
        call_once(&stray, text);
    CHECK(atomic_load(&stray.near->source.worker) == atomic_load(&stray.at));
    CHECK_IS(0, leat_io_close(stray.near));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_io_unref(stray.near));
    return leat_unpin();
}

static void a_listener_follows_its_server(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(listener_follows, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a descriptor that its task's worker cannot watch ---- */

static int read_at_all(void *arg)
{
    struct stray *stray = arg;
    char byte;
    atomic_store(&stray->at, lt_current_worker());
    CHECK_IS(1, leat_read_until(stray->near, &byte, 1, late()));
    return 0;
}

/* The other worker has no reactor, and the system has no descriptors for one: this worker's reactor
 * gets the descriptor. */
static int watches_for_another(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_pin());
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct lt_worker *here = lt_current_worker();
    struct stray stray = { .at = NULL };
    leat_io *near, *far;
    adopt_pair(scope, SOCK_STREAM, &near, &far);
    find_empty(near);
    adopt_pair(scope, SOCK_STREAM, &stray.near, &stray.far);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &stray.limit));
    struct rlimit none = { 0, stray.limit.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    start_afar(scope, read_at_all, &stray);
    WAIT_UNTIL(receivers_of(lt_io_chan(stray.near, LT_IN)) == 1);
    CHECK(atomic_load(&stray.near->source.worker) == here);
    CHECK_IS(1, write(leat_io_fd(stray.far), "x", 1));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &stray.limit));
    return leat_unpin();
}

static void watches_for_a_worker_without_reactor(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(watches_for_another, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a program without 0, 1 and 2 ---- */

/* How many of the three are open after leat has made all descriptors that it keeps. `ends` is a
 * pipe. */
static int open_of_three(const int ends[2])
{
    const int signals[] = { SIGUSR1 };
    const char *const argv[] = { "true", NULL };
    leat_chan *signalled;
    leat_captured captured;
    CHECK_IS(0, leat_start(NULL));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-ETIMEDOUT, leat_poll(ends[0], LEAT_IN, leat_after(LEAT_MS)));
    CHECK_IS(0, leat_signals(scope, signals, 1, &signalled));
    CHECK_IS(0, leat_capture(argv, NULL, &captured, 1, late()));
    int open = 0;
    for (int fd = 0; fd < 3; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    leat_captured_free(&captured);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
    return open;
}

/* It may open them for itself later. */
static void leaves_the_first_three(void **state)
{
    (void)state;
    int ends[2], status;
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    pid_t child = fork();
    if (!child) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        _exit(open_of_three(ends));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_IS(0, status);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlives_the_runtime),
        cmocka_unit_test(stops_beside_a_thread),
        cmocka_unit_test(wakes_although_others_look),
        cmocka_unit_test(threads_read_beside_a_hog),
        cmocka_unit_test(follows_a_task_when_it_can),
        cmocka_unit_test(follows_to_a_worker_with_more_later),
        cmocka_unit_test(watches_for_a_worker_without_reactor),
        cmocka_unit_test(a_listener_follows_its_server),
        cmocka_unit_test(leaves_the_first_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
