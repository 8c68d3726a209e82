/* test_trace_record.c: traces of some time of a program that runs. */
#include "recorded.h"

enum { TURNS = 20 };

static int records_due(void)
{
    return in_long_run() ? 5 : 2;
}

static int naps(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        leat_yield();
    return 0;
}

/* A full list has lost the rest. */
static void check_slice(const char *text, const char *name)
{
    if (!has_slice(text, name) && strstr(text, "\"lost events\":0,"))
        check_failed(__FILE__, __LINE__, "there is no slice of %s", name);
}

static int records(void *arg)
{
    struct mill *m = arg;
    for (int i = 0; i < records_due(); i++) {
        char name[32];
        snprintf(name, sizeof name, "newer %d", i);
        CHECK_IS(0, lt_trace_record());
        CHECK_IS(-EBUSY, lt_trace_record());
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go_named(s, naps, NULL, name, 0));
        CHECK_IS(0, leat_scope_close(s));
        mill_wait(m, TURNS);
        char *text = end_record();
        if (!IN_SIM) { /* a look there may miss the name of a task that is held up */
            check_slice(text, "asks\"");
            check_slice(text, "answers\"");
            check_slice(text, "opens\"");
        }
        check_slice(text, "child \\\"\\\\\\u000a\\ufffd\xc3\xa4\"");
        if (!IN_SIM) /* the seeded world runs blocks without the probes of a worker */
            check_slice(text, "mill_walks");
        check_slice(text, name);
        snprintf(name, sizeof name, "newer %d", i - 1);
        CHECK(!has_slice(text, name));
        free(text);
    }
    return 0;
}

/* A simulated thread cannot look: to its worker it is a task without a scope. */
static enum kind here(enum kind kind)
{
    return IN_SIM ? TASK : kind;
}

static void record_in(enum kind kind)
{
    struct mill m = { 0 };
    struct mill_block block;
    struct crew crew;
    m.scope = leat_scope_open(LEAT_NEVER);
    mill_start(&m, &block);
    mill_wait(&m, TURNS);
    crew_open(&crew);
    crew_go(&crew, here(kind), records, &m);
    crew_close(&crew);
    atomic_store(&m.enough, true);
    CHECK_IS(0, leat_scope_close(m.scope));
}

static int in_a_task(void *unused)
{
    (void)unused;
    record_in(TASK);
    return 0;
}
ON_WORKERS(in_a_task);

static int in_a_thread(void *unused)
{
    (void)unused;
    record_in(BLOCKING);
    return 0;
}
ON_WORKERS(in_a_thread);

static int in_a_foreign_thread(void *unused)
{
    (void)unused;
    record_in(FOREIGN);
    return 0;
}
ON_WORKERS(in_a_foreign_thread);

/* Of several that begin a trace at a time, one has it. */
static _Atomic int takers;

static int competes(void *unused)
{
    (void)unused;
    for (int done = 0; done < 2;) {
        int error = lt_trace_record();
        CHECK(error == 0 || error == -EBUSY);
        if (!error) {
            CHECK_IS(0, atomic_fetch_add(&takers, 1));
            leat_yield();
            CHECK_IS(1, atomic_fetch_sub(&takers, 1));
            free(end_record());
            done++;
        }
        leat_yield(); /* the taker may be a task of this worker */
        nap();
    }
    return 0;
}

static int compete(void *unused)
{
    (void)unused;
    struct mill m = { 0 };
    struct mill_block block;
    struct crew crew;
    m.scope = leat_scope_open(LEAT_NEVER);
    mill_start(&m, &block);
    crew_open(&crew);
    for (int i = 0; i < 2 * KINDS; i++)
        crew_go(&crew, here(kind_of(i)), competes, NULL);
    crew_close(&crew);
    atomic_store(&m.enough, true);
    CHECK_IS(0, leat_scope_close(m.scope));
    return 0;
}
ON_WORKERS(compete);

/* A task that runs when the trace begins has a slice from there, once. */
static int from_the_beginning(void *unused)
{
    (void)unused;
    for (int i = 0; i < records_due(); i++) {
        CHECK_IS(0, lt_trace_record());
        leat_yield();
        CHECK_IS(0, leat_sleep(LEAT_US));
        char *text = end_record(), *at = text;
        unsigned found = 0;
        for (; (at = strstr(at, "\"ts\":0.000,\"dur\"")); at += strcspn(at, "\n")) {
            char *name = strstr(at, "\"name\":\"main\"");
            found += name && name < at + strcspn(at, "\n");
        }
        /* Virtual time stands still: there, later slices begin at 0 as well. */
        CHECK(IN_SIM ? found >= 1 : found == 1);
        free(text);
    }
    return 0;
}
ON_WORKERS(from_the_beginning);

/* A scope that is older than the trace begins with it, and one that was closed does not end. */
static int scopes(void *unused)
{
    (void)unused;
    leat_scope *older = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, lt_trace_record());
    leat_scope *newer = leat_scope_open(LEAT_NEVER);
    char what[2][64];
    snprintf(what[0], sizeof what[0], "\"id\":%u,\"name\":\"scope", older->number);
    snprintf(what[1], sizeof what[1], "\"id\":%u,\"name\":\"scope", newer->number);
    CHECK_IS(0, leat_scope_close(newer));
    CHECK_IS(0, leat_scope_close(older));
    char *text = end_record();
    for (int i = 0; i < 2; i++) {
        char *first = strstr(text, what[i]), *second = first ? strstr(first + 1, what[i]) : NULL;
        CHECK(second && !strstr(second + 1, what[i]));
    }
    free(text);
    return 0;
}
ON_WORKERS(scopes);

/* A trace that is not ended costs nothing but its memory, which goes with the runtime. */
static int left_open(void *unused)
{
    (void)unused;
    CHECK_IS(0, lt_trace_record());
    leat_yield();
    return 0;
}
ON_WORKERS(left_open);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(in_a_task),           TESTS_ON_WORKERS(in_a_thread),
        TESTS_ON_WORKERS(in_a_foreign_thread), TESTS_ON_WORKERS(compete),
        TESTS_ON_WORKERS(from_the_beginning),  TESTS_ON_WORKERS(scopes),
        TESTS_ON_WORKERS(left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
