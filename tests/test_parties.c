/* test_parties.c: every kind of party against every other, on every kind of buffer, by every
 * operation, while channels close and scopes are cancelled at any moment.
 *
 * A round is made from its seed, a number: the parties, their operations, the buffer, and the event
 * meanwhile. Consecutive seeds go through all combinations; the rest is random. A round keeps a
 * record of each item, and checks at its end: each item that was sent was received or dropped once,
 * and each refused item was neither; each receiver got the items of each sender in order; no party
 * hangs.
 *
 * LEAT_SEED=n      repeats one round; a failure prints it (in the seeded world the world's seed
 *                  makes the round, so one number repeats everything)
 * LEAT_ROUNDS=n    rounds for each number of workers; else as many as fit into LEAT_STRESS_SECONDS
 *                  (2 by default) */
#include "parties.h"

#include <sched.h>

/* ---- tasks and threads ---- */

static int perform(struct party *p)
{
    leat_chan *ch = p->round->ch[0];
    switch (p->operation) {
    case SELECT: return leat_select(p->cases, CHANNELS, LEAT_NEVER);
    case SELECT_UNTIL: return leat_select(p->cases, CHANNELS, soon(p));
    case UNTIL:
        return p->sends ? leat_send_until(ch, p->bytes, soon(p))
                        : leat_recv_until(ch, p->bytes, soon(p));
    case TRY: return try_now(p);
    case MANY: return many(p, LEAT_NEVER);
    default: return p->sends ? leat_send(ch, p->bytes) : leat_recv(ch, p->bytes);
    }
}

static int straight(void *arg)
{
    struct party *p = arg;
    while (prepare(p)) {
        int status = perform(p);
        if (!outcome(p, status))
            break;
        if (status == -EAGAIN)
            leat_yield();
    }
    leave(p);
    return 0;
}

/* In the seeded world the holder may be an interrupted party of this same thread: do not block. */
static void lock(pthread_mutex_t *mutex)
{
    while (pthread_mutex_trylock(mutex) != 0)
        nap();
}

/* A foreign thread, with its own scope. */
static int foreign(void *arg)
{
    struct party *p = arg;
    struct round *round = p->round;
    leat_scope *own = leat_scope_open(round->deadline);
    CHECK(own);
    lock(&round->lock);
    p->own = own;
    if (round->event == CANCEL && atomic_load(&round->thrown))
        leat_scope_cancel(own);
    pthread_mutex_unlock(&round->lock);
    straight(p);
    lock(&round->lock);
    p->own = NULL;
    pthread_mutex_unlock(&round->lock);
    int result = leat_scope_close(own);
    CHECK(result == 0 || (result == -ETIMEDOUT && round->event == DEADLINE));
    return 0;
}

/* ---- blocks ---- */

static int block_step(leat_block *b)
{
    struct party *p = (struct party *)((char *)b - offsetof(struct party, block));
    leat_chan *ch = p->round->ch[0];
    LEAT_BEGIN(b);
    while (prepare(p)) {
        switch (p->operation) {
        case SELECT: LEAT_AWAIT_SELECT(b, p->cases, CHANNELS, LEAT_NEVER, NULL); break;
        case SELECT_UNTIL: LEAT_AWAIT_SELECT(b, p->cases, CHANNELS, soon(p), &p->alarm); break;
        case UNTIL:
            if (p->sends)
                LEAT_AWAIT_SEND_UNTIL(b, ch, p->bytes, soon(p), &p->alarm);
            else
                LEAT_AWAIT_RECV_UNTIL(b, ch, p->bytes, soon(p), &p->alarm);
            break;
        case PLAIN:
            if (p->sends)
                LEAT_AWAIT_SEND(b, ch, p->bytes);
            else
                LEAT_AWAIT_RECV(b, ch, p->bytes);
            break;
        default:
            b->status = p->operation == TRY ? try_now(p) : many(p, LEAT_NOW);
            if (b->status == -EAGAIN) {
                LEAT_AWAIT_YIELD(b);
                b->status = -EAGAIN;
            }
        }
        if (!outcome(p, b->status))
            break;
    }
    leave(p);
    LEAT_END(b);
}

/* ---- callbacks ---- */

static void drive(struct party *p);

