/* test_sim_move.c: the seeded world holds tasks up in the middle of their turns, and a thief visits
 * their workers meanwhile. scripts/mutate breaks the hand-over and lets this test find it. */
#include "support.h"

struct road {
    leat_chan *ch, *never;
    int sent, received;
    uint64_t taken; /* by thieves that went inside a worker */
};

static int64_t soon(void)
{
    return leat_after((1 + below(lt_chance(), 4)) * LEAT_US);
}

static int sends(void *arg)
{
    struct road *road = arg;
    for (int i = 0; i < 4; i++) {
        int result = leat_send_until(road->ch, &i, soon());
        CHECK(result == 0 || result == -ETIMEDOUT);
        road->sent += result == 0;
    }
    return leat_close(road->ch);
}

/* A partner, its own deadline, that of the task's scope, or the close ends each wait. */
static int receives(void *arg)
{
    struct road *road = arg;
    for (int result = 0, x; result != -EPIPE;) {
        leat_scope *own = leat_scope_open(soon());
        result = leat_recv_until(road->ch, &x, soon());
        CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED || result == -EPIPE);
        road->received += result == 0;
        int closed = leat_scope_close(own);
        CHECK(closed == 0 || closed == -ETIMEDOUT);
        CHECK_IS(0, leat_cancelled(NULL));
    }
    return 0;
}

static int waits(void *arg)
{
    struct road *road = arg;
    CHECK_IS(-ECANCELED, leat_recv_until(road->never, NULL, leat_after(LEAT_S)));
    return 0;
}

static int travels(void *arg)
{
    struct road *road = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    *road = (struct road){ leat_chan_of(s, int, 0), leat_chan_make(s, 0, 0), 0, 0, road->taken };
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, leat_go(inner, waits, road));
        CHECK_IS(0, leat_go(s, receives, road));
    }
    CHECK_IS(0, leat_go(s, sends, road));
    CHECK_IS(0, leat_sleep_until(soon()));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(road->sent, road->received);
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    road->taken += counts.moved;
    return 0;
}

static void thefts_are_among_the_choices(void **state)
{
    (void)state;
    struct road road = { .taken = 0 };
    leat_sim_options options = { .slip = LEAT_US };
    CHECK_IS(0, leat_sim_each_with(&options, 0, 2000 / (SCALE * SCALE), travels, &road));
    CHECK(road.taken > 0);
    printf("%llu parties taken\n", (unsigned long long)road.taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(thefts_are_among_the_choices) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
