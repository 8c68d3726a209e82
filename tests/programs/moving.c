/* moving.c: a task that moves to another thread again and again, for a tool that is slow. */
#define _GNU_SOURCE /* gettid */
#include <leat/leat.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOVES = 12 };

static _Atomic pid_t where;

/* Until the other task has moved, ten seconds at most. */
static int compute(void *arg)
{
    pid_t here = *(pid_t *)arg;
    for (int64_t end = leat_after(10 * LEAT_S); atomic_load(&where) == here && leat_now() < end;)
        ;
    return 0;
}

/* Uses more than a page of its stack, before the move and after it. */
static int move(leat_scope *s)
{
    char before[6000], after[6000];
    pid_t here = gettid();
    memset(before, here % 100, sizeof before);
    atomic_store(&where, here);
    if (leat_go(s, compute, &here))
        return 1;
    for (int64_t end = leat_after(20 * LEAT_S); gettid() == here && leat_now() < end;)
        leat_yield();
    atomic_store(&where, gettid());
    memcpy(after, before, sizeof after);
    return leat_sleep(LEAT_US) || gettid() == here || after[100] != here % 100;
}

static int run(void *arg)
{
    (void)arg;
    for (int i = 0; i < MOVES; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        int error = move(s);
        if (leat_scope_close(s) || error)
            return 1;
    }
    return 0;
}

int main(void)
{
    int result = leat_main_with(run, NULL, &(leat_options){ .workers = 2 });
    if (result)
        fprintf(stderr, "a task has not moved\n");
    return result != 0;
}
