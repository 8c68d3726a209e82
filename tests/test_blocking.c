/* test_blocking.c: calls that block, and tasks with their own thread. */
#define _GNU_SOURCE /* gettid */
#include "support.h"

#include <semaphore.h>
#include <unistd.h>

static int return_value(void *arg)
{
    return *(int *)arg;
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    CHECK_IS(-EINVAL, leat_blocking(NULL, NULL));
    static int values[] = { 0, 1, -1, -EINVAL, -ENOMEM, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        CHECK_IS(values[i], leat_blocking(return_value, &values[i]));
    return 0;
}
ON_WORKERS(refuses_wrong_arguments);

static void needs_no_runtime(void **state)
{
    (void)state;
    refuses_wrong_arguments(NULL);
}

/* The call blocks its thread until a task of the same worker has run. */
struct pause {
    sem_t entered, released;
    pid_t inside;
};

static int wait_in_the_kernel(void *arg)
{
    struct pause *pause = arg;
    pause->inside = gettid();
    sem_post(&pause->entered);
    while (sem_wait(&pause->released) != 0)
        ;
    return 17;
}

static int call_blocking(void *arg)
{
    struct pause *pause = arg;
    pid_t here = gettid();
    CHECK_IS(17, leat_blocking(wait_in_the_kernel, pause));
    CHECK(pause->inside != here);
    return 0;
}

static bool has_entered(struct pause *pause)
{
    return sem_trywait(&pause->entered) == 0;
}

enum { MANY = 24 };

/* All calls block at once: a call that had to wait for another's thread would hang. */
static int leaves_the_worker_free(void *arg)
{
    (void)arg;
    if (IN_SIM) /* nothing may block in the world */
        return 0;
    struct pause pauses[MANY];
    for (int round = 0; round < 5; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < MANY; i++) {
            sem_init(&pauses[i].entered, 0, 0);
            sem_init(&pauses[i].released, 0, 0);
            CHECK_IS(0, leat_go(s, call_blocking, &pauses[i]));
        }
        for (int i = 0; i < MANY; i++)
            WAIT_UNTIL(has_entered(&pauses[i]));
        for (int i = 0; i < MANY; i++)
            for (int j = 0; j < i; j++)
                CHECK(pauses[i].inside != pauses[j].inside);
        for (int i = 0; i < MANY; i++)
            sem_post(&pauses[i].released);
        CHECK_IS(0, leat_scope_close(s));
        for (int i = 0; i < MANY; i++) {
            sem_destroy(&pauses[i].entered);
            sem_destroy(&pauses[i].released);
        }
    }
    return 0;
}
ON_WORKERS(leaves_the_worker_free);

/* The call uses its caller's memory, so a cancelled caller waits for it, and gets its result. */
struct cancelled_call {
    struct pause pause;
    int result, after;
};

static int call_and_be_cancelled(void *arg)
{
    struct cancelled_call *call = arg;
    call->result = leat_blocking(wait_in_the_kernel, &call->pause);
    call->after = leat_blocking(wait_in_the_kernel, &call->pause);
    return 0;
}

static int is_waited_for_when_cancelled(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    for (int blocking = 0; blocking <= 1; blocking++) {
        struct cancelled_call call = { .result = 0 };
        sem_init(&call.pause.entered, 0, 0);
        sem_init(&call.pause.released, 0, 0);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, blocking ? leat_go_blocking(s, call_and_be_cancelled, &call)
                             : leat_go(s, call_and_be_cancelled, &call));
        WAIT_UNTIL(has_entered(&call.pause));
        CHECK_IS(0, leat_scope_cancel(s));
        for (int i = 0; i < 50; i++)
            leat_yield();
        WAIT_UNTIL(leat_scope_tasks(s) == 1);
        sem_post(&call.pause.released);
        sem_post(&call.pause.released);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(17, call.result);
        CHECK(call.after == -ECANCELED || (blocking && call.after == 17));
    }
    return 0;
}
ON_WORKERS(is_waited_for_when_cancelled);

static int note_thread(void *arg)
{
    *(pid_t *)arg = gettid();
    return 0;
}

static int call_from_a_thread(void *arg)
{
    (void)arg;
    pid_t inside = 0;
    CHECK_IS(0, leat_blocking(note_thread, &inside));
    CHECK_IS(gettid(), inside);
    return 0;
}

