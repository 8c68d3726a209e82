/* test_local_queue.c: owner and thieves take each party once from the local queue, oldest first. */
#include "sched/local_queue.h"
#include "support.h"

enum { THIEVES = 3, ITEMS = 2000000 / SCALE };

/* Only its addresses count; it is never read. */
static char places[ITEMS];
static _Atomic uint8_t taken[ITEMS];
static struct lt_local_queue queue;
static _Atomic bool done;

static struct lt_party *party_of(int number)
{
    return (struct lt_party *)(void *)&places[number];
}

static int number_of(struct lt_party *party)
{
    return (int)((char *)(void *)party - places);
}

static void take(struct lt_party *party)
{
    int number = number_of(party);
    CHECK(number >= 0 && number < ITEMS);
    CHECK_IS(0, atomic_exchange_explicit(&taken[number], 1, memory_order_relaxed));
}

static void is_a_bounded_queue(void **state)
{
    (void)state;
    CHECK(!lt_local_queue_pop(&queue));
    CHECK_IS(0, lt_local_queue_length(&queue));
    int in = 0, out = 0;
    for (int round = 0; round < 100; round++) {
        while (lt_local_queue_push(&queue, party_of(in)))
            in++;
        CHECK_IS(LT_LOCAL_QUEUE_SIZE, in - out);
        CHECK_IS(LT_LOCAL_QUEUE_SIZE, lt_local_queue_length(&queue));
        for (int n = 1 + round % LT_LOCAL_QUEUE_SIZE; n > 0; n--)
            CHECK_IS(out++, number_of(lt_local_queue_pop(&queue)));
        CHECK_IS(in - out, lt_local_queue_length(&queue));
    }
    while (out < in)
        CHECK_IS(out++, number_of(lt_local_queue_pop(&queue)));
    CHECK(!lt_local_queue_pop(&queue));
}

static void is_stolen_from(void **state)
{
    (void)state;
    struct lt_party *some[LT_LOCAL_QUEUE_SIZE + 4];
    uint32_t first = atomic_load(&queue.tail);
    CHECK_IS(0, lt_local_queue_steal(&queue, first, 4, some));
    for (int i = 0; i < LT_LOCAL_QUEUE_SIZE; i++)
        CHECK(lt_local_queue_push(&queue, party_of(i)));
    CHECK_IS(0,
             lt_local_queue_steal(&queue, first, 4, some)); /* the items are newer than `first` */
    CHECK_IS(1, lt_local_queue_steal(&queue, first + 1, 4, some));
    CHECK_IS(0, number_of(some[0]));
    CHECK_IS(0, lt_local_queue_steal(&queue, first + 1, 4, some));
    CHECK_IS(LT_LOCAL_QUEUE_SIZE - 1,
             lt_local_queue_steal(&queue, first + LT_LOCAL_QUEUE_SIZE, LT_LOCAL_QUEUE_SIZE, some));
    for (int i = 1; i < LT_LOCAL_QUEUE_SIZE; i++)
        CHECK_IS(i, number_of(some[i - 1]));
    CHECK(!lt_local_queue_pop(&queue));
}

/* Each thief takes in order, and so does the owner. */
static int steal_on(void *arg)
{
    uint64_t chance = *(uint64_t *)arg;
    struct lt_party *some[32];
    int last = -1;
    while (!atomic_load(&done)) {
        uint32_t before = atomic_load_explicit(&queue.tail, memory_order_acquire);
        before -= below(&chance, 4);
        uint32_t most = 1 + below(&chance, LT_LOCAL_QUEUE_SIZE < 32 ? LT_LOCAL_QUEUE_SIZE : 32);
        uint32_t n = lt_local_queue_steal(&queue, before, most, some);
        CHECK(n <= most);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(number_of(some[i]) > last);
            last = number_of(some[i]);
            take(some[i]);
        }
    }
    return 0;
}

static void gives_each_once(void **state)
{
    (void)state;
    uint64_t chance = seed_of_test(), chances[THIEVES];
    struct foreign thieves[THIEVES];
    for (int i = 0; i < THIEVES; i++) {
        chances[i] = lt_rng_next(&chance);
        foreign_start(&thieves[i], steal_on, &chances[i]);
    }
    int last = -1;
    for (int next = 0; next < ITEMS;) {
        for (uint32_t n = below(&chance, LT_LOCAL_QUEUE_SIZE + 2); n > 0 && next < ITEMS; n--)
            next += lt_local_queue_push(&queue, party_of(next));
        for (uint32_t n = below(&chance, LT_LOCAL_QUEUE_SIZE + 2); n > 0; n--) {
            struct lt_party *party = lt_local_queue_pop(&queue);
            if (!party)
                break;
            CHECK(number_of(party) > last);
            last = number_of(party);
            take(party);
        }
    }
    for (struct lt_party *party; (party = lt_local_queue_pop(&queue));)
        take(party);
    atomic_store(&done, true);
    for (int i = 0; i < THIEVES; i++)
        CHECK_IS(0, foreign_join(&thieves[i]));
    for (int i = 0; i < ITEMS; i++)
        CHECK_IS(1, taken[i]);
}

/* Indices wrap at 2^32. */
static void wraps(void **state)
{
    (void)state;
    struct lt_party *some[LT_LOCAL_QUEUE_SIZE];
    atomic_store(&queue.head, UINT32_MAX - 1);
    atomic_store(&queue.tail, UINT32_MAX - 1);
    for (int i = 0; i < LT_LOCAL_QUEUE_SIZE; i++)
        CHECK(lt_local_queue_push(&queue, party_of(i)));
    CHECK(!lt_local_queue_push(&queue, party_of(0)));
    CHECK_IS(LT_LOCAL_QUEUE_SIZE, lt_local_queue_length(&queue));
    CHECK_IS(0, number_of(lt_local_queue_pop(&queue)));
    CHECK_IS(0, lt_local_queue_steal(&queue, UINT32_MAX - 1, 1, some));
    CHECK_IS(LT_LOCAL_QUEUE_SIZE - 1,
             lt_local_queue_steal(&queue, atomic_load(&queue.tail), LT_LOCAL_QUEUE_SIZE, some));
    CHECK_IS(1, number_of(some[0]));
    CHECK_IS(0, lt_local_queue_length(&queue));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_bounded_queue),
        cmocka_unit_test(is_stolen_from),
        cmocka_unit_test(gives_each_once),
        cmocka_unit_test(wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
