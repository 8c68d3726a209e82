/* test_sim_harsh.c: each request for memory fails once, in turn, while a seeded world is made and
 * runs. This needs the harsh build. */
#include "base/fault.h"
#include "support.h"

#ifdef LEAT_HARSH
static int shortages; /* failures that calls returned */

static bool worked(int result)
{
    CHECK(result == 0 || result == -ENOMEM);
    shortages += result != 0;
    return result == 0;
}

static bool made(const void *thing)
{
    shortages += thing == NULL;
    return thing != NULL;
}

static int passes_on(void *arg)
{
    leat_chan **pair = arg;
    int x;
    while (leat_recv(pair[0], &x) == 0)
        CHECK_IS(0, leat_send(pair[1], &x));
    CHECK_IS(0, leat_chan_done(pair[1]));
    return 0;
}

static int adds_one(void *arg)
{
    return ++*(int *)arg;
}

/* More parties at once than the world has room for at first. */
static int crowd(leat_scope *s)
{
    enum { CROWD = 200 };
    leat_chan *gate = leat_chan_make(s, 0, 0);
    if (!made(gate))
        return 0;
    leat_chan *pair[] = { gate, gate };
    CHECK_IS(0, leat_chan_senders(gate, 2 * CROWD));
    for (int i = 0; i < CROWD; i++)
        worked(leat_go(s, passes_on, pair));
    leat_yield();
    return leat_close(gate);
}

static int lives(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(leat_after(LEAT_S));
    if (!made(s))
        return 0;
    leat_chan *pair[] = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 1) };
    if (made(pair[0]) && made(pair[1])) {
        CHECK_IS(0, leat_chan_senders(pair[1], 2));
        for (int i = 0; i < 2; i++)
            if (!worked(i ? leat_go(s, passes_on, pair) : leat_go_blocking(s, passes_on, pair)))
                CHECK_IS(0, leat_chan_done(pair[1]));
        int x = 1, called = leat_blocking(adds_one, &x);
        if (called == -ENOMEM)
            shortages++;
        else
            CHECK_IS(x, called);
        if (leat_scope_tasks(s))
            CHECK_IS(0, leat_send(pair[0], &x));
        CHECK_IS(0, leat_close(pair[0]));
        while (leat_recv(pair[1], &x) == 0)
            ;
        crowd(s);
    }
    return leat_scope_close(s);
}

static void every_request_fails_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        bool struck = true;
        for (long n = 1; struck; n++) {
            shortages = 0;
            lt_fault_arm(n);
            int result = leat_sim(seed, lives, NULL);
            struck = lt_fault_struck();
            lt_fault_arm(0);
            CHECK(result == 0 || (result == -ENOMEM && struck && !shortages));
            CHECK(struck || !shortages);
            CHECK_IS(0, leat_workers());
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_request_fails_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
