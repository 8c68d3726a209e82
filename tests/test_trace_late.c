/* test_trace_late.c: traces of a program that runs, where workers do not answer, memory runs out,
 * another trace is being taken, or the runtime stops. */
#include "faults.h"
#include "recorded.h"

#include "sched/probe.h"
#include "start/start.h"

/* ---- a task that keeps its worker ---- */

static _Atomic bool holds, enough;

static int hogs(void *unused)
{
    (void)unused;
    atomic_store(&holds, true);
    while (!atomic_load(&enough)) {
    }
    return 0;
}

/* The look does not get an answer from its worker, and yet the task has a slice: of all the time,
 * or up to its end. */
static void hog(bool ends)
{
    atomic_store(&holds, false);
    atomic_store(&enough, false);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(s, hogs, NULL, "hog", 0));
    WAIT_UNTIL(atomic_load(&holds));
    CHECK_IS(0, lt_trace_record());
    if (ends) {
        atomic_store(&enough, true);
        CHECK_IS(0, leat_scope_close(s));
    }
    char *text = end_record();
    CHECK(has_slice(text, "hog\""));
    free(text);
    if (!ends) {
        atomic_store(&enough, true);
        CHECK_IS(0, leat_scope_close(s));
    }
    CHECK_IS(0, leat_stop());
}

static void test_hog(void **state)
{
    (void)state;
    skip_under_emulation();
    hog(false);
    hog(true);
}

/* ---- a full list ---- */

/* Of each task: a yield is an event, and the list has room for 8192 * 48, in the harsh build for
 * 64 * 64. */
#ifdef LEAT_HARSH
enum { YIELDS = 5000 };
#else
enum { YIELDS = 220000 };
#endif

static int yields(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        leat_yield();
    return 0;
}

/* *took: the time from the beginning of the trace to the end of what it shows, at most. */
static char *record_yields(int times, int64_t *took)
{
    int64_t begun = leat_now();
    CHECK_IS(0, lt_trace_record());
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(s, yields, &times, "this way", 0));
    CHECK_IS(0, leat_go_named(s, yields, &times, "that way", 0));
    CHECK_IS(0, leat_scope_close(s));
    *took = leat_now() - begun;
    CHECK_IS(0, leat_sleep(50 * LEAT_MS));
    char *text = end_record();
    CHECK(has_slice(text, "this way\"") && has_slice(text, "that way\""));
    return text;
}

/* No slice lasts until the end of the trace: when the list was full, no end was noted. */
static void check_ends(const char *text, int64_t last)
{
    struct traced_all all = { 0 };
    read_events(text, &all);
    for (size_t i = 0; i < all.slice_count; i++)
        CHECK(all.slices[i].to <= last);
    free(all.slices);
    free(all.scopes);
}

/* The file reports lost events, and the next trace has room again. */
static int fills(void *unused)
{
    int64_t took;
    (void)unused;
    for (int i = 0; i < (SCALE > 1 ? 1 : 2); i++) {
        char *text = record_yields(YIELDS, &took);
        CHECK(!strstr(text, "\"lost events\":0,"));
        check_ends(text, took);
        free(text);
        text = record_yields(10, &took);
        CHECK(strstr(text, "\"lost events\":0,"));
        free(text);
    }
    return 0;
}

static void test_full(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(fills, NULL, &(leat_options){ .workers = 1 }));
}

/* ---- a trace of the whole run ---- */

static int is_refused(void *unused)
{
    (void)unused;
    CHECK_IS(-EBUSY, lt_trace_record());
    leat_yield();
    CHECK_IS(-EBUSY, lt_trace_record());
    return 0;
}

static int is_not_refused(void *unused)
{
    (void)unused;
    CHECK_IS(0, lt_trace_record());
    free(end_record());
    return 0;
}

static void test_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, leat_main_with(is_refused, NULL,
                                   &(leat_options){ .workers = 2, .trace = "/dev/null" }));
        CHECK_IS(0, leat_main_with(is_not_refused, NULL, &(leat_options){ .workers = 2 }));
    }
}

/* ---- channels stay as they are ---- */

static int channels(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, lt_trace_record());
    leat_chan *ch = leat_chan_of(s, int, 1);
    CHECK(ch && !lt_chan_is_unusual(ch));
    free(end_record());
    CHECK_IS(0, lt_probing());
    return leat_scope_close(s);
}

static void test_channels(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(channels, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- while the runtime stops ---- */

static pthread_t recorder;
static _Atomic bool stops;
static _Atomic int traces;

static void *records(void *unused)
{
    (void)unused;
    while (!atomic_load(&stops)) {
        CHECK_IS(0, lt_trace_record());
        free(end_record());
        atomic_fetch_add(&traces, 1);
    }
    /* Now the workers have ended. */
    CHECK_IS(0, lt_trace_record());
    free(end_record());
    return NULL;
}

static void end(void)
{
    atomic_store(&stops, true);
    CHECK_IS(0, pthread_join(recorder, NULL));
    lt_watch_observer.end();
}

/* A thread takes traces without pause, and the observer's end joins it. */
static void test_stop(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct lt_observer mine = lt_watch_observer;
        mine.end = end;
        atomic_store(&stops, false);
        atomic_store(&traces, 0);
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
        lt_observer = &mine;
        struct mill m = { .scope = leat_scope_open(LEAT_NEVER) };
        struct mill_block block;
        mill_start(&m, &block);
        CHECK_IS(0, pthread_create(&recorder, NULL, records, NULL));
        WAIT_UNTIL(atomic_load(&traces) > i % 3);
        atomic_store(&m.enough, true);
        CHECK_IS(0, leat_scope_close(m.scope));
        CHECK_IS(0, leat_stop());
    }
}

/* ---- without memory ---- */

/* Two traces: the second uses what is there from the first. */
static int starves(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        if (!worked(lt_trace_record()))
            continue;
        for (int k = 0; k < 100; k++)
            leat_yield();
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        CHECK(file);
        worked(lt_trace_end_record(file));
        CHECK_IS(0, fclose(file));
        check_trace(text);
        free(text);
        CHECK_IS(0, lt_probing());
    }
    return 0;
}

static void test_starved(void **state)
{
    (void)state;
    fail_each_request(starves, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hog),     cmocka_unit_test(test_full),
        cmocka_unit_test(test_whole),   cmocka_unit_test(test_channels),
        cmocka_unit_test(test_starved), cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
