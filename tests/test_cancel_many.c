/* test_cancel_many.c: a cancel reaches every party of a crowd, wherever it waits, and in time. */
#include "dumps.h"

#ifdef TESTS_IN_SIM
enum { CROWD = 40 };
#else
enum { CROWD = 3000 };
#endif
static _Atomic int left_in_crowd;

static int wait_in_crowd(void *arg)
{
    int x;
    CHECK_IS(-ECANCELED, leat_recv(arg, &x));
    atomic_fetch_sub(&left_in_crowd, 1);
    return 0;
}

static int yield_meanwhile(void *arg)
{
    (void)arg;
    while (left_in_crowd)
        leat_yield();
    return 0;
}

struct tosser {
    leat_block block;
    leat_chan *from, *to;
    int item;
};

/* Two blocks keep their worker busy, without a task between them. */
static int toss_meanwhile(leat_block *b)
{
    struct tosser *me = (struct tosser *)b;
    LEAT_BEGIN(b);
    while (left_in_crowd) {
        LEAT_AWAIT_RECV(b, me->from, &me->item);
        LEAT_AWAIT_SEND(b, me->to, &me->item);
    }
    LEAT_END(b);
}

/* The crowd is too large for one look at the nudges, and each worker always has other work. */
static int reaches_a_crowd(void *arg)
{
    (void)arg;
    enum { BUSY = 8 };
    leat_scope *around = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    leat_chan *never = leat_chan_of(s, int, 0);
    leat_chan *a = leat_chan_of(around, int, 1), *b = leat_chan_of(around, int, 1);
    static struct tosser tossers[2];
    tossers[0] = (struct tosser){ .from = a, .to = b };
    tossers[1] = (struct tosser){ .from = b, .to = a };
    left_in_crowd = CROWD;
    for (int i = 0; i < CROWD; i++)
        CHECK_IS(0, leat_go(s, wait_in_crowd, never));
    for (int i = 0; i < CROWD; i++)
        leat_yield();
    for (int i = 0; i < BUSY; i++)
        CHECK_IS(0, leat_go(around, yield_meanwhile, NULL));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go_block(around, &tossers[i].block, toss_meanwhile));
    CHECK_IS(0, leat_send(a, &(int){ 1 }));
    leat_yield();
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, left_in_crowd);
    leat_close(a); /* for the block that waits for the item */
    leat_close(b);
    CHECK_IS(0, leat_scope_close(around));
    return 0;
}
ON_WORKERS(reaches_a_crowd);

/* On one worker, so that nothing runs between two waits. */
enum { STORM = CROWD < 256 ? CROWD : 256, ROUNDS = 300 };
static struct {
    leat_chan *never;
    leat_scope *victims, *opened[STORM];
    bool begun, ended;
} storm;

static int wait_in_storm(void *arg)
{
    int x;
    (void)arg;
    CHECK_IS(-ECANCELED, leat_recv(storm.never, &x));
    storm.ended = true;
    return 0;
}

static int open_for_victim(void *arg)
{
    (void)arg;
    storm.victims = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(storm.victims, wait_in_storm, NULL));
    return leat_scope_close(storm.victims);
}

/* On each turn cancels a scope that another task has open, and one that it opened: two new
 * nudges. */
static int cancel_all_the_time(void *arg)
{
    int me = (int)(intptr_t)arg;
    for (int round = 0; round < ROUNDS && !storm.ended; round++) {
        storm.opened[me] = leat_scope_open(LEAT_NEVER);
        leat_yield();
        if (me == STORM / 2 && !storm.begun) {
            storm.begun = true;
            CHECK_IS(0, leat_scope_cancel(storm.victims));
        }
        leat_scope *other = storm.opened[(me + STORM / 2) % STORM], *mine = storm.opened[me];
        if (other)
            CHECK_IS(0, leat_scope_cancel(other));
        storm.opened[me] = NULL;
        leat_scope_close(mine);
        mine = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_scope_cancel(mine));
        CHECK_IS(0, leat_scope_close(mine));
    }
    CHECK(storm.ended);
    return 0;
}

/* A nudge must not wait for all later nudges. */
static int reaches_the_first_of_many_nudges(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    storm.never = leat_chan_of(s, int, 0);
    storm.begun = storm.ended = false;
    CHECK_IS(0, leat_go(s, open_for_victim, NULL));
    for (int i = 0; i < 10; i++)
        leat_yield();
    for (intptr_t i = 0; i < STORM; i++)
        CHECK_IS(0, leat_go(s, cancel_all_the_time, (void *)i));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void reaches_the_first_of_many_nudges_on_1(void **state)
{
    (void)state;
    run_on(1, reaches_the_first_of_many_nudges);
}

/* Each task waits for the others of its round, so that each runs on its own worker. */
static struct {
    _Atomic unsigned met;
    unsigned expected;
    leat_scope *scope;
    leat_chan *never, *come;
    _Atomic unsigned blocks, ended;
} meeting;

enum { MEETINGS = 40, MOST_WORKERS = 4 };

/* As a rule, each block first waits on the worker of the task that started it. */
static leat_block meeting_blocks[MEETINGS * MOST_WORKERS];

static int block_and_wait(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, meeting.never, NULL);
    CHECK_IS(-ECANCELED, b->status);
    meeting.ended++;
    LEAT_END(b);
}

static int meet_and_wait(void *arg)
{
    int x;
    (void)arg;
    meeting.met++;
    while (meeting.met < meeting.expected)
#ifdef TESTS_IN_SIM
        leat_yield()
#endif
            ;
    CHECK_IS(0, leat_go_block(meeting.scope, &meeting_blocks[meeting.blocks++], block_and_wait));
    CHECK_IS(0, leat_try_send(meeting.come, NULL));
    CHECK_IS(-ECANCELED, leat_recv(meeting.never, &x));
    meeting.ended++;
    return 0;
}

/* Tasks and blocks of all workers first wait in the same scope, in turns. */
static int reaches_the_parties_of_all_workers(void *arg)
{
    (void)arg;
    const unsigned workers = leat_workers();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    meeting.never = leat_chan_of(s, int, 0);
    meeting.come = leat_chan_make(s, 0, workers);
    meeting.scope = s;
    meeting.met = 0;
    meeting.expected = 0;
    meeting.blocks = 0;
    meeting.ended = 0;
    for (unsigned i = 0; i < MEETINGS; i++) {
        meeting.expected += workers;
        for (unsigned k = 0; k < workers; k++)
            CHECK_IS(0, leat_go_named(s, meet_and_wait, NULL, "meets", 0));
        for (unsigned k = 0; k < workers; k++)
            CHECK_IS(0, leat_recv(meeting.come, NULL));
    }
    WAIT_UNTIL(times_in_dump(" meets: waits") == MEETINGS * workers);
    WAIT_UNTIL(times_in_dump("): waits at line") == MEETINGS * workers);
    WAIT_UNTIL(leat_scope_tasks(s) == 2 * MEETINGS * workers);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(2 * MEETINGS * workers, meeting.ended);
    return 0;
}
ON_WORKERS(reaches_the_parties_of_all_workers);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(reaches_a_crowd),
        cmocka_unit_test(reaches_the_first_of_many_nudges_on_1),
        TESTS_ON_WORKERS(reaches_the_parties_of_all_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
