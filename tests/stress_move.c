/* stress_move.c: tasks move at nearly every wait, with every item counted.
 *
 * On each worker a pinned task computes now and then, so that parties that are ready after it go
 * elsewhere. Meanwhile tasks, blocks and timers send and receive, with deadlines, in selects, and
 * in scopes that end at any moment: by a deadline, their opener, another party or a thread. */
#define _GNU_SOURCE /* gettid */
#include "support.h"

#include <unistd.h>

enum {
    CHANNELS = 4,
    TASKS = 10,
    BLOCKS = 8,
    TIMERS = 4,
    TARGETS = 16,
    IDS = 1 << 20,
    MADE = 1,
    GONE = 2
};

enum event {
    SENT,
    RECEIVED,
    DROPPED,
    TIMED_OUT,
    CANCELED,
    SCOPES,
    LATE_SCOPES,
    ALARMS,
    RINGS,
    STOPPED,
    EVENTS
};
static const char *const event_names[EVENTS] = { "sent",     "received", "dropped",     "timed out",
                                                 "canceled", "scopes",   "late scopes", "alarms",
                                                 "rings",    "stopped" };
static _Atomic uint64_t events[EVENTS];
static _Atomic uint8_t fate[IDS];
static _Atomic uint32_t next_id;
static _Atomic uint64_t changes; /* waits after which a task was in another thread */
static _Atomic bool over;

static void happened(enum event event)
{
    atomic_fetch_add_explicit(&events[event], 1, memory_order_relaxed);
}

static bool make_item(uint32_t *id)
{
    *id = atomic_fetch_add(&next_id, 1);
    return *id < IDS;
}

static void was_sent(uint32_t id)
{
    CHECK_IS(0, atomic_fetch_or(&fate[id], MADE) & MADE);
    happened(SENT);
}

static void is_gone(uint32_t id, enum event how)
{
    CHECK(id < IDS);
    CHECK_IS(0, atomic_fetch_or(&fate[id], GONE) & GONE);
    happened(how);
}

static void drop(void *item)
{
    is_gone(*(uint32_t *)item, DROPPED);
}

static void note(int result)
{
    switch (result) {
    case 0:
    case -EAGAIN:
    case -EPIPE: break;
    case -ETIMEDOUT: happened(TIMED_OUT); break;
    case -ECANCELED: happened(CANCELED); break;
    default: check_failed(__FILE__, __LINE__, "an operation returned %d", result);
    }
}

/* ---- an epoch ---- */

/* A scope that others may cancel. The lock is needed since its opener may close it at any time. */
struct target {
    pthread_mutex_t lock;
    leat_scope *scope;
};

struct epoch {
    leat_chan *ch[CHANNELS];
    struct target targets[TARGETS];
    leat_mutex *mutex;
};

static struct epoch epoch;

static void cancel_some(uint64_t *chance)
{
    struct target *t = &epoch.targets[below(chance, TARGETS)];
    pthread_mutex_lock(&t->lock); /* no thread waits while holding it */
    if (t->scope)
        CHECK_IS(0, leat_scope_cancel(t->scope));
    pthread_mutex_unlock(&t->lock);
}

static void set_target(unsigned n, leat_scope *scope)
{
    struct target *t = &epoch.targets[n % TARGETS];
    pthread_mutex_lock(&t->lock);
    t->scope = scope;
    pthread_mutex_unlock(&t->lock);
}

static int cancel_from_thread(void *arg)
{
    uint64_t chance = (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&over)) {
        cancel_some(&chance);
        nap();
    }
    return 0;
}

/* Stays on its worker, and computes now and then. */
static int stir(void *arg)
{
    uint64_t chance = (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&over) && !leat_cancelled(NULL)) {
        pid_t tid = gettid();
        for (int64_t end = leat_after(below(&chance, 200) * LEAT_US); leat_now() < end;)
            ;
        note(leat_sleep(below(&chance, 300) * LEAT_US));
        CHECK_IS(tid, gettid());
    }
    return 0;
}