static void called(leat_op *op, int status)
{
    struct party *p = (struct party *)((char *)op - offsetof(struct party, op));
    if (p->fickle)
        pthread_mutex_lock(&p->lock);
    CHECK(atomic_exchange(&p->in_flight, false));
    if (p->fickle)
        pthread_mutex_unlock(&p->lock);
    if (p->ticks) {
        CHECK(status == -EPIPE || status == -ECANCELED);
        p->ticks = false;
        if (status == -EPIPE)
            status = NOT_NOW;
    }
    if (status == NOT_NOW || outcome(p, status))
        drive(p);
    else
        leave(p);
}

static void start_operation(struct party *p)
{
    leat_chan *ch = p->round->ch[0];
    if (p->fickle)
        pthread_mutex_lock(&p->lock);
    CHECK(!atomic_exchange(&p->in_flight, true));
    int error = p->ticks         ? leat_recv_then(&p->op, p->round->tick, NULL, called)
                : uses_select(p) ? leat_select_then(&p->op, p->cases, CHANNELS, called)
                : p->sends       ? leat_send_then(&p->op, ch, p->bytes, called)
                                 : leat_recv_then(&p->op, ch, p->bytes, called);
    CHECK_IS(0, error);
    if (p->fickle)
        pthread_mutex_unlock(&p->lock);
}

static void drive(struct party *p)
{
    bool goes_on = prepare(p);
    if (goes_on && (p->operation == TRY || p->operation == MANY)) {
        int status = p->operation == TRY ? try_now(p) : many(p, LEAT_NOW);
        goes_on = outcome(p, status);
        p->ticks = true; /* at the latest for the next item */
    }
    /* An operation that may be withdrawn has a function that locks, so it must not run at once. */
    unsigned on_worker = p->fickle || p->ticks || below(&p->chance, 3) == 0;
    p->op = (leat_op)LEAT_OP(p->round->scope, on_worker ? LEAT_ON_WORKER : 0);
    if (goes_on)
        start_operation(p);
    else
        leave(p);
}

static void withdraw(struct party *p)
{
    pthread_mutex_lock(&p->lock);
    int error = atomic_load(&p->in_flight) ? leat_withdraw(&p->op) : -EALREADY;
    CHECK(error == 0 || error == -EALREADY);
    if (!error)
        atomic_store(&p->in_flight, false);
    pthread_mutex_unlock(&p->lock);
    if (!error && outcome(p, -ETIMEDOUT))
        drive(p);
}

static int withdraw_some(void *arg)
{
    struct round *round = arg;
    while (atomic_load(&round->fickle)) {
        for (unsigned i = 0; i < round->senders + round->receivers; i++)
            if (round->parties[i].fickle)
                withdraw(&round->parties[i]);
        if (leat_sleep(20 * LEAT_US))
            leat_yield();
    }
    return 0;
}

/* ---- events ---- */

static void cancel_all(struct round *round)
{
    lock(&round->lock);
    atomic_store(&round->thrown, true);
    for (unsigned i = 0; i < round->senders + round->receivers; i++)
        if (round->parties[i].own)
            CHECK_IS(0, leat_scope_cancel(round->parties[i].own));
    pthread_mutex_unlock(&round->lock);
    CHECK_IS(0, leat_scope_cancel(round->scope));
}

static int throw_event(void *arg)
{
    struct round *round = arg;
    if (round->delay)
        leat_sleep(round->delay);
    switch (round->event) {
    case CLOSE:
        for (unsigned c = 0; c < CHANNELS; c++)
            CHECK_IS(0, leat_close(round->ch[c]));
        break;
    case CANCEL: cancel_all(round); break;
    default:;
    }
    return 0;
}

/* ---- a round ---- */

static void start_party(struct party *p)
{
    leat_scope *scope = p->round->scope;
    switch (p->kind) {
    case A_TASK: CHECK_IS(0, leat_go(scope, straight, p)); break;
    case A_BLOCK: CHECK_IS(0, leat_go_block(scope, &p->block, block_step)); break;
    case A_CALLBACK: drive(p); break;
    default:
        if (!p->foreign)
            CHECK_IS(0, leat_go_blocking(scope, straight, p));
    }
}

static int start_parties(void *arg)
{
    struct round *round = arg;
    for (unsigned i = 0; i < round->senders + round->receivers; i++)
        start_party(&round->parties[i]);
    return 0;
}

