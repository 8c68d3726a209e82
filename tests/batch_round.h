/* batch_round.h: a round of test_batch_model.c and test_batch_threads.c: random batchers and
 * callers, an event meanwhile, and what must be true in the end. */
#pragma once

#include "batch_callers.h"

/* ---- the event ---- */

static void close_one(struct round *round)
{
    for (unsigned i = 0; i < round->batchers_used; i++) {
        struct batcher *b = &round->batchers[i];
        if (i && !round->closes_both)
            continue;
        atomic_store(&b->closing, true);
        CHECK_IS(0, leat_batcher_close(b->batcher));
        atomic_store(&b->closed, true);
        CHECK_IS(0, leat_batcher_close(b->batcher));
    }
}

static void cancel_callers(struct round *round)
{
    while (pthread_mutex_trylock(&round->lock) != 0)
        nap();
    atomic_store(&round->thrown, true);
    for (unsigned i = 0; i < round->callers_used; i++)
        if (round->callers[i].own)
            CHECK_IS(0, leat_scope_cancel(round->callers[i].own));
    pthread_mutex_unlock(&round->lock);
    CHECK_IS(0, leat_scope_cancel(round->callers_scope));
}

static int throw_event(void *arg)
{
    struct round *round = arg;
    if (round->delay)
        leat_sleep(round->delay);
    switch (round->event) {
    case CLOSE: close_one(round); break;
    case CANCEL_CALLERS: cancel_callers(round); break;
    case CANCEL_BATCHERS: CHECK_IS(0, leat_scope_cancel(round->batchers_scope)); break;
    default:;
    }
    return 0;
}

/* ---- making a round ---- */

static void make_group(struct round *round, unsigned index, bool shared)
{
    round->groups[index].chance = lt_rng_next(&round->chance);
    if (shared)
        CHECK(round->groups[index].lock = leat_mutex_open(round->batchers_scope));
}

static void make_batcher(struct round *round, unsigned index, struct group *group)
{
    uint64_t *chance = &round->chance;
    struct batcher *b = &round->batchers[index];
    b->round = round;
    b->group = group;
    const size_t item_sizes[] = { 3, 4, 8, 24, LARGEST_ITEM };
    const size_t result_sizes[] = { 0, 1, 4, 16, LARGEST_RESULT };
    leat_batcher_spec *spec = &b->spec;
    *spec = (leat_batcher_spec){ .item_size = item_sizes[below(chance, 5)],
                                 .result_size = result_sizes[below(chance, 5)],
                                 .run = serve,
                                 .arg = b,
                                 .name = below(chance, 2) ? "batcher" : NULL,
                                 .key = below(chance, 2) ? key_of : NULL,
                                 .bytes = below(chance, 2) ? bytes_of : NULL,
                                 .lock = group->lock,
                                 .blocking = below(chance, 4) == 0 };
    if (below(chance, 3) == 0) {
        spec->linger = 1 + (int64_t)below(chance, 100) * LEAT_US;
        spec->least = below(chance, 2) ? 1 + below(chance, 5) : 0;
        spec->least_bytes = below(chance, 3) ? 0 : 1 + below(chance, 12);
    }
    spec->most = below(chance, 2) ? 1 + below(chance, 6) : 0;
    spec->most_bytes = below(chance, 3) ? 0 : 1 + below(chance, 10);
    CHECK(b->batcher = leat_batcher_open(round->batchers_scope, spec));
    struct run *probe = &round->probes[index];
    *probe = (struct run){
        .batcher = b, .id = (MOST_CALLERS + 1) * MOST_RUNS + index, .n = 1, .weight = 1
    };
    probe->refused = true;
}

static void make_caller(struct round *round, unsigned index)
{
    struct caller *c = &round->callers[index];
    c->round = round;
    c->index = index;
    c->kind = below(&round->chance, CALLER_KINDS);
    c->chance = lt_rng_next(&round->chance);
    c->limit = 1 + below(&c->chance, MOST_RUNS);
    c->fickle = c->kind == A_CALLBACK && !round->patient && below(&c->chance, 2);
    atomic_fetch_add(&round->fickle, c->fickle);
}

static void make_round(struct round *round, uint64_t seed)
{
    memset(round, 0, sizeof *round);
    round->chance = seed;
    uint64_t *chance = &round->chance;
    round->patient = below(chance, 4) == 0;
    round->event = round->patient ? NOTHING : below(chance, EVENTS);
    round->layout = below(chance, LAYOUTS);
    round->delay = below(chance, 4) ? (int64_t)below(chance, 300) * LEAT_US : 0;
    round->event_by_task = below(chance, 2);
    round->closes_both = below(chance, 2);
    round->batchers_used = 1 + below(chance, BATCHERS);
    round->callers_used = 1 + below(chance, MOST_CALLERS);
    pthread_mutex_init(&round->lock, NULL);
    for (unsigned i = 0; i < round->callers_used; i++)
        make_caller(round, i);
    round->callers[MOST_CALLERS] =
        (struct caller){ .round = round, .index = MOST_CALLERS, .chance = lt_rng_next(chance) };
}

static void open_scopes(struct round *round)
{
    CHECK(round->scope = leat_scope_open(LEAT_NEVER));
    CHECK(round->left = leat_latch(round->scope, round->callers_used));
    round->deadline = round->event == DEADLINE ? leat_after(1 + round->delay) : LEAT_NEVER;
    if (round->layout == CALLERS_INSIDE)
        CHECK(round->batchers_scope = leat_scope_open(LEAT_NEVER));
    CHECK(round->callers_scope = leat_scope_open(round->deadline));
    if (round->layout == ONE_SCOPE)
        round->batchers_scope = round->callers_scope;
    if (round->layout == BATCHERS_INSIDE)
        CHECK(round->batchers_scope = leat_scope_open(LEAT_NEVER));
}

