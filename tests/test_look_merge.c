/* test_look_merge.c: what a look makes of several records of one thing, and of things whose scope
 * it has not found. The records are made here: in a program, such moments are rare. */
#include "support.h"

#include "base/alloc.h"
#include "dump/print.h"

enum { PADS = 3 }; /* of the asker and of two workers */

struct made {
    struct lt_look look;
    struct lt_pad pads[PADS];
    struct lt_worker_record workers[PADS - 1];
    struct lt_scope_record *scopes[1];
};

static void make(struct made *m)
{
    *m = (struct made){ .look = { .worker_count = PADS - 1, .now = LEAT_S, .answer_ms = 20 } };
    m->look.pads = m->pads;
    m->look.workers = m->workers;
    m->look.by_scope = m->scopes;
    for (unsigned i = 0; i < PADS; i++)
        lt_pad_init(&m->pads[i]);
}

static const void *self(size_t i)
{
    return (const void *)(0x1000 * (i + 1));
}

static struct lt_record task(uint32_t number, enum lt_state state, int worker)
{
    return (struct lt_record){ .thing = LT_A_TASK,
                               .state = state,
                               .self = self(number),
                               .number = number,
                               .worker = worker,
                               .until = LEAT_NEVER,
                               .complete = worker >= 0 };
}

static void put(struct made *m, unsigned pad, struct lt_record *record)
{
    *m->pads[pad].end = record;
    m->pads[pad].end = &record->next;
    m->pads[pad].count++;
}

static void aim(struct made *m, unsigned pad, struct lt_record *record, uint32_t channel)
{
    lt_pad_aim(&m->pads[pad], record, LT_TO_RECEIVE, self(100 + channel), channel);
}

/* Merges, and prints. */
static char *text_of(struct made *m)
{
    char *text = NULL;
    size_t size = 0;
    CHECK_IS(0, lt_look_merge(&m->look));
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    lt_print(file, &m->look);
    CHECK_IS(0, fclose(file));
    for (unsigned i = 0; i < PADS; i++)
        lt_pad_free(&m->pads[i]);
    lt_free(m->look.records);
    lt_free(m->look.by_self);
    return text;
}

static void check_line(struct made *m, const char *wanted)
{
    char *text = text_of(m);
    if (!strstr(text, wanted))
        check_failed(__FILE__, __LINE__, "no '%s' in: %s", wanted, text);
    free(text);
}

/* It waited on one worker, moved, and then waited for something else on the other. */
static void test_waited_twice(void **state)
{
    struct made m;
    (void)state;
    make(&m);
    struct lt_record found = task(7, LT_IS_WAITING, -1), one = task(7, LT_IS_WAITING, 0),
                     other = task(7, LT_IS_WAITING, 1);
    aim(&m, 0, &found, 3);
    aim(&m, 1, &one, 1);
    aim(&m, 2, &other, 2);
    other.until = 2 * LEAT_S;
    put(&m, 0, &found);
    put(&m, 1, &one);
    put(&m, 2, &other);
    check_line(&m, "task 7: waits to receive from channel 1, on worker 0\n");
}

/* It waited on one worker, moved, and runs on the other. */
static void test_runs_elsewhere(void **state)
{
    struct made m;
    (void)state;
    make(&m);
    struct lt_record one = task(7, LT_IS_WAITING, 0), other = task(7, LT_IS_RUNNING, 1);
    aim(&m, 1, &one, 1);
    put(&m, 1, &one);
    put(&m, 2, &other);
    check_line(&m, "task 7: runs, on worker 1\n");
    CHECK(!m.workers[0].running && m.workers[1].running);
}

/* The same, but that worker did not answer. */
static void test_runs_without_answer(void **state)
{
    struct made m;
    (void)state;
    make(&m);
    struct lt_record busy = task(7, LT_IS_RUNNING, 1), one = task(7, LT_IS_WAITING, 0);
    busy.complete = false;
    put(&m, 0, &busy);
    put(&m, 1, &one);
    check_line(&m, "task 7: runs, on worker 1\n");
}

/* Two channels each show a part of a select: the worker did not answer. */
static void test_parts(void **state)
{
    struct made m;
    (void)state;
    make(&m);
    struct lt_record one = task(7, LT_IS_WAITING, -1), other = task(7, LT_IS_WAITING, -1);
    aim(&m, 0, &one, 1);
    aim(&m, 0, &other, 2);
    put(&m, 0, &one);
    put(&m, 0, &other);
    check_line(&m, "waits in a select\n"
                   "    to receive from channel 1\n"
                   "    to receive from channel 2\n");
}

static void test_late_scope(void **state)
{
    struct made m;
    (void)state;
    make(&m);
    struct lt_record late = task(7, LT_IS_RUNNING, 0),
                     channel = { .thing = LT_A_CHANNEL, .self = self(101), .number = 1 };
    put(&m, 0, &channel);
    put(&m, 1, &late);
    check_line(&m, "\nin no scope, or in one that opened meanwhile\n  task 7: runs");
    make(&m);
    channel.next = NULL;
    put(&m, 0, &channel);
    check_line(&m, "\nin no scope\n  channel 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waited_twice),        cmocka_unit_test(test_runs_elsewhere),
        cmocka_unit_test(test_runs_without_answer), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_late_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
