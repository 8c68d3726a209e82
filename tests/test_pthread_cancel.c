/* test_pthread_cancel.c: a thread that is cancelled inside of leat leaves nothing locked. */
#define _GNU_SOURCE
#include "support.h"

#include "sched/runtime.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static _Atomic bool begun, over;

/* The work of a thread before it waits to be cancelled. thread_main keeps no variables on its
 * stack, since ASan does not know how the C library removes the stack. */
struct deed {
    void (*act)(void *arg);
    void *arg;
    bool again; /* repeat it until cancelled */
};

static void *thread_main(void *arg)
{
    const struct deed *deed = arg;
    atomic_store(&begun, true);
    do {
        deed->act(deed->arg);
        atomic_store(&over, true);
        pthread_testcancel();
    } while (deed->again);
    for (;;)
        pthread_testcancel();
    return NULL;
}

static void begin(pthread_t *thread, struct deed *deed)
{
    atomic_store(&begun, false);
    atomic_store(&over, false);
    CHECK_IS(0, pthread_create(thread, NULL, thread_main, deed));
    WAIT_UNTIL(atomic_load(&begun));
}

static void join_cancelled(pthread_t thread)
{
    void *result;
    CHECK_IS(0, pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
    CHECK(atomic_load(&over));
}

/* ---- cancelled while it waits for a lock and holds another one ---- */

static void select_both(void *arg)
{
    leat_chan **both = arg;
    int x = 1;
    leat_case cases[] = { LEAT_RECV(both[0], &x), LEAT_RECV(both[1], &x) };
    CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW));
}

static void cancelled_before_a_lock(void **state)
{
    (void)state;
    leat_chan *both[] = { leat_chan_of(NULL, int, 1), leat_chan_of(NULL, int, 1) };
    for (int held = 0; held < 2; held++) {
        pthread_t thread;
        lt_biased_lock(&both[held]->lock, NULL);
        begin(&thread, &(struct deed){ .act = select_both, .arg = both });
        usleep(20000); /* it naps by now */
        CHECK_IS(0, pthread_cancel(thread));
        usleep(20000);
        lt_biased_unlock(&both[held]->lock);
        join_cancelled(thread);
        for (int i = 0, x = 1; i < 2; i++) {
            CHECK_IS(0, leat_try_send(both[i], &x));
            CHECK_IS(0, leat_try_recv(both[i], &x));
        }
    }
    CHECK_IS(0, leat_chan_unref(both[0]));
    CHECK_IS(0, leat_chan_unref(both[1]));
}

/* ---- cancelled while it waits ---- */

static void receive(void *ch)
{
    int x = 0;
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(7, x);
}

static void cancelled_in_a_wait(void **state)
{
    (void)state;
    leat_chan *ch = leat_chan_of(NULL, int, 0);
    pthread_t thread;
    begin(&thread, &(struct deed){ .act = receive, .arg = ch });
    WAIT_UNTIL(receivers_of(ch) == 1);
    CHECK_IS(0, pthread_cancel(thread));
    usleep(10000);
    CHECK_IS(0, leat_send(ch, &(int){ 7 }));
    join_cancelled(thread);
    CHECK_IS(0, receivers_of(ch));
    CHECK_IS(-EAGAIN, leat_try_send(ch, &(int){ 8 }));
    CHECK_IS(0, leat_chan_unref(ch));
}

/* ---- cancelled before it starts, dumps and stops a runtime ---- */

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void live_and_die(void *file)
{
    CHECK_IS(0, pthread_cancel(pthread_self()));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2, .watchdog = LEAT_S }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(s, nothing, NULL));
    CHECK_IS(0, leat_dump(file));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, leat_main(nothing, NULL));
}

static void cancelled_in_starting_and_stopping(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    pthread_t thread;
    CHECK(file);
    for (int round = 0; round < 20; round++) {
        begin(&thread, &(struct deed){ .act = live_and_die, .arg = file });
        join_cancelled(thread);
    }
    CHECK_IS(0, leat_main(nothing, NULL));
    fclose(file);
}

/* ---- cancelled at any moment ---- */

static void use(void *arg)
{
    leat_chan **both = arg;
    long x = 1;
    leat_case cases[] = { LEAT_RECV(both[0], &x), LEAT_SEND(both[1], &x), LEAT_SEND(both[0], &x),
                          LEAT_RECV(both[1], &x) };
    leat_select(cases, 4, LEAT_NOW);
}

static void cancelled_at_any_moment(void **state)
{
    (void)state;
    enum { ROUNDS = 40 / SCALE, THREADS = 8 };
    leat_chan *both[] = { leat_chan_of(NULL, long, 2), leat_chan_of(NULL, long, 2) };
    struct deed deed = { .act = use, .arg = both, .again = true };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            CHECK_IS(0, pthread_create(&threads[i], NULL, thread_main, &deed));
        usleep(2000);
        for (int i = 0; i < THREADS; i++)
            CHECK_IS(0, pthread_cancel(threads[i]));
        for (int i = 0; i < THREADS; i++)
            CHECK_IS(0, pthread_join(threads[i], NULL));
        long x = 1;
        leat_try_send(both[0], &x);
        leat_try_send(both[1], &x);
    }
    CHECK_IS(0, leat_chan_unref(both[0]));
    CHECK_IS(0, leat_chan_unref(both[1]));
}

