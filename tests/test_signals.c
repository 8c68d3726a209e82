/* test_signals.c: channels of signals. */
#define _GNU_SOURCE
#include "support.h"

#include "chan/chan.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A signal may reach the process after its channel was closed: by default it would kill the
 * process. A handler takes it. The handler has the flags of leat's own: qemu-user 7.2 does not read
 * handler and flags at once, and may call the one with the other's. */
static void take_late(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
}

static void take_late_signals(void)
{
    struct sigaction action = { .sa_sigaction = take_late,
                                .sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO };
    CHECK_IS(0, sigaction(SIGUSR1, &action, NULL));
    CHECK_IS(0, sigaction(SIGUSR2, &action, NULL));
}

static leat_chan *open_signals(leat_scope *scope, int first, int second)
{
    leat_chan *ch = NULL;
    const int signals[] = { first, second };
    CHECK_IS(0, leat_signals(scope, signals, second ? 2 : 1, &ch));
    CHECK(ch);
    return ch;
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_chan *ch = NULL;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const int wrong[] = { 0,      -1,      SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
                          SIGILL, SIGTRAP, SIGABRT, SIGSYS,  32,      33,     65 };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_IS(-EINVAL, leat_signals(scope, &wrong[i], 1, &ch));
    const int twice[] = { SIGUSR1, SIGUSR2, SIGUSR1 };
    CHECK_IS(-EINVAL, leat_signals(NULL, twice, 1, &ch));
    CHECK_IS(-EINVAL, leat_signals(scope, NULL, 1, &ch));
    CHECK_IS(-EINVAL, leat_signals(scope, twice, 0, &ch));
    CHECK_IS(-EINVAL, leat_signals(scope, twice, 1, NULL));
    CHECK_IS(-EBUSY, leat_signals(scope, twice, 3, &ch));
    CHECK(!ch);
    leat_chan *both = open_signals(scope, SIGUSR1, SIGUSR2);
    CHECK_IS(-EBUSY, leat_signals(scope, &twice[1], 1, &ch));
    CHECK_IS(-EPERM, leat_send(both, &(leat_signal){ 0 }));
    CHECK_IS(0, leat_close(both));
    CHECK_IS(-EPIPE, leat_recv(both, &(leat_signal){ 0 }));
    CHECK_IS(0, leat_close(open_signals(scope, SIGUSR2, SIGUSR1)));
    return leat_scope_close(scope);
}
ON_WORKERS(refuses_wrong_arguments);

/* ---- receiving ---- */

static leat_signal receive(leat_chan *ch)
{
    leat_signal got = { 0 };
    CHECK_IS(0, leat_recv_until(ch, &got, leat_after(60 * LEAT_S)));
    CHECK(got.times >= 1);
    return got;
}

static int receives_signals(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *stop = open_signals(scope, SIGINT, SIGTERM);
    leat_chan *hup = open_signals(scope, SIGHUP, 0);
    leat_signal got;
    CHECK_IS(-EAGAIN, leat_try_recv(stop, &got));
    for (int i = 0; i < 20; i++) {
        int signal = i % 2 ? SIGINT : SIGTERM;
        CHECK_IS(0, kill(getpid(), signal));
        got = receive(stop);
        CHECK_IS(signal, got.signal);
        CHECK_IS(1, got.times);
        CHECK_IS(getpid(), got.pid);
        CHECK_IS(0, got.value);
    }
    CHECK_IS(0, sigqueue(getpid(), SIGHUP, (union sigval){ .sival_int = -5 }));
    got = receive(hup);
    CHECK_IS(SIGHUP, got.signal);
    CHECK_IS(-5, got.value);
    CHECK_IS(-EAGAIN, leat_try_recv(stop, &got));
    return leat_scope_close(scope);
}
ON_WORKERS(receives_signals);

/* The kernel sends it, and keeps the timer's number where else the sender's is. */
static int timers_have_no_process(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = open_signals(scope, SIGUSR1, 0);
    timer_t timers[3];
    for (int i = 0; i < 3; i++) {
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
        CHECK_IS(0, timer_create(CLOCK_MONOTONIC, &event, &timers[i]));
        CHECK_IS(0, timer_settime(timers[i], 0, &(struct itimerspec){ .it_value.tv_nsec = 1000000 },
                                  NULL));
        CHECK_IS(0, receive(ch).pid);
    }
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, timer_delete(timers[i]));
    return leat_scope_close(scope);
}
ON_WORKERS(timers_have_no_process);

static int wait_for_usr1(void *ch)
{
    CHECK_IS(SIGUSR1, receive(ch).signal);
    return 0;
}

static int serves_all_parties(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = open_signals(crew.scope, SIGUSR1, 0);
    for (int i = 0; i < 2 * KINDS; i++) {
        crew_go(&crew, kind_of(i), wait_for_usr1, ch);
        WAIT_UNTIL(receivers_of(ch) == 1);
        CHECK_IS(0, kill(getpid(), SIGUSR1));
        WAIT_UNTIL(receivers_of(ch) == 0);
    }
    crew_close(&crew);
    return 0;
}
ON_WORKERS(serves_all_parties);

