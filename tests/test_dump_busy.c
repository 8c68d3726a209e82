/* test_dump_busy.c: dumps while tasks, blocks, callbacks, threads, scopes, channels, mutexes,
 * descriptors and batchers come and go on four workers, and names are freed as soon as they may be.
 * Threads and tasks dump without pause, and make bounded looks. A dump may contain anything, but it
 * must end, and no sanitizer may report a fault. */
#include "support.h"

#include "watch/look.h"

enum { LOOKERS = 2, CHURNERS = 6 };

static _Atomic bool enough;
static _Atomic int dumps;

static int discard(int (*dump)(FILE *to))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    int error = dump(file);
    fclose(file);
    CHECK(error || strncmp(text, dump == leat_dump ? "leat: " : "digraph", 6) == 0);
    free(text);
    atomic_fetch_add(&dumps, 1);
    return error;
}

static void look_a_little(void)
{
    struct lt_look look;
    const struct lt_look_bound bound = { 20, 20, 5 };
    CHECK_IS(0, lt_look_begin(&look, NULL, &bound));
    CHECK(look.scope_count <= bound.scopes);
    lt_look_end(&look);
}

static int looks(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough)) {
        look_a_little();
        CHECK_IS(0, discard(leat_dump));
        CHECK_IS(0, discard(leat_dump_graph));
    }
    return 0;
}

/* Dumps in a task, and sleeps in between so that others run. */
static int looks_now_and_then(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough)) {
        CHECK_IS(0, discard(leat_dump));
        look_a_little();
        leat_sleep(LEAT_MS);
    }
    return 0;
}

/* ---- parties that come and go ---- */

struct round {
    leat_chan *ch, *other, *orphan;
    leat_scope *scope;
};

struct walker {
    leat_block block;
    leat_alarm alarm;
    leat_case cases[2];
    struct round *round;
    int got;
    struct walker *inner;
};

static int inner_step(leat_block *b)
{
    struct walker *me = (struct walker *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV_UNTIL(b, me->round->other, &me->got, leat_after(50 * LEAT_US), &me->alarm);
    LEAT_AWAIT_YIELD(b);
    LEAT_AWAIT_SLEEP(b, 20 * LEAT_US, &me->alarm);
    LEAT_END(b);
}

static int walker_step(leat_block *b)
{
    struct walker *me = (struct walker *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->round->ch, &me->got);
    LEAT_AWAIT_CALL(b, &me->inner->block, inner_step);
    me->cases[0] = (leat_case)LEAT_RECV(me->round->ch, &me->got);
    me->cases[1] = (leat_case)LEAT_SEND(me->round->other, &me->got);
    LEAT_AWAIT_SELECT(b, me->cases, 2, leat_after(50 * LEAT_US), &me->alarm);
    LEAT_END(b);
}

static int feeds(void *arg)
{
    struct round *round = arg;
    for (int i = 0; i < 5; i++)
        leat_send_until(round->ch, &i, leat_after(100 * LEAT_US));
    leat_yield();
    return 0;
}

static int picks(void *arg)
{
    struct round *round = arg;
    int one = 1, got;
    leat_case cases[] = { LEAT_RECV(round->other, &got), LEAT_SEND(round->ch, &one) };
    leat_select(cases, 2, leat_after(100 * LEAT_US));
    leat_recv_until(round->ch, &got, leat_after(50 * LEAT_US));
    return 0;
}

static int returns(void *unused)
{
    (void)unused;
    return 0;
}

static int joins(void *block)
{
    leat_block_join(block);
    return 0;
}

static int blocks(void *unused)
{
    (void)unused;
    return leat_blocking(returns, NULL) ? 0 : 0;
}

static int reads(void *io)
{
    char bytes[8];
    leat_read(io, bytes, sizeof bytes);
    return 0;
}

static int serves(void *unused, leat_batch_view *batch)
{
    (void)unused;
    leat_yield();
    return leat_batch_all_done(batch);
}

static int batches(void *batcher)
{
    leat_batch(batcher, NULL, NULL);
    return 0;
}

static int locks(void *mutex)
{
    if (leat_mutex_lock(mutex) == 0) {
        leat_yield();
        CHECK_IS(0, leat_mutex_unlock(mutex));
    }
    return 0;
}

/* Both ends of a pipe, a batcher, and a mutex. */
static void go_things(leat_scope *scope, leat_io *ends[2])
{
    leat_batcher *batcher = leat_batcher_open(scope, &(leat_batcher_spec){ .run = serves });
    CHECK_IS(0, leat_io_pipe(scope, ends));
    CHECK_IS(0, leat_go(scope, reads, ends[0]));
    CHECK_IS(0, leat_go(scope, batches, batcher));
    CHECK_IS(0, leat_go(scope, batches, batcher));
    leat_mutex *mutex = leat_mutex_open(scope);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_go(scope, locks, mutex));
}