/* ---- tasks ---- */

struct actor {
    uint64_t chance;
    unsigned number, depth;
};

static int64_t some_deadline(uint64_t *chance)
{
    switch (below(chance, 6)) {
    case 0: return LEAT_NOW;
    case 1: return 1; /* long ago */
    case 2: return leat_after(below(chance, 2000) * LEAT_US);
    default: return leat_after(below(chance, 200) * LEAT_US);
    }
}

static void send_one(uint64_t *chance, leat_chan *ch)
{
    uint32_t id;
    if (!make_item(&id))
        return;
    int result = leat_send_until(ch, &id, some_deadline(chance));
    if (result == 0)
        was_sent(id);
    note(result);
}

static void receive_one(uint64_t *chance, leat_chan *ch)
{
    uint32_t id = 0;
    int result = leat_recv_until(ch, &id, some_deadline(chance));
    if (result == 0)
        is_gone(id, RECEIVED);
    note(result);
}

static void select_one(uint64_t *chance)
{
    uint32_t in = 0, out;
    if (!make_item(&out))
        return;
    leat_case cases[] = { LEAT_RECV(epoch.ch[below(chance, CHANNELS)], &in),
                          LEAT_SEND(epoch.ch[below(chance, CHANNELS)], &out),
                          LEAT_RECV(epoch.ch[below(chance, CHANNELS)], &in) };
    int n = leat_select(cases, 3, some_deadline(chance));
    if (n < 0) {
        note(n);
        return;
    }
    note(cases[n].status);
    if (cases[n].status)
        return;
    if (n == 1)
        was_sent(out);
    else
        is_gone(in, RECEIVED);
}

static int act(void *arg);

static void open_one(struct actor *a)
{
    if (a->depth >= 2)
        return;
    struct actor child = { lt_rng_next(&a->chance), a->number * 3 + 1, a->depth + 1 };
    bool late = below(&a->chance, 3) > 0;
    leat_scope *s = leat_scope_open(late ? some_deadline(&a->chance) : LEAT_NEVER);
    CHECK(s);
    happened(SCOPES);
    set_target(child.number, s);
    if (below(&a->chance, 2))
        CHECK_IS(0, leat_go(s, act, &child));
    for (unsigned i = below(&a->chance, 4); i-- > 0;)
        below(&a->chance, 2) ? receive_one(&a->chance, epoch.ch[below(&a->chance, CHANNELS)])
                             : (void)leat_yield();
    if (below(&a->chance, 2))
        CHECK_IS(0, leat_scope_cancel(s));
    set_target(child.number, NULL);
    int why = leat_scope_close(s);
    CHECK(why == 0 || why == -ECANCELED || (why == -ETIMEDOUT && late));
    if (why == -ETIMEDOUT)
        happened(LATE_SCOPES);
}

static void hold_one(struct actor *a)
{
    int result = leat_mutex_lock_until(epoch.mutex, some_deadline(&a->chance));
    note(result);
    if (result)
        return;
    leat_yield();
    CHECK_IS(0, leat_mutex_unlock(epoch.mutex));
}

static void act_once(struct actor *a)
{
    leat_chan *ch = epoch.ch[below(&a->chance, CHANNELS)];
    switch (below(&a->chance, 12)) {
    case 0: open_one(a); break;
    case 1: select_one(&a->chance); break;
    case 2: note(leat_sleep(below(&a->chance, 100) * LEAT_US)); break;
    case 3: CHECK_IS(0, leat_yield()); break;
    case 4: hold_one(a); break;
    case 5: cancel_some(&a->chance); break;
    case 6: select_one(&a->chance); break;
    case 7:
    case 8:
    case 9: send_one(&a->chance, ch); break;
    default: receive_one(&a->chance, ch);
    }
}

