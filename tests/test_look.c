/* test_look.c: a bounded look records no more than its bound, passes no more nodes of lists than it
 * may, and leaves room for small scopes beside large ones. Nodes are counted, not time. */
#include "looks.h"

#include "base/fault.h"
#include "flow/flow.h"

#ifdef LEAT_HARSH
enum { IS_HARSH = 1 };
#else
enum { IS_HARSH = 0 };
#endif

enum {
    SLOW = UNDER_TSAN || IS_HARSH,
    MANY = IN_SIM ? 2000
           : SLOW ? 5000
                  : 500000 / SCALE, /* blocks, timers */
    SOME = IN_SIM ? 300
           : SLOW ? 500
                  : 10000 / SCALE,                 /* tasks */
    OPENERS = IN_SIM || SLOW ? 100 : 1000 / SCALE, /* tasks that open scopes, */
    LEVELS = IN_SIM || SLOW ? 10 : 100,            /* inside each other */
    CHANNELS = IN_SIM ? 2000
               : SLOW ? 5000
                      : 100000 / SCALE
};

/* Small, so that far more nodes exist than may be passed. */
static const struct lt_look_bound small = { IN_SIM ? 60 : 200, IN_SIM ? 60 : 200,
                                            IN_SIM ? 30 : 100 };

/* ---- a small scope beside what is large ---- */

struct small_scope {
    leat_scope *scope;
    leat_chan *quiet;
};

static int waits(void *ch)
{
    return leat_recv(ch, NULL) == -EPIPE ? 0 : -EPROTO;
}

static void small_open(struct small_scope *s)
{
    s->scope = leat_scope_open(LEAT_NEVER);
    s->quiet = leat_chan_open(s->scope, &(leat_chan_spec){ .name = "quiet" });
    CHECK_IS(0, leat_go_named(s->scope, waits, s->quiet, "little", 0));
    /* It is a receiver before it has parked. */
    WAIT_UNTIL(receivers_of(s->quiet) == 1 && parked("little") == 1);
}

static void small_is_shown(const struct lt_look *look, const struct small_scope *s)
{
    const struct lt_record *little = find(look, "little"), *quiet = find(look, "quiet");
    CHECK(little && quiet);
    CHECK(little->place != LT_NOWHERE && little->place == quiet->place);
    CHECK_IS(s->scope->number, little->scope_number);
    CHECK(little->state == LT_IS_WAITING && little->aims);
    CHECK(little->aims->aim == LT_TO_RECEIVE && little->aims->object == s->quiet);
    CHECK_IS(1, quiet->receivers);
    CHECK_IS(0, quiet->senders);
}

static void small_close(struct small_scope *s)
{
    CHECK_IS(0, leat_close(s->quiet));
    CHECK_IS(0, leat_scope_close(s->scope));
}

/* ---- blocks ---- */

struct one {
    leat_block block;
    leat_alarm *alarm;
    leat_chan *ch;
};

