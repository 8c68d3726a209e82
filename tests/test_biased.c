/* test_biased.c: the lock that one worker takes with plain stores until others come. */
#define _GNU_SOURCE
#include "support.h"

#include "base/biased.c" /* for its counts */
#include "base/config.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 4000 / SCALE, ALONE = 2 * LT_BIAS_AFTER, TOGETHER = 20 };

static struct lt_biased biased;
static long counter; /* guarded by `biased`; `shadow` differs while it changes */
static long shadow;
static _Atomic long counted; /* what `counter` should be */
static pthread_barrier_t barrier;

static void count(const void *me)
{
    lt_biased_lock(&biased, me);
    long before = counter++;
    CHECK_IS(before, shadow);
    shadow++;
    lt_biased_unlock(&biased);
}

static void visit(const void *me)
{
    lt_biased_visit(&biased, me);
    CHECK_IS(shadow, counter);
    lt_biased_unlock(&biased);
}

static bool is_owner(const void *me)
{
    return atomic_load_explicit(&biased.owner, memory_order_relaxed) == (uintptr_t)me;
}

static void a_frequent_user_becomes_the_owner(void **state)
{
    (void)state;
    static int one, two;
    lt_bias_open();
    lt_biased_init(&biased);
    if (biased.settled)
        skip(); /* the kernel has no membarrier */
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
    CHECK(!is_owner(&two)); /* a lock gets one owner in its life */
}

/* A visit takes the right back for a while. Only the former owner may get it again. */
static void the_owner_returns_after_visits(void **state)
{
    (void)state;
    static int one, two;
    lt_bias_open();
    lt_biased_init(&biased);
    if (biased.settled)
        skip();
    counter = shadow = 0;
    for (int i = 0; i <= LT_BIAS_AFTER; i++)
        count(&one);
    for (int round = 0; round < 3 * LT_BIAS_TRIALS && round < 1000; round++) {
        CHECK(is_owner(&one));
        visit(&one); /* the owner's own visit changes nothing */
        CHECK(is_owner(&one));
        visit(round % 2 ? &two : NULL);
        visit(NULL);
        for (int i = 0; i < LT_BIAS_AFTER; i++) {
            CHECK(!is_owner(&one) && !biased.settled);
            count(&one);
        }
    }
    visit(&two);
    count(&two);
    CHECK(biased.settled);
    for (int i = 0; i < 3 * LT_BIAS_AFTER; i++)
        count(i < LT_BIAS_AFTER ? &two : &one);
    CHECK(!is_owner(&one) && !is_owner(&two));
    /* A visit neither helps nor hinders a party on its way to become the owner. */
    lt_biased_init(&biased);
    for (int i = 0; i <= LT_BIAS_AFTER; i++) {
        CHECK(!is_owner(&one));
        count(&one);
        if (i < LT_BIAS_AFTER)
            visit(&two);
    }
    CHECK(is_owner(&one));
}

/* A server makes more than 2^32 channels in some days, and half of them may lose their owners. */
static void owners_pay_after_any_number_of_locks(void **state)
{
    (void)state;
    static int one;
    uint64_t given_before = given, taken_before = taken_back;
    lt_bias_open();
    given = UINT32_MAX;
    taken_back = UINT32_MAX / 2;
    for (int round = 0; round < 3; round++) {
        lt_biased_init(&biased);
        if (biased.settled)
            skip();
        for (int i = 0; i <= LT_BIAS_AFTER; i++)
            count(&one);
        CHECK(is_owner(&one));
    }
    given = given_before;
    taken_back = taken_before;
}

/* The first thread becomes the owner, and goes on while the others come. In every other round the
 * others only visit, so that it becomes the owner again meanwhile. */
