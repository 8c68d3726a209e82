/* test_move_held.c: while a task or a function computes for long on a worker, other workers serve
 * the parties that wait there: they see to its timers and its wake-ups.
 *
 * The host computes until all its guests are served: this shows that they are, not when. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

/* ---- the guests: parties that wait at the worker that is held up ---- */

struct guest {
    struct held *held;
    leat_timer timer;
    leat_block block;
    leat_alarm alarm;
    leat_op op;
    leat_chan *ch; /* where it waits; threads send to it or close it */
    leat_scope *_Atomic scope;
    struct foreign foreign;
    int item;
};

/* A guest counts as arrived when it is about to wait, and as served when the wait is over. */
enum { MOST_GUESTS = 32 };

struct held {
    leat_scope *scope;
    _Atomic int arrived, served;
    _Atomic bool computes;
    int guests;
    struct guest guest[MOST_GUESTS];
};

static void arrive(struct guest *g)
{
    atomic_fetch_add(&g->held->arrived, 1);
}

static int serve(struct guest *g)
{
    atomic_fetch_add(&g->held->served, 1);
    return 0;
}

/* Most of this time passes while the worker is held up; no check depends on that. */
static int64_t soon(void)
{
    return 2 * LEAT_MS;
}

static int sleep_soon(void *arg)
{
    arrive(arg);
    CHECK_IS(0, leat_sleep(soon()));
    return serve(arg);
}

static int wait_for_deadline(void *arg)
{
    struct guest *g = arg;
    leat_case cases[] = { LEAT_RECV(g->ch, &g->item), LEAT_RECV(NULL, NULL) };
    arrive(g);
    CHECK_IS(-ETIMEDOUT, leat_select(cases, 2, leat_after(soon())));
    return serve(g);
}

static int wait_in_scope(void *arg)
{
    struct guest *g = arg;
    leat_scope *s = leat_scope_open(leat_after(soon()));
    arrive(g);
    CHECK_IS(-ECANCELED, leat_recv(g->ch, &g->item));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    return serve(g);
}

static int wait_to_be_cancelled(void *arg)
{
    struct guest *g = arg;
    arrive(g);
    CHECK_IS(-ECANCELED, leat_recv(g->ch, &g->item));
    return serve(g);
}

static int open_for_others(void *arg)
{
    leat_scope *s = leat_scope_open(leat_after(soon()));
    CHECK_IS(0, leat_go(s, wait_to_be_cancelled, arg));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    return 0;
}

static int wait_for_timeout(void *arg)
{
    struct guest *g = arg;
    leat_chan *timeout = leat_timeout(soon());
    arrive(g);
    CHECK_IS(-EPIPE, leat_recv(timeout, NULL));
    CHECK_IS(0, leat_chan_unref(timeout));
    return serve(g);
}

static int wait_for_ticks(void *arg)
{
    struct guest *g = arg;
    int64_t due, before = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ticks = leat_tick(s, soon() / 4);
    arrive(g);
    for (int i = 0; i < 5; i++, before = due) {
        CHECK_IS(0, leat_recv(ticks, &due));
        CHECK(due > before && leat_now() >= due);
    }
    CHECK_IS(0, leat_scope_close(s));
    return serve(g);
}

static int wait_as_block(leat_block *b)
{
    struct guest *g = LT_CONTAINER(b, struct guest, block);
    LEAT_BEGIN(b);
    arrive(g);
    LEAT_AWAIT_SLEEP(b, soon(), &g->alarm);
    CHECK_IS(0, b->status);
    LEAT_AWAIT_RECV_UNTIL(b, g->ch, &g->item, leat_after(soon()), &g->alarm);
    CHECK_IS(-ETIMEDOUT, b->status);
    serve(g);
    LEAT_END(b);
}

static int go_block(void *arg)
{
    struct guest *g = arg;
    return leat_go_block(g->held->scope, &g->block, wait_as_block);
}

static void timer_again(leat_timer *timer, int status)
{
    struct guest *g = LT_CONTAINER(timer, struct guest, timer);
    CHECK_IS(0, status);
    if (++g->item < 3)
        CHECK_IS(0, leat_after_func(timer, soon() / 4, timer_again));
    else
        serve(g);
}

static int set_timer(void *arg)
{
    struct guest *g = arg;
    arrive(g);
    CHECK_IS(0, leat_timer_init(&g->timer, g->held->scope));
    return leat_after_func(&g->timer, soon(), timer_again);
}

/* Threads act only when the worker computes. */
static void while_it_computes(struct guest *g)
{
    WAIT_UNTIL(atomic_load(&g->held->computes));
}

static int send_one(void *arg)
{
    struct guest *g = arg;
    while_it_computes(g);
    CHECK_IS(0, leat_send(g->ch, &(int){ 7 }));
    return 0;
}

