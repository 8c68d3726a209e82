/* test_scope.c: opening and closing, what scopes return, nesting, deadlines, shields, counts. */
#include "support.h"

static int return_value(void *arg)
{
    return *(int *)arg;
}

static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int receive_it(void *arg)
{
    return leat_recv(arg, NULL);
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    _Atomic int calls = 0;
    CHECK(!leat_scope_open(-1));
    CHECK(!leat_scope_open(INT64_MIN));
    CHECK_IS(-EINVAL, leat_scope_close(NULL));
    CHECK_IS(-EINVAL, leat_scope_cancel(NULL));
    CHECK_IS(0, leat_scope_tasks(NULL));
    CHECK_IS(0, leat_cancelled(NULL));
    CHECK_IS(LEAT_NEVER, leat_scope_deadline(NULL));
    CHECK_IS(-EINVAL, leat_unshield());
    CHECK_IS(-EINVAL, leat_go(NULL, count_up, &calls));
    CHECK_IS(-EINVAL, leat_go_blocking(NULL, count_up, &calls));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EINVAL, leat_go(s, NULL, &calls));
    CHECK_IS(-EINVAL, leat_go_blocking(s, NULL, &calls));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, calls);
    return 0;
}

static int joins_all_tasks(void *arg)
{
    (void)arg;
    _Atomic int calls = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 200; i++)
        CHECK_IS(0, i % 10 ? leat_go(s, count_up, &calls) : leat_go_blocking(s, count_up, &calls));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(200, calls);
    return 0;
}

struct counted {
    leat_scope *scope;
    leat_chan *gate;
    _Atomic int left;
};

/* Counts the tasks that have not ended, while the opener waits for them in leat_scope_close. */
static int count_the_others(void *arg)
{
    struct counted *counted = arg;
    if (leat_recv(counted->gate, NULL) == 0)
        atomic_fetch_sub(&counted->left, 1);
    WAIT_UNTIL(leat_scope_tasks(counted->scope) == (size_t)atomic_load(&counted->left) + 1);
    return leat_send(counted->gate, &(int){ 0 });
}

static int counts_tasks_while_closing(void *arg)
{
    (void)arg;
    enum { TASKS = 6 };
    struct counted counted = { leat_scope_open(LEAT_NEVER), NULL, TASKS };
    counted.gate = leat_chan_of(counted.scope, int, 1);
    for (int i = 0; i < TASKS; i++)
        CHECK_IS(0, i % 3 ? leat_go(counted.scope, count_the_others, &counted)
                          : leat_go_blocking(counted.scope, count_the_others, &counted));
    WAIT_UNTIL(leat_scope_tasks(counted.scope) == TASKS);
    CHECK_IS(0, leat_send(counted.gate, &(int){ 0 }));
    CHECK_IS(0, leat_scope_close(counted.scope));
    CHECK_IS(0, counted.left);
    return 0;
}

static int closes_innermost_first(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    CHECK(outer && inner && outer != inner);
    leat_chan *ch = leat_chan_of(outer, int, 1);
    CHECK_IS(-EINVAL, leat_scope_close(outer));
    /* The failed close had no effect. */
    CHECK_IS(0, leat_cancelled(outer));
    CHECK_IS(0, leat_send(ch, &(int){ 1 }));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_recv(ch, NULL));
    CHECK_IS(0, leat_scope_close(outer));
    return 0;
}

static int close_another_partys(void *arg)
{
    CHECK_IS(-EINVAL, leat_scope_close(arg));
    leat_scope *mine = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EINVAL, leat_scope_close(arg));
    CHECK_IS(0, leat_scope_close(mine));
    CHECK_IS(-EINVAL, leat_scope_close(arg));
    return 0;
}

static int only_the_opener_closes(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        crew_go(&crew, kind, close_another_partys, crew.scope);
        crew_close(&crew);
    }
    return 0;
}