static void open_batchers(struct round *round)
{
    bool one_lock = below(&round->chance, 3) == 0;
    make_group(round, 0, one_lock || below(&round->chance, 3) == 0);
    make_group(round, 1, below(&round->chance, 3) == 0);
    for (unsigned i = 0; i < round->batchers_used; i++)
        make_batcher(round, i, &round->groups[one_lock ? 0 : i]);
}

static void start_caller(struct caller *c)
{
    leat_scope *scope = c->round->callers_scope;
    switch (c->kind) {
    case A_TASK: CHECK_IS(0, leat_go(scope, straight, c)); break;
    case A_THREAD: CHECK_IS(0, leat_go_blocking(scope, straight, c)); break;
    case A_STRANGER: foreign_start(&c->thread, stranger, c); break;
    case A_BLOCK: CHECK_IS(0, leat_go_block(scope, &c->block, block_step)); break;
    default: drive(c);
    }
}

/* ---- what must be true in the end ---- */

static void check_counts(struct batcher *b)
{
    const struct round *round = b->round;
    leat_batcher_counts counts;
    CHECK_IS(0, leat_batcher_count(b->batcher, &counts));
    uint64_t surely_left = 0, maybe_left = 0;
    for (unsigned i = 0; i <= MOST_CALLERS; i++) {
        for (unsigned j = 0; j < round->callers[i].made; j++) {
            const struct run *run = &round->callers[i].runs[j];
            if (run->batcher != b || run->seen)
                continue;
            surely_left += run->surely_put ? run->n : 0;
            maybe_left += run->surely_put || run->maybe_put ? run->n : 0;
        }
    }
    CHECK_IS(b->executions, counts.batches);
    CHECK_IS(b->items, counts.items);
    CHECK(surely_left <= counts.left && counts.left <= maybe_left);
    for (unsigned i = 0; i < LEAT_BATCH_SIZES; i++)
        CHECK_IS(b->sizes[i], counts.sizes[i]);
    CHECK(counts.ran >= b->ran_at_least);
    CHECK(counts.waited >= 0);
    CHECK(!round->patient || counts.waited <= b->waited_at_most);
    if (round->patient && round->exact) {
        CHECK_IS(b->waited_at_most, counts.waited);
        CHECK_IS(b->ran_at_least, counts.ran);
    }
}

/* When a block or callback has left, the party that leads for it may still be running. */
static void check_all_counts(struct round *round)
{
    WAIT_UNTIL(leat_scope_tasks(round->batchers_scope) == 0);
    for (unsigned i = 0; i < round->batchers_used; i++)
        check_counts(&round->batchers[i]);
}

static void check_runs(const struct round *round)
{
    for (unsigned i = 0; i <= MOST_CALLERS; i++) {
        for (unsigned j = 0; j < round->callers[i].made; j++) {
            const struct run *run = &round->callers[i].runs[j];
            switch (run->fate) {
            case UNTRIED:
            case REFUSED: CHECK(!run->seen); break;
            case SERVED: CHECK(run->seen && run->over); break;
            case LEFT: CHECK(!round->patient && run->seen == run->over); break;
            default: check_failed(__FILE__, __LINE__, "nobody has asked for run %u", run->id);
            }
        }
    }
}

static void check_why(const struct round *round, int why)
{
    CHECK(why == 0 || (why == -ETIMEDOUT && round->event == DEADLINE) ||
          (why == -ECANCELED && round->event != NOTHING));
}

static void wait_for_callers(struct round *round)
{
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_latch_wait(round->left, LEAT_NEVER));
    CHECK_IS(0, leat_unshield());
}

static void close_scopes(struct round *round)
{
    for (unsigned i = 0; i < round->callers_used; i++)
        if (round->callers[i].kind == A_STRANGER)
            CHECK_IS(0, foreign_join(&round->callers[i].thread));
    if (round->layout != CALLERS_INSIDE &&
        (round->layout != ONE_SCOPE || below(&round->chance, 2))) {
        wait_for_callers(round);
        check_all_counts(round);
        if (round->layout == BATCHERS_INSIDE)
            check_why(round, leat_scope_close(round->batchers_scope));
    }
    check_why(round, leat_scope_close(round->callers_scope));
    if (round->layout == CALLERS_INSIDE) {
        check_all_counts(round);
        check_why(round, leat_scope_close(round->batchers_scope));
    }
    CHECK_IS(0, leat_scope_close(round->scope));
}

static void run_round(struct round *round, bool exact)
{
    round->exact = exact;
    open_scopes(round);
    open_batchers(round);
    for (unsigned i = 0; i < round->callers_used; i++)
        start_caller(&round->callers[i]);
    if (atomic_load(&round->fickle))
        CHECK_IS(0, leat_go(round->callers_scope, withdraw_some, round));
    leat_scope *struck =
        round->event == CANCEL_CALLERS ? round->callers_scope : round->batchers_scope;
    if (round->event_by_task)
        CHECK_IS(0, leat_go(struck, throw_event, round));
    else
        throw_event(round);
    close_scopes(round);
    pthread_mutex_destroy(&round->lock);
    check_runs(round);
}

static void print_happenings(unsigned long long rounds)
{
    fprintf(stderr, "  %llu rounds:", rounds);
    for (int i = 0; i < HAPPENINGS; i++)
        fprintf(stderr, " %s %llu%c", happening_names[i], (unsigned long long)happenings[i],
                i + 1 < HAPPENINGS ? ',' : '\n');
    for (int i = 0; i < HAPPENINGS; i++)
        CHECK(happenings[i] > 0 || rounds < 1000); /* a slow machine may miss the rarest */
}