static int wait_for_thread(void *arg)
{
    struct guest *g = arg;
    arrive(g);
    CHECK_IS(0, leat_recv(g->ch, &g->item));
    CHECK_IS(7, g->item);
    return serve(g);
}

static void called(leat_op *op, int status)
{
    struct guest *g = LT_CONTAINER(op, struct guest, op);
    CHECK_IS(0, status);
    CHECK_IS(7, g->item);
    serve(g);
}

static int receive_then(void *arg)
{
    struct guest *g = arg;
    g->op = (leat_op)LEAT_OP(g->held->scope, 0);
    CHECK_IS(0, leat_recv_then(&g->op, g->ch, &g->item, called));
    arrive(g);
    return 0;
}

static int cancel_one(void *arg)
{
    struct guest *g = arg;
    while_it_computes(g);
    WAIT_UNTIL(atomic_load(&g->scope));
    return leat_scope_cancel(atomic_load(&g->scope));
}

static int wait_for_cancel(void *arg)
{
    struct guest *g = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&g->scope, s);
    arrive(g);
    CHECK_IS(-ECANCELED, leat_recv(g->ch, &g->item));
    serve(g);
    foreign_join(&g->foreign); /* the thread uses the scope */
    return leat_scope_close(s);
}

/* A scope of a thread. Some worker sees to its deadline. */
static int open_in_thread(void *arg)
{
    struct guest *g = arg;
    while_it_computes(g);
    leat_scope *s = leat_scope_open(leat_after(soon()));
    CHECK_IS(0, leat_go(s, wait_to_be_cancelled, g));
    CHECK_IS(-ECANCELED, leat_recv(g->ch, &g->item));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    return 0;
}

static int arrive_only(void *arg)
{
    arrive(arg);
    return 0;
}

static const struct kind_of_guest {
    const char *name;
    leat_fn *task, *thread;
} kinds[] = {
    { "a task that sleeps", sleep_soon, NULL },
    { "a wait with a deadline", wait_for_deadline, NULL },
    { "the opener of a scope with a deadline", wait_in_scope, NULL },
    { "a task of a scope with a deadline", open_for_others, NULL },
    { "a timeout", wait_for_timeout, NULL },
    { "ticks", wait_for_ticks, NULL },
    { "a block with an alarm", go_block, NULL },
    { "a timer", set_timer, NULL },
    { "a task to which a thread sends", wait_for_thread, send_one },
    { "a callback for what a thread sends", receive_then, send_one },
    { "a task that a thread cancels", wait_for_cancel, cancel_one },
    { "a scope of a thread, with a deadline", arrive_only, open_in_thread },
};
enum { KINDS_OF_GUESTS = sizeof kinds / sizeof *kinds };

static void invite(struct held *held, const struct kind_of_guest *kind)
{
    CHECK(held->guests < MOST_GUESTS);
    struct guest *g = &held->guest[held->guests++];
    *g = (struct guest){ .held = held, .ch = leat_chan_of(held->scope, int, 0) };
    if (kind->thread)
        foreign_start(&g->foreign, kind->thread, g);
    CHECK_IS(0, leat_go(held->scope, kind->task, g));
}

/* ---- the hosts: what computes ---- */

static void compute(struct held *held)
{
    atomic_store(&held->computes, true);
    COMPUTE_UNTIL(atomic_load(&held->served) == held->guests);
}

static void compute_in_timer(leat_timer *timer, int status)
{
    CHECK_IS(0, status);
    compute(LT_CONTAINER(timer, struct guest, timer)->held);
}

static void compute_in_callback(leat_op *op, int status)
{
    CHECK_IS(0, status);
    compute(LT_CONTAINER(op, struct guest, op)->held);
}

static int compute_in_block(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_YIELD(b);
    compute(LT_CONTAINER(b, struct guest, block)->held);
    LEAT_END(b);
}

enum host { IN_TASK, IN_TIMER, IN_CALLBACK, IN_BLOCK, HOSTS };

/* Computes on the guests' worker, or starts a party there that does. */
static void hold_up(struct held *held, enum host host)
{
    struct guest *g = &held->guest[MOST_GUESTS - 1];
    g->held = held;
    switch (host) {
    case IN_TASK: compute(held); break;
    case IN_TIMER:
        CHECK_IS(0, leat_timer_init(&g->timer, held->scope));
        CHECK_IS(0, leat_after_func(&g->timer, 0, compute_in_timer));
        break;
    case IN_CALLBACK:
        g->op = (leat_op)LEAT_OP(held->scope, LEAT_ON_WORKER);
        g->ch = leat_chan_of(held->scope, int, 1);
        CHECK_IS(0, leat_send(g->ch, &(int){ 0 }));
        CHECK_IS(0, leat_recv_then(&g->op, g->ch, &g->item, compute_in_callback));
        break;
    default: CHECK_IS(0, leat_go_block(held->scope, &g->block, compute_in_block));
    }
}