static int returns_what_tasks_return(void *arg)
{
    (void)arg;
    static int values[] = { -EIO, 3, -1, INT32_MIN, -EPIPE, -ECANCELED, -ETIMEDOUT, 0 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int blocking = 0; blocking <= 1; blocking++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            leat_chan *ch = leat_chan_of(s, int, 0);
            CHECK_IS(0, leat_go(s, receive_it, ch)); /* cancelled, when the other task fails */
            CHECK_IS(0, blocking ? leat_go_blocking(s, return_value, &values[i])
                                 : leat_go(s, return_value, &values[i]));
            if (values[i] == 0) {
                CHECK_IS(0, leat_send(ch, &(int){ 0 }));
            } else {
                CHECK_IS(-ECANCELED, leat_recv(ch, NULL)); /* ends the opener's wait, too */
                CHECK_IS(1, leat_cancelled(s));
                CHECK_IS(1, leat_cancelled(NULL));
            }
            CHECK_IS(values[i], leat_scope_close(s));
            CHECK_IS(0, leat_cancelled(NULL));
        }
    }
    return 0;
}

static int fail_after_another(void *arg)
{
    CHECK_IS(-ECANCELED, leat_recv(arg, NULL));
    return -ENOSPC;
}

static int first_error_wins(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    for (int i = 0; i < 8; i++)
        CHECK_IS(0, i % 4 ? leat_go(s, fail_after_another, ch)
                          : leat_go_blocking(s, fail_after_another, ch));
    CHECK_IS(0, leat_go(s, return_value, &(int){ -EIO }));
    CHECK_IS(-EIO, leat_scope_close(s));
    return 0;
}

static int leaves_early(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    for (int i = 0; i < 8; i++)
        CHECK_IS(0, i % 4 ? leat_go(s, receive_it, ch) : leat_go_blocking(s, receive_it, ch));
    CHECK_IS(0, leat_go(s, fail_after_another, ch)); /* too late to be the reason */
    WAIT_UNTIL(leat_scope_tasks(s) == 9);
    CHECK_IS(0, leat_cancelled(s));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(1, leat_cancelled(s));
    CHECK_IS(-ECANCELED, leat_recv(ch, NULL));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_scope_close(s)); /* -ECANCELED of its tasks is no error */
    return 0;
}

static int has_a_deadline(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        int64_t deadline = i ? leat_after(i * LEAT_MS) : LEAT_NOW;
        leat_scope *s = leat_scope_open(deadline);
        CHECK(s);
        leat_chan *ch = leat_chan_of(s, int, 0);
        CHECK_IS(0, leat_go(s, receive_it, ch));
        CHECK_IS(0, leat_go_blocking(s, receive_it, ch));
        CHECK_IS(-ECANCELED, i % 2 ? leat_recv(ch, NULL) : leat_sleep_until(LEAT_NEVER));
        CHECK(leat_now() >= deadline);
        CHECK_IS(1, leat_cancelled(s));
        CHECK_IS(0, leat_scope_cancel(s)); /* too late to be the reason */
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    }
    /* The deadline passes while the opener closes. */
    leat_scope *s = leat_scope_open(leat_after(2 * LEAT_MS));
    CHECK_IS(0, leat_go(s, receive_it, leat_chan_of(s, int, 0)));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    /* An error before the deadline is the reason. */
    s = leat_scope_open(leat_after(600 * LEAT_S));
    CHECK_IS(0, leat_go(s, return_value, &(int){ -EIO }));
    CHECK_IS(-EIO, leat_scope_close(s));
    s = leat_scope_open(leat_after(600 * LEAT_S));
    CHECK_IS(0, leat_scope_close(s));
    /* When a scope is closed before its deadline, the deadline cancels nothing later. */
    s = leat_scope_open(LEAT_NEVER);
    leat_scope *brief = leat_scope_open(leat_after(2 * LEAT_MS));
    CHECK(brief);
    int closed = leat_scope_close(brief);
    CHECK(closed == 0 || closed == -ETIMEDOUT);
    CHECK_IS(0, leat_sleep(4 * LEAT_MS));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static int ask_for_its_deadline(void *expected)
{
    return leat_scope_deadline(NULL) == *(int64_t *)expected ? 0 : -EIO;
}