static leat_chan *make_channel(struct round *round)
{
    static const struct {
        leat_buffer buffer;
        size_t capacity;
    } made[BUFFER_KINDS] = {
        { LEAT_FIXED, 0 },    { LEAT_FIXED, 1 },   { LEAT_FIXED, 3 },
        { LEAT_DROPPING, 2 }, { LEAT_SLIDING, 2 }, { LEAT_PROMISE, 0 },
    };
    leat_chan *ch =
        leat_chan_open(round->scope, &(leat_chan_spec){ .item_size = round->item_size,
                                                        .capacity = made[round->buffer].capacity,
                                                        .buffer = made[round->buffer].buffer,
                                                        .drop = drop });
    CHECK(ch);
    CHECK_IS(0, leat_chan_senders(ch, round->senders));
    return ch;
}

static void make_party(struct round *round, unsigned index, enum party_kind kind,
                       enum operation operation)
{
    struct party *p = &round->parties[index];
    p->round = round;
    p->index = index;
    p->sends = index < round->senders;
    p->kind = kind;
    p->operation = operation;
    p->chance = round->chance + index;
    p->foreign = kind == A_THREAD && below(&p->chance, 2);
    p->fickle = kind == A_CALLBACK && (operation == UNTIL || operation == SELECT_UNTIL);
    p->records = round->records[index];
    p->items = 1 + below(&p->chance, MOST_ITEMS);
    p->limit = round->buffer == PROMISE ? 1 + below(&p->chance, 5) : 0;
    pthread_mutex_init(&p->lock, NULL);
    atomic_fetch_add(&round->fickle, p->fickle);
    for (unsigned i = 0; i < MOST_ITEMS; i++) {
        p->records[i].sender = index;
        p->records[i].number = i;
    }
}

static bool only_tries(enum party_kind kind, enum operation operation)
{
    return operation == TRY || (operation == MANY && (kind == A_BLOCK || kind == A_CALLBACK));
}

static void make_round(struct round *round, uint64_t seed, unsigned workers)
{
    /* A prime, so that neighbouring seeds differ in everything and all combinations come up. */
    uint64_t nth = seed * UINT64_C(1000003);
    unsigned choice[6];
    const unsigned choices[6] = { PARTY_KINDS, PARTY_KINDS, BUFFER_KINDS,
                                  OPERATIONS,  OPERATIONS,  EVENTS };
    for (unsigned i = 0; i < 6; nth /= choices[i++])
        choice[i] = (unsigned)(nth % choices[i]);
    memset(round, 0, sizeof *round);
    round->chance = seed;
    lt_rng_below(&round->chance, 2);
    uint64_t *chance = &round->chance;
    round->buffer = choice[2];
    round->event = choice[5];
    round->item_size = 8 + 8 * below(chance, 3);
    round->delay = below(chance, 4) ? (int64_t)below(chance, 150) * LEAT_US : 0;
    round->senders = 1 + below(chance, MOST_PARTIES / 2);
    round->receivers = 1 + below(chance, MOST_PARTIES / 2);
    round->started_by_task = below(chance, 2);
    round->event_by_task = below(chance, 2);
    round->withdrawn_by_task = below(chance, 2);
    pthread_mutex_init(&round->lock, NULL);
    /* If both sides only try, without a buffer, they may never meet. */
    if (round->buffer == NO_BUFFER && round->event == NOTHING && only_tries(choice[0], choice[3]) &&
        only_tries(choice[1], choice[4]))
        choice[3] = PLAIN;
    for (unsigned i = 0; i < round->senders + round->receivers; i++)
        make_party(round, i, choice[i >= round->senders], choice[3 + (i >= round->senders)]);
    snprintf(check_note, sizeof check_note, "LEAT_SEED=%llu: %s %s > %s %s, %s, %s, %u workers",
             (unsigned long long)seed, kind_names[choice[0]], operation_names[choice[3]],
             kind_names[choice[1]], operation_names[choice[4]], buffer_names[round->buffer],
             event_names[round->event], workers);
}

