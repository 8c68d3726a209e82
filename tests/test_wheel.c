/* test_wheel.c: the timer wheel against a plain list. */
#include "base/config.h"
#include "base/wheel.h"
#include "support.h"

enum { TIMERS = 200 };
static const int64_t tick = INT64_C(1) << LT_TICK_SHIFT;

struct model_timer {
    struct lt_timer timer;
    uint64_t due;   /* the tick at which it fires */
    uint64_t added; /* how many were added before */
    bool active;
};

static struct lt_wheel wheel;
static struct model_timer model[TIMERS];
static int64_t now;
static uint64_t active_count, added_count, last_tick, last_added, chance;

static struct model_timer *model_of(struct lt_timer *timer)
{
    return LT_CONTAINER(timer, struct model_timer, timer);
}

/* The first tick at which the deadline has passed. */
static uint64_t tick_of(int64_t deadline)
{
    return ((uint64_t)deadline + (uint64_t)tick - 1) / (uint64_t)tick;
}

static void fired(struct lt_timer *timer)
{
    struct model_timer *m = model_of(timer);
    CHECK(m->active);
    m->active = false;
    active_count--;
    CHECK(!lt_listed(&timer->node));
    CHECK(!lt_wheel_remove(&wheel, timer));
    CHECK(timer->deadline <= now); /* never early */
    /* Timers fire tick by tick, and within a tick in the order in which they were added. */
    CHECK(m->due > last_tick || (m->due == last_tick && m->added >= last_added));
    last_tick = m->due;
    last_added = m->added;
}

static void add(struct model_timer *m, int64_t deadline)
{
    m->timer.deadline = deadline;
    m->timer.fire = fired;
    m->due = tick_of(deadline);
    if (m->due < (uint64_t)(now / tick))
        m->due = (uint64_t)(now / tick);
    m->added = added_count++;
    m->active = true;
    active_count++;
    lt_wheel_add(&wheel, &m->timer);
}

static void take_out(struct model_timer *m)
{
    CHECK_IS(m->active, lt_wheel_remove(&wheel, &m->timer));
    active_count -= m->active;
    m->active = false;
}

static int64_t earliest_of_model(void)
{
    int64_t earliest = LEAT_NEVER;
    for (int i = 0; i < TIMERS; i++)
        if (model[i].active && model[i].timer.deadline < earliest)
            earliest = model[i].timer.deadline;
    return earliest;
}

static void advance_to(int64_t time)
{
    now = time;
    last_tick = last_added = 0;
    lt_wheel_advance(&wheel, now);
    /* No timer is late by a tick or more. */
    int64_t earliest = earliest_of_model();
    CHECK(earliest == LEAT_NEVER || earliest > now - tick);
    CHECK_IS(active_count, wheel.count);
}

static void check_next(void)
{
    int64_t earliest = earliest_of_model(), next = lt_wheel_next(&wheel);
    CHECK((next == LEAT_NEVER) == (earliest == LEAT_NEVER));
    if (earliest < LEAT_NEVER - 2 * tick)
        CHECK(next <= now || next <= earliest + tick); /* never late */
}

static void start(int64_t time)
{
    memset(model, 0, sizeof model);
    active_count = 0;
    now = time;
    lt_wheel_init(&wheel, now);
    CHECK(lt_wheel_next(&wheel) == LEAT_NEVER);
    for (int i = 0; i < TIMERS; i++)
        CHECK(!lt_wheel_remove(&wheel, &model[i].timer));
}

/* Distances of every order of magnitude, and the past. */
static int64_t some_deadline(void)
{
    uint64_t bits = lt_rng_next(&chance) >> (1 + below(&chance, 62));
    int64_t distance = (int64_t)bits;
    switch (below(&chance, 8)) {
    case 0: return now - (int64_t)(bits % (uint64_t)now);
    case 1: return now / tick * tick + (int64_t)below(&chance, 200) * tick; /* on a tick */
    case 2: return now + (int64_t)below(&chance, 64 * 64) * tick;
    case 3: return LEAT_NEVER - 1 - (int64_t)below(&chance, 3);
    default: return distance > LEAT_NEVER - 1 - now ? LEAT_NEVER - 1 : now + distance;
    }
}

