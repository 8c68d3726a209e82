/* test_biased.c: the lock that one worker takes with plain stores, until others come. */
#include "base/biased.h"
#include "support.h"

#include "base/config.h"

enum { THREADS = 3, ROUNDS = 4000 / SCALE, ALONE = 2 * LT_BIAS_AFTER, TOGETHER = 20 };

static struct lt_biased biased;
static long counter; /* guarded by it; torn in two so that a second one inside would show */
static long shadow;
static pthread_barrier_t barrier;

static void count(const void *me)
{
    lt_biased_lock(&biased, me);
    long before = counter++;
    CHECK_IS(before, shadow);
    shadow++;
    lt_biased_unlock(&biased);
}

static bool is_owner(const void *me)
{
    return atomic_load_explicit(&biased.owner, memory_order_relaxed) == (uintptr_t)me;
}

static void is_given_to_who_comes_often(void **state)
{
    (void)state;
    static int one, two;
    lt_bias_open();
    lt_biased_init(&biased);
    if (biased.settled)
        skip(); /* the kernel has no barrier */
    for (int i = 0; i < 3 * LT_BIAS_AFTER; i++)
        count(i % 2 ? &one : &two);
    CHECK(!is_owner(&one) && !is_owner(&two));
    for (int i = 0; i < 3 * LT_BIAS_AFTER; i++)
        count(NULL);
    CHECK(!is_owner(NULL));
    for (int i = 0; i < LT_BIAS_AFTER; i++)
        count(&one);
    CHECK(!is_owner(&one));
    count(&one);
    CHECK(is_owner(&one));
    count(&one);
    count(&two);
    CHECK(!is_owner(&one) && biased.settled);
    for (int i = 0; i < 3 * LT_BIAS_AFTER; i++)
        count(&two);
    CHECK(!is_owner(&two)); /* once in its life */
}

/* The first takes it so often that it becomes the owner, and goes on while the others come. */
static void *compete(void *me)
{
    bool first = *(int *)me == 0, alien = *(int *)me == THREADS - 1;
    for (int round = 0; round < ROUNDS; round++) {
        if (first)
            lt_biased_init(&biased);
        pthread_barrier_wait(&barrier);
        for (int i = 0; first && i < ALONE; i++)
            count(me);
        if (!first)
            for (volatile int pause = (round * 7) % 400; pause > 0; pause--) {
            }
        for (int i = 0; i < TOGETHER; i++)
            count(alien ? NULL : me);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void lets_one_in_at_a_time(void **state)
{
    (void)state;
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    counter = shadow = 0;
    lt_bias_open();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_IS(0, pthread_create(&threads[i], NULL, compete, &numbers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    CHECK_IS((long)ROUNDS * (ALONE + THREADS * TOGETHER), counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_given_to_who_comes_often),
        cmocka_unit_test(lets_one_in_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