static int act(void *arg)
{
    struct actor a = *(struct actor *)arg;
    int value = 1000 + (int)a.number;
    errno = value;
    for (int i = 0; !atomic_load(&over) && (a.depth == 0 || i < 10); i++) {
        pid_t before = gettid();
        act_once(&a);
        if (gettid() != before)
            atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
        CHECK_IS(value, errno);
        if (leat_cancelled(NULL))
            leat_yield();
        if (a.depth == 0 && leat_cancelled(NULL))
            break;
    }
    return 0;
}

/* ---- blocks and timers ---- */

struct walker {
    leat_block block;
    leat_alarm alarm;
    uint64_t chance;
    uint32_t in, out;
};

static int walk(leat_block *b)
{
    struct walker *me = (struct walker *)b;
    LEAT_BEGIN(b);
    while (!atomic_load(&over) && b->status != -ECANCELED) {
        LEAT_AWAIT_SLEEP(b, below(&me->chance, 150) * LEAT_US, &me->alarm);
        happened(ALARMS);
        if (make_item(&me->out)) {
            LEAT_AWAIT_SEND_UNTIL(b, epoch.ch[below(&me->chance, CHANNELS)], &me->out,
                                  some_deadline(&me->chance), &me->alarm);
            if (b->status == 0)
                was_sent(me->out);
            note(b->status);
        }
        LEAT_AWAIT_YIELD(b);
        LEAT_AWAIT_RECV_UNTIL(b, epoch.ch[below(&me->chance, CHANNELS)], &me->in,
                              some_deadline(&me->chance), &me->alarm);
        if (b->status == 0)
            is_gone(me->in, RECEIVED);
        note(b->status);
    }
    LEAT_END(b);
}

struct ringer {
    leat_timer timer;
    uint64_t chance;
};

/* Sends an item if there is room, and sets itself again. */
static void ring(leat_timer *timer, int status)
{
    struct ringer *me = LT_CONTAINER(timer, struct ringer, timer);
    uint32_t id;
    if (status || atomic_load(&over))
        return;
    happened(RINGS);
    if (make_item(&id) && leat_try_send(epoch.ch[below(&me->chance, CHANNELS)], &id) == 0)
        was_sent(id);
    CHECK_IS(0, leat_after_func(timer, below(&me->chance, 300) * LEAT_US, ring));
}

static void never_ring(leat_timer *timer, int status)
{
    (void)timer;
    CHECK_IS(-ECANCELED, status);
}

/* Stops timers in time, wherever the task is by then. */
static int set_and_stop(void *arg)
{
    uint64_t chance = (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&over) && !leat_cancelled(NULL)) {
        leat_timer timer = LEAT_TIMER(NULL);
        CHECK_IS(0, leat_after_func(&timer, 600 * LEAT_S, never_ring));
        below(&chance, 2) ? (void)leat_yield() : note(leat_sleep(below(&chance, 50) * LEAT_US));
        CHECK_IS(0, leat_timer_stop(&timer));
        happened(STOPPED);
    }
    return 0;
}