static struct held held_up;

struct plan {
    enum host host;
    int kind; /* KINDS_OF_GUESTS: one of each kind */
};

/* A task. Its guests mostly begin on its own worker. */
static int entertain(void *arg)
{
    const struct plan *plan = arg;
    snprintf(check_note, sizeof check_note, "the guest is %s",
             plan->kind < KINDS_OF_GUESTS ? kinds[plan->kind].name : "each of them");
    held_up = (struct held){ .scope = leat_scope_open(LEAT_NEVER) };
    for (int i = 0; i < KINDS_OF_GUESTS; i++)
        if (plan->kind == i || plan->kind == KINDS_OF_GUESTS)
            invite(&held_up, &kinds[i]);
    WAIT_UNTIL(atomic_load(&held_up.arrived) >= held_up.guests);
    hold_up(&held_up, plan->host);
    for (int i = 0; i < held_up.guests; i++)
        if (held_up.guest[i].foreign.fn && held_up.guest[i].foreign.fn != cancel_one)
            CHECK_IS(0, foreign_join(&held_up.guest[i].foreign));
    CHECK_IS(0, leat_scope_close(held_up.scope));
    CHECK_IS(held_up.guests, held_up.served);
    return 0;
}

static int serves_guests_of(enum host host)
{
    for (int round = 0; round < 6 / SCALE + 1; round++)
        for (int kind = 0; kind <= KINDS_OF_GUESTS; kind++) {
            struct plan plan = { host, kind };
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            CHECK_IS(0, leat_go(s, entertain, &plan));
            CHECK_IS(0, leat_scope_close(s));
        }
    return 0;
}

static int serves_after_a_task(void *arg)
{
    (void)arg;
    return serves_guests_of(IN_TASK);
}
ON_MOVING_WORKERS(serves_after_a_task);

static int serves_after_a_timer(void *arg)
{
    (void)arg;
    return serves_guests_of(IN_TIMER);
}
ON_MOVING_WORKERS(serves_after_a_timer);

static int serves_after_a_callback(void *arg)
{
    (void)arg;
    return serves_guests_of(IN_CALLBACK);
}
ON_MOVING_WORKERS(serves_after_a_callback);

static int serves_after_a_block(void *arg)
{
    (void)arg;
    return serves_guests_of(IN_BLOCK);
}
ON_MOVING_WORKERS(serves_after_a_block);

/* ---- while the other workers run tasks that send and receive ---- */

static _Atomic bool quiet;

static int talk(void *ch)
{
    for (int x = 0; !atomic_load(&quiet);)
        if (leat_send(ch, &x) || leat_recv(ch, &x))
            break;
    leat_close(ch);
    return 0;
}

static int yield_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&quiet))
        leat_yield();
    return 0;
}

static int busy_workers_serve_too(void *arg)
{
    (void)arg;
    for (int kind = 0; kind <= KINDS_OF_GUESTS; kind++) {
        struct plan plan = { IN_TASK, kind };
        leat_scope *around = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&quiet, false);
        for (unsigned i = 0; i < 2 * leat_workers(); i++) {
            leat_chan *ch = leat_chan_of(around, int, i % 2);
            CHECK_IS(0, leat_go_spread(around, talk, ch));
            CHECK_IS(0, leat_go_spread(around, talk, ch));
            CHECK_IS(0, leat_go_spread(around, yield_on, NULL));
        }
        CHECK_IS(0, leat_go(s, entertain, &plan));
        CHECK_IS(0, leat_scope_close(s));
        atomic_store(&quiet, true);
        leat_scope_cancel(around);
        CHECK_IS(0, leat_scope_close(around));
    }
    return 0;
}
ON_MOVING_WORKERS(busy_workers_serve_too);

/* ---- a task's own deadline, while it computes ---- */

static int sees_its_own_deadline(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100 / SCALE; i++) {
        leat_scope *s = leat_scope_open(leat_after(LEAT_MS));
        COMPUTE_UNTIL(leat_cancelled(NULL));
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
        if (i % 2)
            move_on();
        else
            leat_sleep(below(&(uint64_t){ (uint64_t)i }, 500) * LEAT_US);
    }
    return 0;
}
ON_MOVING_WORKERS(sees_its_own_deadline);

int main(void)
{
    CHECK_IS(0, leat_timeout_resolution(0));
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(serves_after_a_task),
        TESTS_ON_MOVING_WORKERS(serves_after_a_timer),
        TESTS_ON_MOVING_WORKERS(serves_after_a_callback),
        TESTS_ON_MOVING_WORKERS(serves_after_a_block),
        TESTS_ON_MOVING_WORKERS(busy_workers_serve_too),
        TESTS_ON_MOVING_WORKERS(sees_its_own_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
