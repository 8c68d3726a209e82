/* test_dump_table.c: the table of when blocks and callbacks began to wait (watch/since.h). */
#include "support.h"

#include "base/fault.h"
#include "sched/probe.h"
#include "watch/since.h"

enum { MILLION = 1000000 / SCALE };

/* The table uses only a party's address. */
static const struct lt_party *party(size_t i)
{
    return (const struct lt_party *)(const void *)(UINTPTR_MAX / 4 + 96 * i);
}

static void test_a_million(void **state)
{
    (void)state;
    int64_t before = leat_now();
    for (size_t i = 0; i < MILLION; i++)
        lt_since_wait(party(i));
    CHECK_IS(MILLION, lt_since_count());
    for (size_t i = 1; i < MILLION; i += 2)
        lt_since_wait_over(party(i));
    CHECK_IS(MILLION - MILLION / 2, lt_since_count());
    for (size_t i = 0; i < MILLION; i++)
        CHECK(i % 2 ? lt_since(party(i)) == 0
                    : lt_since(party(i)) >= before && lt_since(party(i)) <= leat_now());
    for (size_t i = 0; i < MILLION; i++)
        lt_since_wait_over(party(i));
    CHECK_IS(0, lt_since_count());
    lt_since_end();
    CHECK_IS(0, lt_since(party(0)));
    lt_since_wait_over(party(0));
}

/* Compares the table with an array. */
static void test_any_order(void **state)
{
    (void)state;
    enum { PARTIES = 3000, TURNS = 300000 / SCALE };
    static bool waits[PARTIES];
    uint64_t chance = seed_of_test();
    size_t count = 0;
    for (int i = 0; i < TURNS; i++) {
        /* In turns, more parties come than go, and more go than come. */
        unsigned at = below(&chance, PARTIES);
        bool comes = below(&chance, 10) < (i / 5000 % 2 ? 7 : 3);
        CHECK_IS(waits[at], lt_since(party(at)) != 0);
        if (comes)
            lt_since_wait(party(at));
        else
            lt_since_wait_over(party(at));
        count = count + comes - waits[at];
        waits[at] = comes;
    }
    CHECK_IS(count, lt_since_count());
    for (size_t i = 0; i < PARTIES; i++)
        CHECK_IS(waits[i], lt_since(party(i)) != 0);
    lt_since_end();
    CHECK_IS(0, lt_since_count());
}

/* Each thread has its own parties, and looks all of them up. */
static void *use_table(void *number)
{
    enum { PARTIES = 500, TURNS = 100000 / SCALE };
    uint64_t chance = 1 + (uintptr_t)number;
    for (int i = 0; i < TURNS; i++) {
        size_t mine = (uintptr_t)number * PARTIES + below(&chance, PARTIES);
        lt_since_wait(party(mine));
        CHECK(lt_since(party(mine)) > 0);
        CHECK(lt_since(party(below(&chance, 4 * PARTIES))) >= 0);
        if (below(&chance, 3)) {
            lt_since_wait_over(party(mine));
            CHECK_IS(0, lt_since(party(mine)));
        }
    }
    for (size_t i = 0; i < PARTIES; i++)
        lt_since_wait_over(party((uintptr_t)number * PARTIES + i));
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_IS(0, pthread_create(&threads[i], NULL, use_table, (void *)i));
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, pthread_join(threads[i], NULL));
    CHECK_IS(0, lt_since_count());
    lt_since_end();
}

/* In the harsh build: without memory, the table knows nothing. */
static void test_starved(void **state)
{
    (void)state;
#ifdef LEAT_HARSH
    lt_fault_arm(1);
    lt_since_wait(party(1));
    CHECK(lt_fault_struck());
    lt_fault_arm(0);
    CHECK_IS(0, lt_since(party(1)));
    lt_since_wait_over(party(1));
    CHECK_IS(0, lt_since_count());
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