/* ---- cancelled in an operation that signals an eventfd ---- */

static void signal_at_once(void *fd)
{
    CHECK_IS(0, pthread_cancel(pthread_self()));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    leat_op op = LEAT_OP(s, 0);
    int x = 0;
    CHECK_IS(0, leat_send(ch, &(int){ 7 }));
    CHECK_IS(0, leat_recv_signal(&op, ch, &x, *(int *)fd));
    CHECK_IS(0, leat_op_status(&op));
    CHECK_IS(7, x);
    CHECK_IS(0, leat_scope_close(s));
}

static void cancelled_as_it_signals(void **state)
{
    (void)state;
    int fd = eventfd(0, EFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    pthread_t thread;
    begin(&thread, &(struct deed){ .act = signal_at_once, .arg = &fd });
    join_cancelled(thread);
    CHECK_IS(0, leat_stop());
    close(fd);
}

/* ---- cancelled before one of leat's signal handlers runs ---- */

static void raise_signal(void *number)
{
    CHECK_IS(0, pthread_cancel(pthread_self()));
    CHECK_IS(0, raise(*(int *)number));
}

static void cancelled_in_a_handler(void **state)
{
    (void)state;
    static int numbers[] = { SIGUSR1, SIGUSR2 };
    leat_chan *ch;
    pthread_t thread;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_signals(s, &numbers[0], 1, &ch));
    CHECK_IS(0, leat_dump_on_signal(numbers[1]));
    for (int i = 0; i < 2; i++) {
        begin(&thread, &(struct deed){ .act = raise_signal, .arg = &numbers[i] });
        join_cancelled(thread);
    }
    leat_signal item;
    CHECK_IS(0, leat_recv(ch, &item));
    CHECK_IS(numbers[0], item.signal);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* ---- cancelled as it waits for a dump to end ---- */

static void count_once(void *counts_soon)
{
    leat_counts counts;
    CHECK_IS(0, pthread_cancel(pthread_self()));
    atomic_store((_Atomic bool *)counts_soon, true);
    CHECK_IS(0, leat_count(&counts));
}

static void cancelled_as_it_counts(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    CHECK_IS(0, lt_runtime_look()); /* as a dump does */
    pthread_t thread;
    _Atomic bool counts_soon = false;
    begin(&thread, &(struct deed){ .act = count_once, .arg = &counts_soon });
    WAIT_UNTIL(atomic_load(&counts_soon));
    usleep(20000); /* it waits by then, which nobody sees from outside */
    lt_runtime_look_away();
    join_cancelled(thread);
    CHECK_IS(0, leat_stop());
}

/* ---- cancelled in a seeded world ---- */

static int wait_in_the_system(void *ch)
{
    usleep(1);
    return leat_send(ch, &(int){ 7 });
}

static int live_in_a_world(void *unused)
{
    (void)unused;
    int x = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_go(s, wait_in_the_system, ch));
    CHECK_IS(0, leat_recv(ch, &x));
    return leat_scope_close(s);
}

static int always_fail(void *unused)
{
    (void)unused;
    return -EPROTO;
}

static void simulate(void *unused)
{
    (void)unused;
    CHECK_IS(0, pthread_cancel(pthread_self()));
    CHECK_IS(-EPROTO, leat_sim_each(0, 1, always_fail, NULL)); /* prints the seed */
    CHECK_IS(0, leat_sim(1, live_in_a_world, NULL));
}

static void cancelled_in_a_world(void **state)
{
    (void)state;
    pthread_t thread;
    begin(&thread, &(struct deed){ .act = simulate });
    join_cancelled(thread);
    CHECK_IS(0, leat_main(nothing, NULL));
}

/* ---- cancelled as it closes a scope with a page ---- */

static void show_a_page(void *unused)
{
    (void)unused;
    CHECK_IS(0, pthread_cancel(pthread_self()));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, "127.0.0.1:0", NULL));
    CHECK_IS(0, leat_scope_close(s));
}

static void cancelled_with_a_page(void **state)
{
    (void)state;
    pthread_t thread;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    begin(&thread, &(struct deed){ .act = show_a_page });
    join_cancelled(thread);
    CHECK_IS(0, leat_stop());
}

/* ---- cancelled as a start is refused, with a line on standard error ---- */

static void start_in_vain(void *unused)
{
    (void)unused;
    CHECK_IS(0, pthread_cancel(pthread_self()));
    CHECK_IS(-EINVAL, leat_start(NULL));
}

static void cancelled_as_a_start_is_refused(void **state)
{
    (void)state;
    pthread_t thread;
    CHECK_IS(0, setenv("LEAT_WORKERS", "many", 1));
    begin(&thread, &(struct deed){ .act = start_in_vain });
    join_cancelled(thread);
    CHECK_IS(0, unsetenv("LEAT_WORKERS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_before_a_lock),
        cmocka_unit_test(cancelled_in_a_wait),
        cmocka_unit_test(cancelled_in_starting_and_stopping),
        cmocka_unit_test(cancelled_at_any_moment),
        cmocka_unit_test(cancelled_as_it_signals),
        cmocka_unit_test(cancelled_in_a_handler),
        cmocka_unit_test(cancelled_as_it_counts),
        cmocka_unit_test(cancelled_in_a_world),
        cmocka_unit_test(cancelled_with_a_page),
        cmocka_unit_test(cancelled_as_a_start_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