static void check_records(struct round *round)
{
    unsigned kept = 0;
    for (unsigned s = 0; s < round->senders; s++) {
        for (unsigned i = 0; i < MOST_ITEMS; i++) {
            struct record *record = &round->records[s][i];
            unsigned sent = record->sent, received = record->received, dropped = record->dropped;
            CHECK(sent <= 1);
            if (round->buffer == PROMISE) {
                CHECK_IS(sent, dropped);
                CHECK(sent || !received);
                kept += received > 0;
            } else {
                CHECK_IS(sent, received + dropped);
            }
        }
    }
    CHECK(kept <= CHANNELS);
}

static void start_or(bool by_task, struct round *round, leat_fn *fn)
{
    if (by_task)
        CHECK_IS(0, leat_go(round->scope, fn, round));
    else
        fn(round);
}

static void run_round(struct round *round)
{
    round->deadline = round->event == DEADLINE ? leat_after(1 + round->delay) : LEAT_NEVER;
    round->scope = leat_scope_open(round->deadline);
    CHECK(round->scope);
    round->tick = leat_chan_of(round->scope, int, 0);
    CHECK_IS(0, leat_close(round->tick));
    for (unsigned c = 0; c < CHANNELS; c++)
        round->ch[c] = make_channel(round);
    unsigned parties = round->senders + round->receivers;
    for (unsigned i = 0; i < parties; i++)
        if (round->parties[i].foreign)
            foreign_start(&round->parties[i].thread, foreign, &round->parties[i]);
    start_or(round->started_by_task, round, start_parties);
    start_or(round->event_by_task, round, throw_event);
    if (atomic_load(&round->fickle))
        start_or(round->withdrawn_by_task, round, withdraw_some);
    for (unsigned i = 0; i < parties; i++)
        if (round->parties[i].foreign)
            CHECK_IS(0, foreign_join(&round->parties[i].thread));
    int result = leat_scope_close(round->scope);
    CHECK(result == 0 || (result == -ETIMEDOUT && round->event == DEADLINE));
    for (unsigned i = 0; i < parties; i++)
        pthread_mutex_destroy(&round->parties[i].lock);
    pthread_mutex_destroy(&round->lock);
    check_records(round);
}

/* ---- rounds ---- */

static _Atomic unsigned rounds_done;
static _Atomic bool all_done;

/* Fails when a round hangs. */
static void *watch(void *arg)
{
    (void)arg;
    unsigned before = 0, still = 0;
    while (!atomic_load(&all_done)) {
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        unsigned now = atomic_load(&rounds_done);
        still = now == before ? still + 1 : 0;
        before = now;
        if (still > 20 * 30)
            check_failed(__FILE__, __LINE__, "a round has not ended for half a minute");
    }
    return NULL;
}

/* The program's own thread runs the rounds; it is not one of their parties. */
static void rounds_on(unsigned workers)
{
    static struct round round;
    uint64_t seed = seed_of_test();
    const char *text = getenv("LEAT_ROUNDS");
    int64_t rounds = text ? atoll(text) : 0, end = stress_end(3);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
    pthread_t watcher;
    atomic_store(&all_done, false);
    CHECK_IS(0, pthread_create(&watcher, NULL, watch, NULL));
    int64_t done = 0;
    while (rounds ? done < rounds : leat_now() < end) {
        make_round(&round, seed, workers);
        run_round(&round);
        atomic_fetch_add(&rounds_done, 1);
        done++;
        seed += getenv("LEAT_SEED") == NULL;
    }
    atomic_store(&all_done, true);
    pthread_join(watcher, NULL);
    CHECK_IS(0, leat_stop());
    print_message("%lld rounds\n", (long long)done);
}

static int round_by_a_thread(void *arg)
{
    struct round *round = arg;
    make_round(round, seed_of_test() >> 16, 1);
    run_round(round);
    return 0;
}

static int round_in_sim(void *arg)
{
    (void)arg;
    static struct round round;
    return leat_blocking(round_by_a_thread, &round);
}

static void rounds_on_1(void **state)
{
    (void)state;
    if (IN_SIM)
        run_on(1, round_in_sim);
    else
        rounds_on(1);
}

static void rounds_on_2(void **state)
{
    (void)state;
    if (IN_SIM)
        run_on(2, round_in_sim);
    else
        rounds_on(2);
}

static void rounds_on_4(void **state)
{
    (void)state;
    if (IN_SIM)
        run_on(4, round_in_sim);
    else
        rounds_on(4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_on_1),
        cmocka_unit_test(rounds_on_2),
        cmocka_unit_test(rounds_on_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