static int names_the_earliest_deadline(void *arg)
{
    (void)arg;
    int64_t late = leat_after(600 * LEAT_S), early = late - LEAT_S;
    leat_scope *outer = leat_scope_open(late);
    leat_scope *unbounded = leat_scope_open(LEAT_NEVER);
    leat_scope *inner = leat_scope_open(early);
    CHECK_IS(early, leat_scope_deadline(inner));
    CHECK_IS(early, leat_scope_deadline(NULL));
    CHECK_IS(late, leat_scope_deadline(unbounded));
    CHECK_IS(0, leat_go(unbounded, ask_for_its_deadline, &late));
    CHECK_IS(0, leat_go_blocking(inner, ask_for_its_deadline, &early));
    CHECK_IS(0, leat_scope_close(inner));
    /* A later deadline inside does not move the one around it. */
    inner = leat_scope_open(late + LEAT_S);
    CHECK_IS(late, leat_scope_deadline(inner));
    CHECK_IS(0, leat_scope_close(inner));
    /* Nothing around a scope cancels it that was opened under a shield. */
    CHECK_IS(0, leat_shield());
    CHECK_IS(late, leat_scope_deadline(NULL));
    inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(LEAT_NEVER, leat_scope_deadline(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(0, leat_scope_close(unbounded));
    CHECK_IS(0, leat_scope_close(outer));
    leat_scope *passed = leat_scope_open(LEAT_NOW);
    CHECK_IS(LEAT_NOW, leat_scope_deadline(passed));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(passed));
    return 0;
}

static int cancels_down_not_up(void *arg)
{
    (void)arg;
    leat_scope *a = leat_scope_open(LEAT_NEVER), *b = leat_scope_open(LEAT_NEVER);
    leat_scope *c = leat_scope_open(LEAT_NEVER), *d = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(c));
    CHECK_IS(0, leat_cancelled(a));
    CHECK_IS(0, leat_cancelled(b));
    CHECK_IS(1, leat_cancelled(c));
    CHECK_IS(1, leat_cancelled(d));
    CHECK_IS(-ECANCELED, leat_scope_close(d));
    CHECK_IS(0, leat_scope_close(c));
    CHECK_IS(0, leat_cancelled(NULL));
    CHECK_IS(0, leat_sleep(LEAT_US));
    CHECK_IS(0, leat_scope_cancel(a));
    CHECK_IS(1, leat_cancelled(b));
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_US));
    CHECK_IS(-ECANCELED, leat_scope_close(b));
    CHECK_IS(0, leat_scope_close(a));
    return 0;
}

static int keeps_its_own_reason(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, return_value, &(int){ -EIO }));
    WAIT_UNTIL(leat_cancelled(inner));
    CHECK_IS(0, leat_scope_cancel(outer));
    CHECK_IS(-EIO, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(outer));
    return 0;
}

static int wait_in_vain(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    CHECK_IS(1, leat_cancelled(NULL));
    CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    return -ECANCELED;
}

static int is_born_cancelled(void *arg)
{
    (void)arg;
    _Atomic int calls = 0;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(outer));
    leat_scope *inner = leat_scope_open(leat_after(LEAT_S));
    CHECK(inner);
    CHECK_IS(1, leat_cancelled(inner));
    CHECK_IS(0, leat_go(inner, wait_in_vain, &calls));
    CHECK_IS(0, leat_go_blocking(inner, wait_in_vain, &calls));
    CHECK_IS(0, leat_go(outer, wait_in_vain, &calls));
    CHECK_IS(-ECANCELED, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(outer));
    CHECK_IS(3, calls); /* a task always runs, or its argument would be lost */
    return 0;
}

static int shields(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_send(ch, &(int){ 1 }));
    CHECK_IS(-ETIMEDOUT, leat_send_until(ch, &(int){ 1 }, leat_after(LEAT_US)));
    CHECK_IS(0, leat_sleep(LEAT_US));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(0, leat_recv(ch, NULL)); /* one shield is left */
    int value = 7;
    CHECK_IS(7, leat_blocking(return_value, &value));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_cancelled(inner));
    CHECK_IS(0, leat_go(inner, receive_it, ch));
    CHECK_IS(0, leat_send(ch, &(int){ 2 }));
    CHECK_IS(0, leat_scope_close(inner));
    leat_case one[] = { LEAT_SEND(ch, &value) };
    CHECK_IS(0, leat_select(one, 1, LEAT_NEVER));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(-ECANCELED, leat_recv(ch, NULL));
    CHECK_IS(-EINVAL, leat_unshield());
    inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(1, leat_cancelled(inner));
    CHECK_IS(-ECANCELED, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EINVAL, leat_unshield());
    return 0;
}