static int live_an_epoch(void *arg)
{
    static struct walker walkers[BLOCKS];
    static struct ringer ringers[TIMERS];
    static struct actor actors[TASKS];
    uint64_t *chance = arg;
    struct foreign foreign;
    atomic_store(&over, false);
    unsigned end = below(chance, 3);
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    leat_scope *s = leat_scope_open(end == 0 ? leat_after(20 * LEAT_MS) : LEAT_NEVER);
    for (int i = 0; i < CHANNELS; i++) {
        epoch.ch[i] = leat_chan_open(outer, &(leat_chan_spec){ .item_size = sizeof(uint32_t),
                                                               .capacity = (size_t)i / 2 * 3,
                                                               .drop = drop });
        CHECK(epoch.ch[i]);
    }
    epoch.mutex = leat_mutex_open(outer);
    for (unsigned i = 0; i < leat_workers(); i++)
        CHECK_IS(0, leat_go_pinned(s, stir, (void *)(uintptr_t)lt_rng_next(chance)));
    for (unsigned i = 0; i < TASKS; i++) {
        actors[i] = (struct actor){ .chance = lt_rng_next(chance), .number = i };
        CHECK_IS(0, leat_go(s, act, &actors[i]));
    }
    CHECK_IS(0, leat_go(s, set_and_stop, (void *)(uintptr_t)lt_rng_next(chance)));
    for (int i = 0; i < BLOCKS; i++) {
        walkers[i].chance = lt_rng_next(chance);
        CHECK_IS(0, leat_go_block(s, &walkers[i].block, walk));
    }
    for (int i = 0; i < TIMERS; i++) {
        ringers[i].chance = lt_rng_next(chance);
        CHECK_IS(0, leat_timer_init(&ringers[i].timer, s));
        CHECK_IS(0, leat_after_func(&ringers[i].timer, 0, ring));
    }
    foreign_start(&foreign, cancel_from_thread, (void *)(uintptr_t)lt_rng_next(chance));
    leat_shield(); /* the scope may end first */
    leat_sleep((10 + below(chance, 30)) * LEAT_MS);
    leat_unshield();
    if (end == 1)
        CHECK_IS(0, leat_scope_cancel(s));
    atomic_store(&over, true);
    int why = leat_scope_close(s);
    CHECK(why == 0 || (end == 0 && why == -ETIMEDOUT));
    CHECK_IS(0, foreign_join(&foreign));
    CHECK_IS(0, leat_scope_close(outer));

    uint32_t ids = next_id < IDS ? next_id : IDS;
    for (uint32_t id = 0; id < ids; id++) {
        unsigned was = atomic_exchange(&fate[id], 0);
        CHECK(was == 0 || was == (MADE | GONE));
    }
    CHECK_IS(events[SENT], events[RECEIVED] + events[DROPPED]);
    atomic_store(&next_id, 0);
    return 0;
}

/* Fails when an epoch hangs. */
static _Atomic uint64_t epochs;

static void *watch(void *arg)
{
    (void)arg;
    uint64_t seen = 0;
    for (int quiet = 0;; quiet = epochs == seen ? quiet + 1 : 0, seen = epochs) {
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        if (quiet > 60)
            check_failed(__FILE__, __LINE__, "epoch %llu hangs", (unsigned long long)seen);
    }
    return NULL;
}

static void moves_everything(void **state)
{
    (void)state;
    int64_t end = stress_end(1);
    uint64_t chance = seed_of_test(), moved = 0;
    fprintf(stderr, "  %s\n", check_note);
    for (int i = 0; i < TARGETS; i++)
        CHECK_IS(0, pthread_mutex_init(&epoch.targets[i].lock, NULL));
    pthread_t watcher;
    CHECK_IS(0, pthread_create(&watcher, NULL, watch, NULL));
    CHECK_IS(0, pthread_detach(watcher));
    while (leat_now() < end) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 + below(&chance, 3) }));
        for (int i = 0; i < 10 && leat_now() < end; i++, epochs++)
            CHECK_IS(0, live_an_epoch(&chance));
        leat_counts counts;
        CHECK_IS(0, leat_count(&counts));
        moved += counts.moved;
        CHECK_IS(0, leat_stop());
    }
    fprintf(stderr, "  %llu epochs: moved %llu, changes %llu", (unsigned long long)epochs,
            (unsigned long long)moved, (unsigned long long)changes);
    for (int i = 0; i < EVENTS; i++)
        fprintf(stderr, ", %s %llu", event_names[i], (unsigned long long)events[i]);
    fprintf(stderr, "\n");
    CHECK(moved > 0);
    for (int i = 0; i < EVENTS; i++)
        CHECK(events[i] > 0 || events[SENT] < 100000); /* a slow machine may miss the rarest */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(moves_everything) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