/* ---- many ---- */

enum { STORM = 10000, LAST = 77 };

static int send_storm(void *arg)
{
    (void)arg;
    for (int i = 0; i < STORM / SCALE; i++) {
        CHECK_IS(0, kill(getpid(), SIGUSR1));
        CHECK_IS(0, kill(getpid(), SIGUSR2));
    }
    /* A queued one may find the queue of the system full. */
    while (sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = LAST }) != 0)
        leat_yield();
    return 0;
}

static int loses_none_in_a_storm(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = open_signals(scope, SIGUSR1, SIGUSR2);
    CHECK_IS(0, leat_go(scope, send_storm, NULL));
    unsigned times[2] = { 0 };
    for (bool over = false, silent = false; !over || !silent || !times[0] || !times[1];) {
        leat_signal got;
        over = leat_scope_tasks(scope) == 0;
        silent = leat_recv_until(ch, &got, leat_after(20 * LEAT_MS)) != 0;
        if (silent)
            continue;
        CHECK(got.signal == SIGUSR1 || got.signal == SIGUSR2);
        CHECK_IS(getpid(), got.pid);
        times[got.signal == SIGUSR2] += got.times;
    }
    CHECK(times[0] <= STORM + 1);
    CHECK(times[1] <= STORM);
    return leat_scope_close(scope);
}
ON_WORKERS(loses_none_in_a_storm);

/* Real-time signals are queued, so each of them counts. ThreadSanitizer puts a handler's call off
 * while its thread computes, and then calls the handler once for all signals of a number. */
static int adds_to_the_item_that_waits(void *arg)
{
    (void)arg;
    enum { TIMES = UNDER_TSAN ? 1 : 50 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = open_signals(scope, SIGRTMIN, SIGRTMIN + 1);
    for (int i = 0; i < TIMES; i++) {
        CHECK_IS(0, sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }));
        CHECK_IS(0, sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = -i }));
    }
    unsigned times[2] = { 0 };
    int value[2] = { 0 };
    while (times[0] < TIMES || times[1] < TIMES) {
        leat_signal got = receive(ch);
        times[got.signal == SIGRTMIN + 1] += got.times;
        value[got.signal == SIGRTMIN + 1] = got.value;
    }
    CHECK(times[0] == TIMES && times[1] == TIMES);
    CHECK(value[0] == TIMES - 1 && value[1] == 1 - TIMES);
    return leat_scope_close(scope);
}
ON_WORKERS(adds_to_the_item_that_waits);

/* ---- dispositions ---- */

static _Atomic int handled;

static void own_handler(int signal)
{
    atomic_store(&handled, signal);
}

static int gives_dispositions_back(void *arg)
{
    (void)arg;
    struct sigaction own = { .sa_handler = own_handler }, now;
    CHECK_IS(0, sigaction(SIGUSR1, &own, NULL));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = open_signals(scope, SIGUSR1, SIGUSR2);
    CHECK_IS(0, kill(getpid(), SIGUSR1));
    CHECK_IS(SIGUSR1, receive(ch).signal);
    CHECK_IS(0, sigaction(SIGUSR2, &own, NULL)); /* comes after leat's, and stays */
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, handled);
    CHECK_IS(0, sigaction(SIGUSR1, NULL, &now));
    CHECK(now.sa_handler == own_handler);
    CHECK_IS(0, sigaction(SIGUSR2, NULL, &now));
    CHECK(now.sa_handler == own_handler);
    CHECK_IS(0, kill(getpid(), SIGUSR1));
    WAIT_UNTIL(atomic_load(&handled) == SIGUSR1);
    atomic_store(&handled, 0);
    take_late_signals();
    return 0;
}
ON_WORKERS(gives_dispositions_back);

static int opens_and_closes_in_a_storm(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < often(400) + 10; i++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = open_signals(scope, SIGUSR1, 0);
        for (int j = 0; j < i % 5; j++)
            CHECK_IS(0, kill(getpid(), SIGUSR1));
        if (i % 3 == 0 && i % 5)
            receive(ch);
        if (i % 2)
            CHECK_IS(0, leat_scope_cancel(scope));
        CHECK_IS(0, leat_scope_close(scope));
    }
    return leat_scope_close(outer);
}
ON_WORKERS(opens_and_closes_in_a_storm);

/* ---- from outside ---- */

static int end_on_signal(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *stop = open_signals(scope, SIGTERM, 0);
    const char *const argv[] = { "sh", "-c", arg, NULL };
    leat_process *process;
    CHECK_IS(0, leat_spawn(scope, argv, NULL, &process));
    leat_signal got = receive(stop);
    CHECK_IS(leat_process_id(process), got.pid);
    return leat_scope_close(scope);
}

static int comes_from_another_process(void *arg)
{
    (void)arg;
    return end_on_signal("kill -TERM $PPID");
}
ON_WORKERS(comes_from_another_process);

/* ---- in a process that was forked ---- */

/* It has the handler, too, and the eventfd that wakes the parent. But the signals that it gets are
 * its own: the parent hears nothing of them. Nor do they kill it, also when the parent has closed
 * the channel. */