static int receive_step(leat_block *b)
{
    struct one *me = (struct one *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

static int nap_step(leat_block *b)
{
    struct one *me = (struct one *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, 1000 * LEAT_S, me->alarm);
    LEAT_END(b);
}

static int crowd(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(scope, &(leat_chan_spec){ .name = "crowd" });
    struct one *all = calloc(MANY, sizeof *all);
    for (int i = 0; i < MANY; i++) {
        all[i].ch = ch;
        CHECK_IS(0, leat_go_block(scope, &all[i].block, receive_step));
    }
    small_open(&s);
    WAIT_UNTIL(receivers_of(ch) == MANY);
    begin(&look, &small);
    CHECK(look.sampled);
    CHECK(look.members >= MANY + 1);
    small_is_shown(&look, &s);
    CHECK_IS(MANY, find(&look, "crowd")->receivers);
    CHECK(count_waiting(&look, "receive_step") >= small.parties / 4);
    CHECK_IS(0, count_waiting(&look, "main"));
    lt_look_end(&look);
    small_close(&s);
    /* All are ready, and on this worker's list, if there is no other. */
    CHECK_IS(0, leat_close(ch));
    begin(&look, &small);
    lt_look_end(&look);
    CHECK_IS(0, leat_scope_close(scope));
    free(all);
    return 0;
}

static void test_crowd(void **state)
{
    (void)state;
    run_on(1, crowd);
    run_on(2, crowd);
}

static size_t timers_set(void)
{
    size_t n = 0;
    struct lt_look look;
    CHECK_IS(0, lt_look_begin(&look, NULL, &small));
    for (unsigned i = 0; i < look.worker_count; i++)
        n += look.workers[i].timers;
    lt_look_end(&look);
    return n;
}

static int timers(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct one *all = calloc(MANY, sizeof *all);
    leat_alarm *alarms = calloc(MANY, sizeof *alarms);
    for (int i = 0; i < MANY; i++) {
        all[i].alarm = &alarms[i];
        CHECK_IS(0, leat_go_block(scope, &all[i].block, nap_step));
    }
    small_open(&s);
    WAIT_UNTIL(timers_set() == MANY);
    begin(&look, &small);
    CHECK(look.sampled);
    small_is_shown(&look, &s);
    CHECK(count_waiting(&look, "nap_step") >= small.parties / 4);
    size_t with_deadline = 0;
    for (size_t i = 0; i < look.record_count; i++)
        with_deadline += look.records[i]->until != LEAT_NEVER;
    CHECK(with_deadline > 0);
    lt_look_end(&look);
    small_close(&s);
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(0, leat_scope_close(scope));
    free(alarms);
    free(all);
    return 0;
}

static void test_timers(void **state)
{
    (void)state;
    run_on(1, timers);
    run_on(2, timers);
}

/* ---- tasks, of which each worker has a few ---- */

static int tasks(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(scope, &(leat_chan_spec){ .name = "crowd" });
    for (int i = 0; i < SOME; i++)
        CHECK_IS(0, leat_go_named(scope, waits, ch, "one of many", 0));
    small_open(&s);
    WAIT_UNTIL(receivers_of(ch) == SOME && parked("one of many") == SOME);
    begin(&look, &small);
    CHECK(look.sampled);
    small_is_shown(&look, &s);
    CHECK_IS(SOME, find(&look, "crowd")->receivers);
    size_t shown = 0, with_aims = 0;
    for (size_t i = 0; i < look.record_count; i++) {
        const struct lt_record *record = look.records[i];
        bool one = record->name && strcmp(record->name, "one of many") == 0;
        shown += one;
        with_aims += one && record->state == LT_IS_WAITING && record->aims;
    }
    CHECK(shown >= small.parties / 4);
    CHECK_IS(shown, with_aims);
    lt_look_end(&look);
    small_close(&s);
    CHECK_IS(0, leat_close(ch));
    return leat_scope_close(scope);
}

static void test_tasks(void **state)
{
    (void)state;
    run_on(1, tasks);
    run_on(4, tasks);
}

/* ---- scopes ---- */

static int opens(void *ch)
{
    leat_scope *scopes[LEVELS];
    for (int i = 0; i < LEVELS; i++)
        scopes[i] = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(scopes[LEVELS - 1], waits, ch, "deepest", 0));
    for (int i = LEVELS; i-- > 0;)
        CHECK_IS(0, leat_scope_close(scopes[i]));
    return 0;
}

static int scopes(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(NULL, &(leat_chan_spec){ .name = "depth" });
    small_open(&s); /* of the scopes inside one, the oldest are shown */
    for (int i = 0; i < OPENERS; i++)
        CHECK_IS(0, leat_go_named(scope, opens, ch, "opens", 0));
    WAIT_UNTIL(receivers_of(ch) == OPENERS);
    begin(&look, &small);
    CHECK(look.sampled);
    CHECK_IS(small.scopes, look.scope_count);
    small_is_shown(&look, &s);
    CHECK_IS(OPENERS, find(&look, "depth")->receivers);
    size_t hidden = 0;
    for (size_t i = 0; i < look.record_count; i++)
        hidden += is_hidden(look.records[i]);
    CHECK(hidden > 0);
    lt_look_end(&look);
    small_close(&s);
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_scope_close(scope));
    return leat_chan_unref(ch);
}

static void test_scopes(void **state)
{
    (void)state;
    run_on(1, scopes);
    run_on(2, scopes);
}

/* ---- channels ---- */