static void got(leat_op *op, int status)
{
    (void)op, (void)status;
}

static void go_round(int number)
{
    struct round round = { .scope = leat_scope_open(number % 3 ? LEAT_NEVER
                                                               : leat_after(200 * LEAT_US)) };
    round.ch = leat_chan_of(round.scope, int, 0);
    round.other = leat_chan_open(
        round.scope, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 2, .name = "other" });
    round.orphan = leat_chan_of(NULL, int, 0);
    struct walker inner = { .round = &round };
    struct walker walker = { .round = &round, .inner = &inner };
    leat_op op = LEAT_OP(round.scope, 0), loose = LEAT_OP(NULL, 0);
    int item;
    char *name = strdup("a name that is freed");
    CHECK_IS(0, leat_go_named(round.scope, feeds, &round, name, 0));
    CHECK_IS(0, leat_go_named(round.scope, picks, &round, name, 16384));
    CHECK_IS(0, leat_go_block(round.scope, &walker.block, walker_step));
    CHECK_IS(0, leat_recv_then(&op, round.ch, &item, got));
    CHECK_IS(0, leat_recv_then(&loose, round.orphan, &item, got));
    CHECK_IS(0, leat_go_named(round.scope, joins, &walker.block, name, 0));
    if (number % 8 == 0) {
        CHECK_IS(0, leat_go_named(round.scope, blocks, NULL, name, 0));
        CHECK_IS(0, leat_go_blocking_named(round.scope, feeds, &round, name));
    }
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_go_named(round.scope, returns, NULL, name, 0));
    leat_io *ends[2];
    go_things(round.scope, ends);
    leat_sleep(number % 5 * 10 * LEAT_US);
    leat_close(round.ch);
    leat_io_close(ends[1]);
    if (number % 2)
        leat_scope_cancel(round.scope);
    leat_scope_close(round.scope);
    CHECK_IS(0, leat_withdraw(&loose));
    CHECK_IS(0, leat_chan_unref(round.orphan));
    free(name);
}

static int churns(void *unused)
{
    (void)unused;
    for (int i = 0; !atomic_load(&enough); i++)
        go_round(i);
    return 0;
}

static void test_dump_while_busy(void **state)
{
    (void)state;
    struct crew crew;
    atomic_store(&enough, false);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 4,
                                            .watch = LEAT_WATCH_WAITS | LEAT_WATCH_STACKS }));
    crew_open(&crew);
    for (int i = 0; i < CHURNERS; i++)
        crew_go(&crew, i < CHURNERS - 1 ? TASK : FOREIGN, churns, NULL);
    for (int i = 0; i < LOOKERS; i++)
        crew_go(&crew, FOREIGN, looks, NULL);
    CHECK_IS(0, leat_go(crew.scope, looks_now_and_then, NULL));
    nanosleep(&(struct timespec){ .tv_sec = 3 }, NULL);
    WAIT_UNTIL(atomic_load(&dumps) > 10);
    atomic_store(&enough, true);
    crew_close(&crew);
    CHECK_IS(0, leat_stop());
}

/* Dumps while the runtime starts and stops. */
static int looks_anyway(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough)) {
        int error = discard(leat_dump);
        CHECK(error == 0 || error == -EINVAL);
    }
    return 0;
}

static int starts_some(void *unused)
{
    (void)unused;
    go_round(1);
    return 0;
}

static void test_dump_while_stopping(void **state)
{
    (void)state;
    struct foreign looker;
    atomic_store(&enough, false);
    foreign_start(&looker, looks_anyway, NULL);
    for (int i = 0; i < 300 / SCALE; i++)
        CHECK_IS(0, leat_main_with(
                        starts_some, NULL,
                        &(leat_options){ .workers = 2, .watch = i % 2 ? LEAT_WATCH_STACKS : 0 }));
    atomic_store(&enough, true);
    CHECK_IS(0, foreign_join(&looker));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_dump_while_busy),
                                        cmocka_unit_test(test_dump_while_stopping) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