static int shields_nest(void *arg)
{
    (void)arg;
    enum { DEEPEST = 65535 };
    for (int i = 0; i < DEEPEST; i++)
        CHECK_IS(0, leat_shield());
    CHECK_IS(-EINVAL, leat_shield());
    for (int i = 0; i < DEEPEST; i++)
        CHECK_IS(0, leat_unshield());
    CHECK_IS(-EINVAL, leat_unshield());
    return 0;
}

/* A cancel of the outer scope comes after the inner scope was opened under a shield. */
static int shields_from_a_later_cancel(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_shield());
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(inner, int, 0);
    CHECK_IS(0, leat_go(inner, receive_it, ch));
    WAIT_UNTIL(receivers_of(ch) == 1);
    CHECK_IS(0, leat_scope_cancel(outer));
    CHECK_IS(0, leat_cancelled(inner));
    CHECK_IS(0, leat_scope_cancel(outer));
    CHECK_IS(1, receivers_of(ch));
    CHECK_IS(0, leat_send(ch, &(int){ 1 }));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_US));
    CHECK_IS(0, leat_scope_close(outer));
    return 0;
}

static int nests_a_thousand(void *arg)
{
    (void)arg;
    enum { DEPTH = 1000 };
    leat_scope **scopes = calloc(DEPTH, sizeof(leat_scope *));
    CHECK(scopes);
    for (int cancel = 0; cancel <= 1; cancel++) {
        for (int i = 0; i < DEPTH; i++) {
            scopes[i] = leat_scope_open(i % 3 ? LEAT_NEVER : leat_after(600 * LEAT_S));
            CHECK(scopes[i]);
        }
        if (cancel)
            CHECK_IS(0, leat_scope_cancel(scopes[0]));
        CHECK_IS(cancel, leat_cancelled(NULL));
        for (int i = DEPTH - 1; i >= 0; i--) {
            CHECK_IS(cancel, leat_cancelled(scopes[i]));
            CHECK_IS(cancel && i ? -ECANCELED : 0, leat_scope_close(scopes[i]));
        }
    }
    free(scopes);
    return 0;
}

static const struct {
    const char *name;
    leat_fn *body;
} bodies[] = {
#define BODY(body) #body, body
    { BODY(refuses_wrong_arguments) },
    { BODY(joins_all_tasks) },
    { BODY(counts_tasks_while_closing) },
    { BODY(closes_innermost_first) },
    { BODY(only_the_opener_closes) },
    { BODY(returns_what_tasks_return) },
    { BODY(first_error_wins) },
    { BODY(leaves_early) },
    { BODY(has_a_deadline) },
    { BODY(names_the_earliest_deadline) },
    { BODY(cancels_down_not_up) },
    { BODY(keeps_its_own_reason) },
    { BODY(is_born_cancelled) },
    { BODY(shields) },
    { BODY(shields_nest) },
    { BODY(shields_from_a_later_cancel) },
    { BODY(nests_a_thousand) },
};

static int all_bodies(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        fprintf(stderr, "  %s\n", bodies[i].name);
        CHECK_IS(0, bodies[i].body(NULL));
    }
    return 0;
}

/* The same rules hold for an opener of any kind. */
static int opened_by_a_task(void *arg)
{
    return all_bodies(arg);
}
ON_WORKERS(opened_by_a_task);

static int opened_by_a_blocking_task(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(s, all_bodies, arg));
    return leat_scope_close(s);
}
ON_WORKERS(opened_by_a_blocking_task);

static void opened_by_a_thread(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(NULL));
    all_bodies(NULL);
    struct foreign foreign[2]; /* two run at a time */
    for (int i = 0; i < 2; i++)
        foreign_start(&foreign[i], all_bodies, NULL);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, foreign_join(&foreign[i]));
    CHECK_IS(0, leat_stop());
}

static void needs_a_runtime(void **state)
{
    (void)state;
    CHECK(!leat_scope_open(LEAT_NEVER));
    CHECK_IS(0, leat_cancelled(NULL));
    CHECK_IS(-EINVAL, leat_unshield());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_a_runtime),
        TESTS_ON_WORKERS(opened_by_a_task),
        TESTS_ON_WORKERS(opened_by_a_blocking_task),
        cmocka_unit_test(opened_by_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
