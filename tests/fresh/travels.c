/* travels.c: for fresh.sh: a task that moves to another thread between every two operations, all in
 * one function. So the test fails if the compiler keeps the address of a thread-local variable over
 * one of them. */
#define _GNU_SOURCE /* gettid */
#include <leat/leat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In keep.c, where errno is the C library's. */
int keeps_its_errno(void);
int set_errno(int value);
int get_errno(void);

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

struct shove {
    _Atomic int holders;
    _Atomic bool enough;
};

static leat_scope *around;
static long moves;

static void let_go(struct shove *shove)
{
    if (atomic_fetch_sub(&shove->holders, 1) == 1)
        free(shove);
}

static int compute(void *arg)
{
    struct shove *shove = arg;
    for (int64_t end = leat_after(2 * LEAT_MS); !atomic_load(&shove->enough) && leat_now() < end;)
        ;
    atomic_store(&shove->enough, true);
    let_go(shove);
    return 0;
}

/* Moves the caller to another thread: starts a task that computes, and yields to it, so that
 * another worker steals the caller; repeats that until it has happened. */
static inline void move_on(void)
{
    pid_t before = gettid();
    for (int64_t since = leat_now(); gettid() == before;) {
        struct shove *shove = malloc(sizeof *shove);
        CHECK(shove && leat_now() - since < 10 * LEAT_S);
        atomic_init(&shove->holders, 2);
        atomic_init(&shove->enough, false);
        CHECK(leat_go(around, compute, shove) == 0);
        while (gettid() == before && !atomic_load(&shove->enough))
            leat_yield();
        atomic_store(&shove->enough, true);
        let_go(shove);
    }
    moves++;
}

struct talk {
    leat_chan *there, *back, *never, *buffer;
    leat_mutex *mutex;
    int value;
};

/* Checks what must be right in every thread: errno, both as leat's headers define it and as the C
 * library does; and the caller's name and scope. */
#define MOVE_AND_LOOK(talk, in_scope) \
    do { \
        CHECK(errno == (talk)->value); \
        move_on(); \
        CHECK(errno == (talk)->value); \
        CHECK(get_errno() == (talk)->value); \
        CHECK(leat_task_name() && strcmp(leat_task_name(), "traveller") == 0); \
        CHECK(leat_cancelled(NULL) == (in_scope)); \
        (talk)->value += 1; \
        errno = (talk)->value; \
        CHECK(get_errno() == (talk)->value); \
        (talk)->value += 1; \
        set_errno((talk)->value); \
        CHECK(errno == (talk)->value); \
    } while (0)

static void trip(struct talk *talk, int i)
{
    int x = i;
    leat_case cases[] = { LEAT_RECV(talk->never, &x), LEAT_RECV(talk->back, &x) };
    errno = talk->value = 1000 + i;
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_send(talk->there, &x) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_recv(talk->back, &x) == 0 && x == i + 1);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_send(talk->there, &x) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_select(cases, 2, LEAT_NEVER) == 1 && x == i + 2);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_try_send(talk->buffer, &x) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_try_recv(talk->buffer, &x) == 0 && x == i + 2);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_recv_until(talk->never, &x, leat_after(LEAT_US)) == -ETIMEDOUT);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_sleep(LEAT_US) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_mutex_lock(talk->mutex) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_mutex_try_lock(talk->mutex) == -EDEADLK);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_mutex_unlock(talk->mutex) == 0);
    MOVE_AND_LOOK(talk, 0);
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    MOVE_AND_LOOK(talk, 0);
    leat_scope *inner = leat_scope_open(leat_after(LEAT_US));
    CHECK(leat_sleep_until(LEAT_NEVER) == -ECANCELED);
    MOVE_AND_LOOK(talk, 1);
    CHECK(leat_shield() == 0);
    MOVE_AND_LOOK(talk, 1);
    CHECK(leat_sleep(LEAT_US) == 0);
    MOVE_AND_LOOK(talk, 1);
    CHECK(leat_unshield() == 0);
    MOVE_AND_LOOK(talk, 1);
    CHECK(leat_scope_close(inner) == -ETIMEDOUT);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_scope_cancel(outer) == 0);
    MOVE_AND_LOOK(talk, 1);
    CHECK(leat_scope_close(outer) == 0);
    MOVE_AND_LOOK(talk, 0);
    CHECK(leat_pin() == 0);
    pid_t here = gettid();
    CHECK(leat_sleep(LEAT_US) == 0);
    CHECK(gettid() == here);
    CHECK(leat_unpin() == 0 && leat_unpin() == -EINVAL);
    MOVE_AND_LOOK(talk, 0);
}

static int echo(void *arg)
{
    struct talk *talk = arg;
    for (int x; leat_recv(talk->there, &x) == 0;) {
        errno = 1;
        CHECK(strcmp(leat_task_name(), "echo") == 0);
        x++;
        CHECK(leat_send(talk->back, &x) == 0);
    }
    return 0;
}

static int travel(void *arg)
{
    struct talk *talk = arg;
    for (int i = 0; i < 5; i++)
        trip(talk, i);
    return leat_close(talk->there);
}

static int begin(void *arg)
{
    (void)arg;
    around = leat_scope_open(LEAT_NEVER);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct talk talk = { .there = leat_chan_of(s, int, 0),
                         .back = leat_chan_of(s, int, 0),
                         .never = leat_chan_of(s, int, 0),
                         .buffer = leat_chan_of(s, int, 1),
                         .mutex = leat_mutex_open(s) };
    CHECK(leat_go_named(s, echo, &talk, "echo", 0) == 0);
    CHECK(leat_go_named(s, travel, &talk, "traveller", 0) == 0);
    CHECK(leat_scope_close(s) == 0);
    return leat_scope_close(around);
}

int main(void)
{
    CHECK(keeps_its_errno());
    CHECK(leat_main_with(begin, NULL, &(leat_options){ .workers = 2 }) == 0);
    CHECK(leat_main_with(begin, NULL, &(leat_options){ .workers = 3 }) == 0);
    printf("%ld moves\n", moves);
    return 0;
}