static void *compete(void *me)
{
    bool first = *(int *)me == 0, alien = *(int *)me == THREADS - 1;
    long counts = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (first)
            lt_biased_init(&biased);
        pthread_barrier_wait(&barrier);
        for (int i = 0; first && i < ALONE; i++, counts++)
            count(me);
        if (!first)
            for (volatile int pause = (round * 7) % 400; pause > 0; pause--) {
            }
        bool visits = round % 2;
        for (int i = 0; !first && visits && i < TOGETHER; i++)
            visit(alien ? NULL : me);
        for (int i = 0; (first || !visits) && i < (visits ? 2 * ALONE : TOGETHER); i++, counts++)
            count(alien ? NULL : me);
        pthread_barrier_wait(&barrier);
    }
    atomic_fetch_add(&counted, counts);
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
    CHECK_IS(atomic_load(&counted), counter);
}

/* In the harsh build the owner is stopped for a moment just before it reaches for the lock
 * (base/gap.h). Meanwhile the other thread takes the right back, and then keeps the lock for longer
 * than that. */
static _Atomic bool kept;
static _Atomic int left; /* rounds */

static void *go_on_as_owner(void *me)
{
    while (atomic_load(&left) > 0) {
        lt_biased_init(&biased);
        atomic_store(&kept, false);
        pthread_barrier_wait(&barrier);
        while (!atomic_load(&kept))
            count(me);
        count(me);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void a_late_owner_sees_that_it_is_not_the_owner(void **state)
{
    (void)state;
    static int one, two;
    pthread_t thread;
    lt_bias_open();
    pthread_barrier_init(&barrier, NULL, 2);
    counter = shadow = 0;
    atomic_store(&left, 400 / SCALE);
    CHECK_IS(0, pthread_create(&thread, NULL, go_on_as_owner, &one));
    for (int i = atomic_load(&left); i > 0; i--) {
        pthread_barrier_wait(&barrier);
        nap();
        if (i % 2)
            lt_biased_lock(&biased, &two);
        else
            lt_biased_visit(&biased, &two);
        long before = counter++;
        nap();
        nap();
        CHECK_IS(before, shadow);
        CHECK_IS(before + 1, counter);
        shadow++;
        lt_biased_unlock(&biased);
        atomic_store(&left, i - 1);
        atomic_store(&kept, true);
        pthread_barrier_wait(&barrier);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

/* A dump visits channels' locks. */
static int dumps(void *file)
{
    return leat_dump(file);
}

static int talks_and_is_dumped(void *file)
{
    leat_chan *ch = leat_chan_of(NULL, int, 1);
    const _Atomic uintptr_t *owner = &ch->lock.owner;
    bool can_own = !ch->lock.settled; /* the kernel has membarrier */
    for (int round = 0, x = 0; round < 3; round++) {
        for (int i = 0; i <= LT_BIAS_AFTER; i++)
            CHECK_IS(0, i % 2 ? leat_recv(ch, &x) : leat_send(ch, &x));
        CHECK_IS(can_own, !(atomic_load(owner) & LT_CANDIDATE));
        if (LT_BIAS_AFTER % 2 == 0)
            CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(0, leat_blocking(dumps, file));
        CHECK(atomic_load(owner) & LT_CANDIDATE);
    }
    return leat_chan_unref(ch);
}

static void the_owner_returns_after_dumps(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    CHECK(file);
    CHECK_IS(0, leat_main_with(talks_and_is_dumped, file, &(leat_options){ .workers = 1 }));
    fclose(file);
}

/* The library registers for membarrier when it is loaded: with threads, this takes long. */
static void is_registered_with_the_library(void **state)
{
    (void)state;
    long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known < 0 || !(known & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        skip();
    assert_int_equal(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_registered_with_the_library), /* first: before any runtime */
        cmocka_unit_test(a_frequent_user_becomes_the_owner),
        cmocka_unit_test(the_owner_returns_after_visits),
        cmocka_unit_test(owners_pay_after_any_number_of_locks),
        cmocka_unit_test(the_owner_returns_after_dumps),
        cmocka_unit_test(lets_one_in_at_a_time),
        cmocka_unit_test(a_late_owner_sees_that_it_is_not_the_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