static int channels(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan **orphans = calloc(CHANNELS, sizeof(leat_chan *));
    for (int i = 0; i < CHANNELS; i++) {
        CHECK(leat_chan_make(scope, 0, 0));
        orphans[i] = leat_chan_open(NULL, &(leat_chan_spec){ .name = "orphan" });
    }
    small_open(&s);
    begin(&look, &small);
    CHECK(look.sampled);
    small_is_shown(&look, &s);
    CHECK(find(&look, "orphan"));
    CHECK(count(&look, false) > small.channels / 2);
    lt_look_end(&look);
    small_close(&s);
    for (int i = 0; i < CHANNELS; i++)
        CHECK_IS(0, leat_chan_unref(orphans[i]));
    free(orphans);
    return leat_scope_close(scope);
}

/* Nodes that a look passes over count as well. */
static int passed_over(void *unused)
{
    (void)unused;
    struct lt_look look;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < CHANNELS; i++)
        CHECK(lt_flow_make(scope, NULL, NULL, sizeof(struct lt_flow), NULL));
    CHECK(leat_chan_open(scope, &(leat_chan_spec){ .name = "behind" }));
    begin(&look, &small);
    CHECK(look.sampled && !find(&look, "behind"));
    CHECK((size_t)CHANNELS > lt_look_steps(&small));
    lt_look_end(&look);
    return leat_scope_close(scope);
}

static void test_channels(void **state)
{
    (void)state;
    run_on(1, channels);
    run_on(1, passed_over);
}

/* ---- parties that have not started ---- */

static int returns(void *unused)
{
    (void)unused;
    return 0;
}

static int queued(void *unused)
{
    (void)unused;
    struct lt_look look;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < SOME; i++)
        CHECK_IS(0, leat_go_named(scope, returns, NULL, "new", 0));
    begin(&look, &small);
    CHECK(look.sampled || IN_SIM);
    lt_look_end(&look);
    return leat_scope_close(scope);
}

static void test_queued(void **state)
{
    (void)state;
    run_on(1, queued);
}

/* ---- when there is room for all ---- */

static int everything(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    small_open(&s);
    begin(&look, LT_LOOK_USUAL);
    CHECK(!look.sampled);
    small_is_shown(&look, &s);
    size_t bounded = look.record_count, members = look.members;
    lt_look_end(&look);
    CHECK_IS(0, lt_look_begin(&look, NULL, NULL));
    CHECK(!look.sampled);
    small_is_shown(&look, &s);
    CHECK_IS(look.record_count, bounded);
    CHECK_IS(look.members, members);
    lt_look_end(&look);
    small_close(&s);
    return 0;
}

static void test_everything(void **state)
{
    (void)state;
    run_on(1, everything);
    run_on(2, everything);
}

/* Bounds of nothing, and of very little. */
static int tiny(void *unused)
{
    (void)unused;
    struct lt_look look;
    struct small_scope s;
    small_open(&s);
    for (size_t n = 0; n < 4; n++) {
        begin(&look, &(struct lt_look_bound){ n, n, n });
        CHECK(look.sampled || n >= 2);
        lt_look_end(&look);
    }
    small_close(&s);
    return 0;
}

static void test_tiny(void **state)
{
    (void)state;
    run_on(2, tiny);
}

/* In the harsh build: each allocation of a look fails once. */
static int starved(void *unused)
{
    (void)unused;
#ifdef LEAT_HARSH
    struct lt_look look;
    struct small_scope s;
    small_open(&s);
    for (long n = 1;; n++) {
        lt_fault_arm(n);
        int error = lt_look_begin(&look, NULL, &small);
        bool struck = lt_fault_struck();
        lt_fault_arm(0);
        CHECK_IS(struck ? -ENOMEM : 0, error);
        if (!error)
            lt_look_end(&look);
        if (!struck)
            break;
        CHECK(n < 1000);
    }
    small_close(&s);
#endif
    return 0;
}

static void test_no_memory(void **state)
{
    (void)state;
    run_on(1, starved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crowd),      cmocka_unit_test(test_timers),
        cmocka_unit_test(test_tasks),      cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_channels),   cmocka_unit_test(test_queued),
        cmocka_unit_test(test_everything), cmocka_unit_test(test_tiny),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