static int threads_simply_call(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    crew_go(&crew, BLOCKING, call_from_a_thread, NULL);
    crew_go(&crew, FOREIGN, call_from_a_thread, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(threads_simply_call);

/* The call runs on a thread, so it may use channels and scopes as any thread may. */
static int use_channels_inside(void *arg)
{
    leat_chan **pair = arg;
    int x = 0;
    CHECK_IS(0, leat_recv(pair[0], &x));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(s);
    CHECK_IS(0, leat_go(s, return_value, &(int){ 0 }));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_send(pair[1], &x));
    return x;
}

static int call_with_channels(void *arg)
{
    CHECK_IS(33, leat_blocking(use_channels_inside, arg));
    return 0;
}

static int calls_may_use_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *pair[2] = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 0) };
    for (int i = 0; i < 50; i++) {
        int x = 33;
        CHECK_IS(0, leat_go(s, call_with_channels, pair));
        CHECK_IS(0, leat_send(pair[0], &x));
        CHECK_IS(0, leat_recv(pair[1], &x));
        CHECK_IS(33, x);
    }
    return leat_scope_close(s);
}
ON_WORKERS(calls_may_use_channels);

/* Tasks with their own threads. */
struct meeting {
    leat_chan *ch;
    pthread_barrier_t barrier;
    pid_t tids[MANY + 1];
    _Atomic int next;
};

static int meet(void *arg)
{
    struct meeting *meeting = arg;
    int number = atomic_fetch_add(&meeting->next, 1);
    meeting->tids[number] = gettid();
    pthread_barrier_wait(&meeting->barrier); /* all of them run at once */
    for (int i = 0; i < 20; i++) {
        leat_yield();
        leat_sleep(LEAT_US);
        CHECK_IS(meeting->tids[number], gettid());
        CHECK_IS(0, leat_send(meeting->ch, &number));
    }
    return 0;
}

static int has_a_thread_each(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    struct meeting meeting = { .next = 0 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    meeting.ch = leat_chan_of(s, int, 0);
    meeting.tids[MANY] = gettid();
    pthread_barrier_init(&meeting.barrier, NULL, MANY);
    int seen[MANY] = { 0 };
    for (int i = 0; i < MANY; i++)
        CHECK_IS(0, leat_go_blocking(s, meet, &meeting));
    WAIT_UNTIL(leat_scope_tasks(s) == MANY);
    for (int i = 0; i < MANY * 20; i++) {
        int x = -1;
        CHECK_IS(0, leat_recv(meeting.ch, &x));
        seen[x]++;
    }
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0; i < MANY; i++) {
        CHECK_IS(20, seen[i]);
        for (int j = i + 1; j <= MANY; j++)
            CHECK(meeting.tids[i] != meeting.tids[j]);
    }
    pthread_barrier_destroy(&meeting.barrier);
    return 0;
}
ON_WORKERS(has_a_thread_each);

static int wait_for_cancel(void *arg)
{
    CHECK_IS(-ECANCELED, leat_recv(arg, NULL));
    CHECK_IS(1, leat_cancelled(NULL));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(1, leat_cancelled(inner));
    CHECK_IS(-ECANCELED, leat_scope_close(inner));
    return -ECANCELED;
}

static int belongs_to_its_scope(void *arg)
{
    (void)arg;
    for (int round = 0; round < 100 / SCALE; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *never = leat_chan_of(s, int, 0);
        for (int i = 0; i < 4; i++)
            CHECK_IS(0, leat_go_blocking(s, wait_for_cancel, never));
        int value = -EIO;
        if (round % 2)
            CHECK_IS(0, leat_go_blocking(s, return_value, &value));
        else
            CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(round % 2 ? -EIO : 0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(belongs_to_its_scope);

/* Threads are kept for the next call. */
static int note_and_leave(void *arg)
{
    *(pid_t *)arg = gettid();
    return 0;
}

static int reuses_threads(void *arg)
{
    (void)arg;
    enum { CALLS = 100 };
    pid_t threads[CALLS];
    int different = 0;
    for (int i = 0; i < CALLS; i++) {
        pid_t now = 0;
        CHECK_IS(0, leat_blocking(note_and_leave, &now));
        int known = 0;
        while (known < different && threads[known] != now)
            known++;
        if (known == different)
            threads[different++] = now;
    }
    CHECK(different < CALLS / 2);
    return 0;
}
ON_WORKERS(reuses_threads);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_no_runtime),       TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(leaves_the_worker_free), TESTS_ON_WORKERS(is_waited_for_when_cancelled),
        TESTS_ON_WORKERS(threads_simply_call),    TESTS_ON_WORKERS(calls_may_use_channels),
        TESTS_ON_WORKERS(has_a_thread_each),      TESTS_ON_WORKERS(belongs_to_its_scope),
        TESTS_ON_WORKERS(reuses_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
