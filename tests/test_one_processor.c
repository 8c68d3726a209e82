/* test_one_processor.c: threads and workers that share a single processor (sched/spin.h). */
#define _GNU_SOURCE
#include "support.h"

#include <sched.h>

enum { ITEMS = 10000 / SCALE, CAPACITIES = 3 };

static const size_t capacities[CAPACITIES] = { 0, 1, 128 };

/* Runs before other threads exist, since a thread inherits its maker's processors. */
static int bind_to_one(void **state)
{
    (void)state;
    cpu_set_t set;
    unsigned cpu = 0;
    CHECK_IS(0, sched_getaffinity(0, sizeof set, &set));
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

/* By default there are as many workers as processors that the process may use. */
static void has_one_worker(void **state)
{
    (void)state;
    unsetenv("LEAT_WORKERS");
    CHECK_IS(0, leat_start(NULL));
    CHECK_IS(1, leat_workers());
    CHECK_IS(0, leat_stop());
}

/* ---- offers of the processor ---- */

static _Atomic bool computing;

static int compute(void *arg)
{
    (void)arg;
    while (computing) {
    }
    return 0;
}

/* Sooner or later the kernel gives the processor to the computing thread, and for long. Then the
 * spin makes no offers for a while. */
static void stops_offering_after_a_long_absence(void **state)
{
    (void)state;
    struct lt_spin spin;
    struct foreign busy;
    lt_spin_init(&spin);
    assert_int_equal(lt_spin_looks(&spin), 1);
    computing = true;
    foreign_start(&busy, compute, NULL);
    while (spin.rest == 0)
        lt_spin_wait(&spin);
    computing = false;
    foreign_join(&busy);
    int64_t until = spin.rest_until;
    unsigned looks = lt_spin_looks(&spin);
    assert_true(looks == 0 || leat_now() >= until);
    spin.rest_until = leat_now();
    assert_int_equal(lt_spin_looks(&spin), 1);
}

static void offers_seldom_while_nobody_answers(void **state)
{
    (void)state;
    struct lt_spin spin;
    unsigned offers = 0;
    lt_spin_init(&spin);
    for (unsigned i = 0; i < 4 * LT_SPIN_PROBE; i++) {
        offers += lt_spin_looks(&spin);
        lt_spin_learn(&spin, false);
    }
    assert_int_equal(offers, LT_SPIN_PROBE + 3);
    lt_spin_learn(&spin, true);
    assert_int_equal(lt_spin_looks(&spin), 1);
}

/* Else the turns in which a thread would offer again are lost to looks that it cannot make. */
static void counts_a_wait_at_a_buffer_once(void **state)
{
    (void)state;
    int item;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(scope, int, 4);
    struct lt_spin *spin = &lt_this_thread()->spin;
    for (unsigned i = 0; i < 2 * LT_SPIN_PROBE; i++) {
        unsigned before = spin->vain;
        CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &item, leat_after(LEAT_US)));
        assert_int_equal(spin->vain, before + 1);
    }
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
}

/* ---- all items arrive nevertheless ---- */

struct stream {
    leat_chan *there, *back;
};

static int echo(void *arg)
{
    struct stream *s = arg;
    int64_t item;
    while (leat_recv(s->there, &item) == 0)
        CHECK_IS(0, leat_send(s->back, &item));
    leat_close(s->back);
    return 0;
}

static int send_all(void *arg)
{
    struct stream *s = arg;
    for (int64_t i = 0; i < ITEMS; i++)
        CHECK_IS(0, leat_send(s->there, &i));
    leat_close(s->there);
    return 0;
}

static int receive_all(void *arg)
{
    struct stream *s = arg;
    int64_t item;
    for (int64_t i = 0; i < ITEMS; i++) {
        CHECK_IS(0, leat_recv(s->back, &item));
        CHECK_IS(i, item);
    }
    CHECK_IS(-EPIPE, leat_recv(s->back, &item));
    return 0;
}

/* Each of the three runs in a thread or in a task. */
static void flow(leat_scope *scope, size_t capacity, unsigned which)
{
    leat_fn *const all[] = { send_all, echo, receive_all };
    struct stream s = { leat_chan_of(scope, int64_t, capacity),
                        leat_chan_of(scope, int64_t, capacity) };
    struct foreign threads[3];
    leat_scope *tasks = leat_scope_open(LEAT_NEVER);
    for (unsigned i = 0; i < 3; i++) {
        if (which >> i & 1)
            foreign_start(&threads[i], all[i], &s);
        else
            CHECK_IS(0, leat_go(tasks, all[i], &s));
    }
    CHECK_IS(0, leat_scope_close(tasks));
    for (unsigned i = 0; i < 3; i++)
        if (which >> i & 1)
            CHECK_IS(0, foreign_join(&threads[i]));
}

static int moves_all(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (unsigned i = 0; i < CAPACITIES; i++)
        for (unsigned which = 0; which < 8; which++)
            flow(scope, capacities[i], which);
    return leat_scope_close(scope);
}

static void moves_all_on_1(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(moves_all, NULL, &(leat_options){ .workers = 1 }));
}

static void moves_all_on_3(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(moves_all, NULL, &(leat_options){ .workers = 3 }));
}

static int moves_items_beside_a_computing_thread(void *arg)
{
    (void)arg;
    struct foreign busy;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    computing = true;
    foreign_start(&busy, compute, NULL);
    flow(scope, 128, 2);
    computing = false;
    CHECK_IS(0, foreign_join(&busy));
    return leat_scope_close(scope);
}

static void moves_items_beside_a_computing_thread_on_1(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(moves_items_beside_a_computing_thread, NULL,
                               &(leat_options){ .workers = 1 }));
}

/* ---- waits end by deadlines and scopes nevertheless ---- */

static int wait_in_vain(void *ch)
{
    int64_t item, until = leat_after(2 * LEAT_MS);
    CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &item, until));
    CHECK(leat_now() >= until);
    leat_scope *scope = leat_scope_open(leat_after(10 * LEAT_MS));
    CHECK_IS(-ECANCELED, leat_recv(ch, &item));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(scope));
    return 0;
}

static int ends_waits(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(scope, int64_t, 0);
    struct foreign thread;
    for (int i = 0; i < 20; i++) {
        CHECK_IS(0, leat_go(scope, wait_in_vain, ch));
        foreign_start(&thread, wait_in_vain, ch);
        CHECK_IS(0, foreign_join(&thread));
    }
    return leat_scope_close(scope);
}

static void ends_waits_on_1(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(ends_waits, NULL, &(leat_options){ .workers = 1 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_one_worker),
        cmocka_unit_test(stops_offering_after_a_long_absence),
        cmocka_unit_test(offers_seldom_while_nobody_answers),
        cmocka_unit_test(counts_a_wait_at_a_buffer_once),
        cmocka_unit_test(moves_all_on_1),
        cmocka_unit_test(moves_all_on_3),
        cmocka_unit_test(moves_items_beside_a_computing_thread_on_1),
        cmocka_unit_test(ends_waits_on_1),
    };
    return cmocka_run_group_tests(tests, bind_to_one, NULL);
}