static void agrees_with_the_model(void **state)
{
    (void)state;
    chance = seed_of_test();
    for (int round = 0; round < 60; round++) {
        start(1 + (int64_t)(lt_rng_next(&chance) >> (2 + below(&chance, 60))));
        for (int step = 0; step < 3000 / SCALE; step++) {
            struct model_timer *m = &model[below(&chance, TIMERS)];
            switch (below(&chance, 8)) {
            case 0:
            case 1:
            case 2:
                if (!m->active)
                    add(m, some_deadline());
                break;
            case 3: take_out(m); break;
            case 4: { /* to the time that the wheel asks for */
                int64_t next = lt_wheel_next(&wheel);
                if (next != LEAT_NEVER && next < LEAT_NEVER / 2)
                    advance_to(next > now ? next : now);
                break;
            }
            case 5: { /* right before, at, and after some deadline */
                int64_t to = m->timer.deadline - 1;
                if (m->active && to > now && to < LEAT_NEVER / 2)
                    advance_to(to + below(&chance, 3));
                break;
            }
            case 6: advance_to(now + below(&chance, 20) * tick / 4); break;
            default: advance_to(now); /* the time may stand still */
            }
            check_next();
        }
    }
}

/* A caller that follows lt_wheel_next is on time for each deadline, with few calls. */
static void leads_to_each_deadline(void **state)
{
    (void)state;
    chance = seed_of_test();
    for (int round = 0; round < 100; round++) {
        start(1 + (int64_t)below(&chance, 1u << 30));
        for (int i = 0; i < TIMERS; i++)
            add(&model[i], now + (int64_t)(lt_rng_next(&chance) >> (20 + below(&chance, 40))));
        int calls = 0;
        while (active_count) {
            int64_t next = lt_wheel_next(&wheel), earliest = earliest_of_model();
            CHECK(next <= earliest + tick);
            CHECK(next > now || calls == 0 || earliest <= now);
            advance_to(next > now ? next : now + tick);
            CHECK(++calls < TIMERS * (LT_WHEEL_LEVELS + 2));
        }
        CHECK(lt_wheel_next(&wheel) == LEAT_NEVER);
    }
}

/* Equal deadlines fire in the order in which they were added. */
static int order[TIMERS], fired_count;

static void note_order(struct lt_timer *timer)
{
    order[fired_count++] = (int)(model_of(timer) - model);
}

static void keeps_order_within_a_tick(void **state)
{
    (void)state;
    for (int shift = 0; shift < 45; shift++) {
        start(tick * 1000);
        fired_count = 0;
        int64_t deadline = now + (tick << shift) / 2 + 1;
        for (int i = 0; i < TIMERS; i++) {
            model[i].timer.deadline = deadline;
            model[i].timer.fire = note_order;
            lt_wheel_add(&wheel, &model[i].timer);
        }
        lt_wheel_advance(&wheel, deadline - tick);
        CHECK_IS(0, fired_count);
        lt_wheel_advance(&wheel, deadline + tick);
        CHECK_IS(TIMERS, fired_count);
        CHECK_IS(TIMERS, wheel.fired);
        for (int i = 0; i < TIMERS; i++)
            CHECK_IS(i, order[i]);
    }
}

/* A timer that fires removes others, due at the same moment or not, and adds new ones. */
static void meddle(struct lt_timer *timer)
{
    int self = (int)(model_of(timer) - model);
    fired_count++;
    CHECK(timer->deadline <= now);
    model[self].active = false;
    active_count--;
    take_out(&model[(self + 1) % TIMERS]);
    take_out(&model[(self + 7) % TIMERS]);
    if (fired_count % 3 == 0) {
        add(&model[self], now + 1 + (int64_t)below(&chance, 100) * tick);
        model[self].timer.fire = meddle;
    }
}

