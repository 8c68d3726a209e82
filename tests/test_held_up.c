/* test_held_up.c: a thief helps a worker that is held up, however often it looks, and whatever else
 * it finds there.
 *
 * Only what the looks see counts, not how long they take. So the tests make the looks, and count
 * their times by hand. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "sched/steal.h"

enum { READERS = 4 };

static struct reader {
    leat_block block;
    char byte;
} readers[READERS];
static leat_io *pairs[READERS][2];
static struct lt_worker *victim;
static _Atomic bool holds_up, has_slept;

static int read_one(leat_block *b)
{
    struct reader *me = (struct reader *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ(b, pairs[me - readers][1], &me->byte, 1);
    CHECK_IS(1, b->status);
    LEAT_END(b);
}

static int sleep_a_little(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_sleep(20 * LEAT_MS));
    atomic_store(&has_slept, true);
    return 0;
}

/* Computes until the task that sleeps on its worker has been helped. With `reads`, blocks there
 * wait for descriptors, too. */
static int hold_up(void *reads)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    victim = lt_current_worker();
    for (int i = 0; i < READERS && *(bool *)reads; i++) {
        CHECK_IS(0, leat_io_pair(s, pairs[i]));
        CHECK_IS(0, leat_go_block(s, &readers[i].block, read_one));
    }
    CHECK_IS(0, leat_go(s, sleep_a_little, NULL));
    CHECK_IS(0, leat_sleep(LEAT_US)); /* all of them begin to wait */
    atomic_store(&holds_up, true);
    COMPUTE_UNTIL(atomic_load(&has_slept));
    return leat_scope_close(s);
}

/* Begins a look when the sleeper is due. */
static int64_t begin(struct lt_worker *here, leat_scope *s, bool *reads)
{
    atomic_store(&holds_up, false);
    atomic_store(&has_slept, false);
    CHECK_IS(0, leat_pin());
    CHECK_IS(0, leat_go(s, hold_up, reads));
    COMPUTE_UNTIL(atomic_load(&holds_up));
    int64_t due = leat_after(30 * LEAT_MS);
    COMPUTE_UNTIL(leat_now() >= due);
    CHECK(victim != here);
    lt_worker_go_in(here);
    lt_steal_look(here, due);
    return due;
}

/* The sleeper's timer was the only one there. If the system was slow, the sleeper may have woken
 * before its worker was held up. */
static void end(struct lt_worker *here, leat_scope *s)
{
    CHECK_IS(0, victim->wheel.count);
    lt_worker_go_out(here);
    CHECK_IS(0, leat_unpin());
    CHECK_IS(0, leat_scope_close(s));
}

/* As if this worker ran dry every 10 us. */
static int helps_although_it_looks_often(void *arg)
{
    (void)arg;
    enum { LOOKS = 10000 };
    bool reads = false;
    struct lt_worker *here = lt_current_worker();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t now = begin(here, s, &reads);
    for (int i = 0; i < LOOKS && lt_steal(here, now) != LT_LOOT_TAKEN; i++)
        now += 10 * LEAT_US;
    end(here, s);
    return 0;
}

/* As if an event came before each look. */
static int helps_although_events_come(void *arg)
{
    (void)arg;
    bool reads = true;
    struct lt_worker *here = lt_current_worker();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t now = begin(here, s, &reads);
    for (int i = 0; i < READERS; i++) {
        CHECK_IS(1, write(leat_io_fd(pairs[i][0]), "x", 1));
        lt_steal(here, now += LEAT_MS);
    }
    end(here, s);
    return 0;
}

static void helps_although_it_looks_often_on_2(void **state)
{
    (void)state;
    run_on(2, helps_although_it_looks_often);
}

static void helps_although_events_come_on_2(void **state)
{
    (void)state;
    run_on(2, helps_although_events_come);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helps_although_it_looks_often_on_2),
        cmocka_unit_test(helps_although_events_come_on_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
