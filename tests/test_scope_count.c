/* test_scope_count.c: a worker counts in advance for a scope, also where tasks start tasks. */
#include "support.h"

#include "sched/current.h"

enum { MANY = 50 };

static struct {
    leat_block block, many[MANY];
    _Atomic int left;
    _Atomic bool closed;
} other;

static int end_at_once(void *arg)
{
    (void)arg;
    other.left--;
    return 0;
}

static int block_that_ends_at_once(leat_block *b)
{
    (void)b;
    return end_at_once(NULL);
}

static int task_of_another_scope(void *arg)
{
    (void)arg;
    while (other.left)
        leat_yield();
    while (!other.closed)
        nap();
    return 0;
}

static int block_of_another_scope(leat_block *b)
{
    LEAT_BEGIN(b);
    while (other.left)
        LEAT_AWAIT_YIELD(b);
    while (!other.closed)
        nap();
    LEAT_END(b);
}

static void keeps_no_opener_waiting(void **state)
{
    (void)state;
    enum { TASK_THEN = 2, BLOCK_THEN = 4, NOBODY_THEN = 6, OF_BLOCKS = 1 };
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    for (int how = TASK_THEN; how <= NOBODY_THEN + OF_BLOCKS; how++) {
        const int next = how & ~OF_BLOCKS;
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        other.left = MANY;
        other.closed = false;
        if (next == TASK_THEN)
            CHECK_IS(0, leat_go(outer, task_of_another_scope, NULL));
        else if (next == BLOCK_THEN)
            CHECK_IS(0, leat_go_block(outer, &other.block, block_of_another_scope));
        for (int i = 0; i < MANY; i++)
            CHECK_IS(0, how & OF_BLOCKS
                            ? leat_go_block(inner, &other.many[i], block_that_ends_at_once)
                            : leat_go(inner, end_at_once, NULL));
        CHECK_IS(0, leat_scope_close(inner));
        other.closed = true;
        CHECK_IS(0, leat_scope_close(outer));
    }
    CHECK_IS(0, leat_stop());
}

static int note_units(void *arg)
{
    _Atomic unsigned *most = arg;
    unsigned units = atomic_load(&lt_current_worker()->units.count);
    if (atomic_load(most) < units)
        atomic_store(most, units);
    return 0;
}

enum { VERY_MANY = 1000 };

static leat_block very_many[VERY_MANY];
static _Atomic unsigned most;

static int block_notes_units(leat_block *b)
{
    (void)b;
    return note_units(&most);
}

static leat_scope *scope;

static int start_tasks(void *arg)
{
    (void)arg;
    for (int i = 0; i < VERY_MANY; i++)
        CHECK_IS(0, leat_go(scope, note_units, &most));
    return 0;
}

static int start_blocks(void *arg)
{
    (void)arg;
    for (int i = 0; i < VERY_MANY; i++)
        CHECK_IS(0, leat_go_block(scope, &very_many[i], block_notes_units));
    return 0;
}

/* Nothing makes the worker give units back early here, and it still holds at most 64. */
static void keeps_few_units(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    for (int blocks = 0; blocks <= 1; blocks++) {
        scope = leat_scope_open(LEAT_NEVER);
        most = 0;
        CHECK_IS(0, leat_go(scope, blocks ? start_blocks : start_tasks, NULL));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK(most > 1);
        CHECK(most <= 64);
    }
    CHECK_IS(0, leat_stop());
}

static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

struct nursery {
    leat_scope *scope;
    _Atomic int born;
};

static int start_more(void *arg)
{
    struct nursery *nursery = arg;
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, leat_go(nursery->scope, count_up, &nursery->born));
        CHECK_IS(0, leat_go(inner, count_up, &nursery->born));
    }
    return leat_scope_close(inner);
}

static int tasks_start_tasks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct nursery nursery = { s, 0 };
    for (int i = 0; i < 10; i++)
        CHECK_IS(0, i % 3 ? leat_go(s, start_more, &nursery)
                          : leat_go_blocking(s, start_more, &nursery));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(200, nursery.born);
    return 0;
}
ON_WORKERS(tasks_start_tasks);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_no_opener_waiting),
        cmocka_unit_test(keeps_few_units),
        TESTS_ON_WORKERS(tasks_start_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
