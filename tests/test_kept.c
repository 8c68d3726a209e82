/* test_kept.c: a thread that has posted something may still check whether the worker sleeps, or
 * whether to notify others, when that worker belongs to the next runtime. (ThreadSanitizer sees to
 * this.) */
#include "support.h"

#include <leat/runtime.h>

static _Atomic bool late_enough;

static int checks_late(void *worker)
{
    while (!late_enough)
        lt_worker_alert(worker);
    return 0;
}

static void keeps_a_worker_for_late_posters(void **state)
{
    (void)state;
    struct foreign late;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    struct lt_worker *worker = lt_runtime.workers[0];
    late_enough = false;
    foreign_start(&late, checks_late, worker);
    for (int i = 0; i < 200 / SCALE; i++) {
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
        CHECK(worker == lt_runtime.workers[0]);
    }
    late_enough = true;
    CHECK_IS(0, foreign_join(&late));
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(keeps_a_worker_for_late_posters) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
