/* test_kept.c: workers that the next runtime uses again. */
#define _GNU_SOURCE /* mincore */
#include "base/alloc.h"
#include "support.h"

#include <leat/runtime.h>

#include <sys/mman.h>

/* How many of the worker's pages are in memory. */
static size_t pages_of(struct lt_worker *worker, size_t *all)
{
    unsigned char there[(sizeof *worker >> 12) + 1];
    size_t size = lt_whole_pages(sizeof *worker), n = 0;
    *all = size / lt_page_size();
    CHECK_IS(0, mincore(worker, size, there));
    for (size_t i = 0; i < *all; i++)
        n += there[i] & 1;
    return n;
}

static void touches_what_it_uses(void **state)
{
    (void)state;
    size_t all, first = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
        size_t pages = pages_of(lt_runtime.workers[0], &all);
        CHECK_IS(0, leat_stop());
        first = i == 0 ? pages : first;
        CHECK(pages <= first + (all - first) / 2);
    }
}

/* A thread that has posted something may still check whether the worker sleeps, or whether to
 * notify others, when that worker belongs to the next runtime. (ThreadSanitizer sees to this.) */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touches_what_it_uses), /* first: no worker is there */
        cmocka_unit_test(keeps_a_worker_for_late_posters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