static void may_be_changed_while_firing(void **state)
{
    (void)state;
    chance = seed_of_test();
    for (int round = 0; round < 200; round++) {
        start(1 + (int64_t)below(&chance, 1u << 20) * tick);
        fired_count = 0;
        int64_t reach = (int64_t)(1 + below(&chance, 5000)) * tick;
        for (int i = 0; i < TIMERS; i++) {
            add(&model[i], now + below(&chance, (uint32_t)(reach / tick)) * tick);
            model[i].timer.fire = meddle;
        }
        for (int i = 0; i < 1000 && active_count; i++) {
            now += reach / 8 + tick;
            lt_wheel_advance(&wheel, now);
            CHECK_IS(active_count, wheel.count);
            check_next();
        }
        for (int i = 0; i < TIMERS; i++)
            take_out(&model[i]);
        CHECK_IS(0, wheel.count);
        CHECK(lt_wheel_next(&wheel) == LEAT_NEVER);
    }
}

/* Removing a timer from a shared slot leaves the others in it. */
static void shares_slots(void **state)
{
    (void)state;
    start(tick);
    for (int i = 0; i < TIMERS; i++)
        add(&model[i], now + 100 * tick + i % 3);
    for (int i = 0; i < TIMERS - 1; i++) {
        take_out(&model[i]);
        CHECK(lt_wheel_next(&wheel) <= now + 102 * tick);
    }
    advance_to(now + 102 * tick);
    CHECK_IS(0, active_count);
}

/* Timers right before LEAT_NEVER, however many, never come: the wheel need not be advanced. */
static void waits_for_what_never_comes(void **state)
{
    (void)state;
    start(1000 * tick);
    for (int i = 1; i < TIMERS; i++) {
        add(&model[i], LEAT_NEVER - 1 - i % 3);
        CHECK(lt_wheel_next(&wheel) >= LEAT_NEVER - 2 * tick);
    }
    add(&model[0], now + tick);
    CHECK_IS(now + tick, lt_wheel_next(&wheel));
    advance_to(now + tick);
    CHECK(lt_wheel_next(&wheel) >= LEAT_NEVER - 2 * tick);
}

/* A timer that has left the wheel may be freed, so the wheel must not write to it. Timers that stay
 * share each slot with others on their way down. */
enum { GONE = 0x5a };

static void leave(struct lt_timer *timer)
{
    memset(timer, GONE, sizeof *timer);
}

static bool is_untouched(const struct lt_timer *timer)
{
    const unsigned char *bytes = (const unsigned char *)timer;
    for (size_t i = 0; i < sizeof *timer; i++)
        if (bytes[i] != GONE)
            return false;
    return true;
}

static void fired_and_left(struct lt_timer *timer)
{
    fired(timer);
    leave(timer);
}

static void never_touches_removed_timers(void **state)
{
    (void)state;
    chance = seed_of_test();
    for (int round = 0; round < 400 / SCALE; round++) {
        start(1 + (int64_t)(lt_rng_next(&chance) >> (2 + below(&chance, 60))));
        int64_t reach = tick << below(&chance, 36);
        for (int i = 0; i < TIMERS; i++)
            leave(&model[i].timer);
        for (int step = 0; step < 2000; step++) {
            struct model_timer *m = &model[below(&chance, TIMERS)];
            if (m->active) {
                if (below(&chance, 2)) {
                    take_out(m);
                    leave(&m->timer);
                }
            } else if (below(&chance, 4)) {
                CHECK(is_untouched(&m->timer));
                add(m, now + reach + below(&chance, 3) * (reach / 64 + 1));
                m->timer.fire = fired_and_left;
            }
            if (below(&chance, 100) == 0)
                advance_to(now + (int64_t)(lt_rng_next(&chance) % (uint64_t)reach));
        }
        for (int i = 0; i < TIMERS; i++)
            CHECK(model[i].active || is_untouched(&model[i].timer));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_model),
        cmocka_unit_test(leads_to_each_deadline),
        cmocka_unit_test(keeps_order_within_a_tick),
        cmocka_unit_test(may_be_changed_while_firing),
        cmocka_unit_test(shares_slots),
        cmocka_unit_test(waits_for_what_never_comes),
        cmocka_unit_test(never_touches_removed_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
