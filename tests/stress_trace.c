/* stress_trace.c: late traces begin and end in a loop, in runtimes that come and go, while workers
 * switch. The time between beginning and end varies from nothing to some milliseconds. */
#include "recorded.h"

struct stress {
    struct mill mill;
    int64_t end;
    uint64_t chance;
};

struct recorder {
    struct stress *stress;
    uint64_t chance;
};

static _Atomic unsigned taken, refused;

/* One of some is checked, since that takes far longer than all the rest. */
static void end_one(uint64_t *chance)
{
    if (below(chance, 8) == 0) {
        free(end_record());
        return;
    }
    FILE *nowhere = fopen("/dev/null", "we");
    CHECK(nowhere);
    CHECK_IS(0, lt_trace_end_record(nowhere));
    CHECK_IS(0, fclose(nowhere));
}

static int records(void *arg)
{
    struct recorder *me = arg;
    struct stress *stress = me->stress;
    uint64_t chance = me->chance;
    while (!atomic_load(&stress->mill.enough)) {
        leat_yield();
        int error = lt_trace_record();
        CHECK(error == 0 || error == -EBUSY);
        atomic_fetch_add(error ? &refused : &taken, 1);
        for (unsigned naps = below(&chance, 20); !error && naps > 0; naps--)
            below(&chance, 2) ? nap() : (void)leat_yield();
        if (!error)
            end_one(&chance);
        if (leat_now() > stress->end || below(&chance, 20) == 0)
            atomic_store(&stress->mill.enough, true);
    }
    return 0;
}

static int live(void *arg)
{
    struct stress *stress = arg;
    struct mill_block block;
    struct crew crew;
    struct recorder recorders[2];
    for (int i = 0; i < 2; i++)
        recorders[i] = (struct recorder){ stress, lt_rng_next(&stress->chance) };
    stress->mill = (struct mill){ .scope = leat_scope_open(LEAT_NEVER) };
    mill_start(&stress->mill, &block);
    crew_open(&crew);
    crew_go(&crew, BLOCKING, records, &recorders[0]);
    if (below(&stress->chance, 2))
        crew_go(&crew, kind_of((int)below(&stress->chance, KINDS)), records, &recorders[1]);
    crew_close(&crew);
    if (below(&stress->chance, 4) == 0)
        CHECK_IS(0, lt_trace_record()); /* and leaves it to the end of the runtime */
    return leat_scope_close(stress->mill.scope);
}

static void records_without_pause(void **state)
{
    (void)state;
    struct stress stress = { .end = stress_end(1), .chance = seed_of_test() };
    fprintf(stderr, "  %s\n", check_note);
    while (leat_now() < stress.end)
        CHECK_IS(0, leat_main_with(live, &stress,
                                   &(leat_options){ .workers = 1 + below(&stress.chance, 4) }));
    fprintf(stderr, "  %u traces, %u refused\n", taken, refused);
    CHECK(taken > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(records_without_pause) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