static int forked_process_is_alone(void *arg)
{
    (void)arg;
    if (getenv("LEAT_EMULATED"))
        return 0; /* an emulator is not made for a fork beside threads */
    for (int i = 0; i < 6; i++) {
        int ends[2], status;
        char byte;
        leat_signal got;
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = open_signals(scope, SIGUSR1, 0);
        CHECK_IS(0, pipe(ends));
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            sigset_t none;
            sigemptyset(&none);
            pthread_sigmask(SIG_SETMASK, &none, NULL); /* not a worker's */
            close(ends[1]);
            if (i % 2 && read(ends[0], &byte, 1) != 0)
                _exit(1);
            for (int k = 0; k < 10; k++)
                raise(SIGUSR1);
            _exit(7);
        }
        close(ends[0]);
        if (i % 2) {
            CHECK_IS(0, leat_scope_close(scope));
            close(ends[1]);
        }
        CHECK_IS(child, waitpid(child, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        if (i % 2)
            continue;
        CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &got, leat_after(5 * LEAT_MS)));
        CHECK_IS(0, kill(getpid(), SIGUSR1));
        got = receive(ch);
        CHECK_IS(1, got.times);
        CHECK_IS(getpid(), got.pid);
        close(ends[1]);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}
ON_WORKERS(forked_process_is_alone);

/* ---- the scope is closed while handlers run ---- */

static int send_until_item(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg)) {
        CHECK_IS(0, kill(getpid(), SIGUSR1));
        CHECK_IS(0, kill(getpid(), SIGUSR2));
    }
    return 0;
}

/* The party that receives a signal closes the scope, while signals come and interrupt each
 * thread. */
static int receiver_closes_in_a_storm(void *arg)
{
    (void)arg;
    _Atomic bool over = false;
    struct crew crew;
    crew_open(&crew);
    crew_go(&crew, FOREIGN, send_until_item, (void *)&over);
    for (int i = 0; i < often(400) + 10; i++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = open_signals(scope, SIGUSR1, SIGUSR2);
        leat_signal got = receive(ch);
        CHECK(got.signal == SIGUSR1 || got.signal == SIGUSR2);
        if (i % 3 == 0)
            CHECK_IS(0, leat_close(ch));
        CHECK_IS(0, leat_scope_close(scope));
    }
    atomic_store(&over, true);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(receiver_closes_in_a_storm);

/* ---- one channel closes while the next one opens ---- */

struct next {
    leat_scope *scope;
    leat_chan *ch;
    _Atomic bool sent;
};

static int close_now(void *ch)
{
    return ((leat_chan *)ch)->keeper->close(ch);
}

static int open_next(void *arg)
{
    struct next *next = arg;
    while (leat_signals(next->scope, (int[]){ SIGUSR1 }, 1, &next->ch) == -EBUSY)
        continue;
    CHECK_IS(0, kill(getpid(), SIGUSR1));
    atomic_store(&next->sent, true);
    return 0;
}

/* The signal belongs to the channel that was open when it came. The lock makes the close slow. */
static int a_close_takes_nothing_of_the_next(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = open_signals(crew.scope, SIGUSR1, 0);
    struct next next = { crew.scope, NULL, false };
    struct sigaction now;
    lt_chan_lock(ch);
    crew_go(&crew, FOREIGN, close_now, ch);
    do
        CHECK_IS(0, sigaction(SIGUSR1, NULL, &now));
    while (now.sa_sigaction != take_late);
    crew_go(&crew, FOREIGN, open_next, &next);
    for (int64_t until = leat_after(50 * LEAT_MS); leat_now() < until;)
        nap();
    lt_chan_unlock(ch);
    while (!leat_chan_closed(ch) || !atomic_load(&next.sent))
        nap();
    CHECK_IS(1, receive(next.ch).times);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(a_close_takes_nothing_of_the_next);

/* The thread sanitizer runs a handler when the thread calls a function that the sanitizer knows to
 * wait; the thread in leat_main does not. */
static void *take_signals(void *arg)
{
    for (;;)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return arg;
}

static void leave_signals_to_another_thread(void)
{
    sigset_t all;
    pthread_t thread;
    sigfillset(&all);
    CHECK_IS(0, pthread_create(&thread, NULL, take_signals, NULL));
    CHECK_IS(0, pthread_detach(thread));
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, &all, NULL));
}

int main(void)
{
    take_late_signals();
    if (UNDER_TSAN)
        leave_signals_to_another_thread();
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(receives_signals),
        TESTS_ON_WORKERS(timers_have_no_process),
        TESTS_ON_WORKERS(serves_all_parties),
        TESTS_ON_WORKERS(loses_none_in_a_storm),
        TESTS_ON_WORKERS(adds_to_the_item_that_waits),
        TESTS_ON_WORKERS(gives_dispositions_back),
        TESTS_ON_WORKERS(opens_and_closes_in_a_storm),
        TESTS_ON_WORKERS(comes_from_another_process),
        TESTS_ON_WORKERS(forked_process_is_alone),
        TESTS_ON_WORKERS(receiver_closes_in_a_storm),
        TESTS_ON_WORKERS(a_close_takes_nothing_of_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
