/* test_mutex.c: mutexes. */
#include "dumps.h"

#include "flow/mutex.h"

struct room {
    leat_mutex *mutex;
    _Atomic int inside, rounds;
    int64_t count; /* guarded by the mutex */
};

static int go_in(void *arg)
{
    struct room *room = arg;
    uint64_t chance = (uint64_t)atomic_fetch_add(&room->rounds, 1) + 1;
    for (int i = 0; i < 300 / SCALE; i++) {
        int error;
        switch (below(&chance, 3)) {
        case 0: error = leat_mutex_lock(room->mutex); break;
        case 1:
            error = leat_mutex_lock_until(room->mutex, leat_after(below(&chance, 50) * LEAT_US));
            break;
        default: error = leat_mutex_try_lock(room->mutex);
        }
        CHECK(error == 0 || error == -ETIMEDOUT || error == -EAGAIN);
        if (error)
            continue;
        CHECK_IS(0, atomic_fetch_add(&room->inside, 1));
        room->count++;
        if (below(&chance, 2))
            leat_yield();
        CHECK_IS(1, atomic_fetch_sub(&room->inside, 1));
        CHECK_IS(0, leat_mutex_unlock(room->mutex));
    }
    return 0;
}

static int lets_one_in_at_a_time(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct room room = { .mutex = leat_mutex_open(crew.scope) };
    for (int i = 0; i < 9; i++)
        crew_go(&crew, kind_of(i), go_in, &room);
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0 && room.rounds == 9);
    for (int i = 0; i < crew.foreigners; i++)
        WAIT_UNTIL(atomic_load(&crew.foreign[i].ended));
    CHECK_IS(0, leat_mutex_try_lock(room.mutex));
    CHECK(room.count > 0);
    CHECK_IS(0, leat_mutex_unlock(room.mutex));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(lets_one_in_at_a_time);

struct turn {
    leat_mutex *mutex;
    _Atomic int *order;
    int got;
    _Atomic int status;
    int64_t deadline;
};

static int take_turn(void *arg)
{
    struct turn *t = arg;
    int status = leat_mutex_lock_until(t->mutex, t->deadline);
    if (!status) {
        t->got = atomic_fetch_add(t->order, 1);
        CHECK_IS(0, leat_mutex_unlock(t->mutex));
    }
    atomic_store(&t->status, status);
    return 0;
}

static struct turn turn_of(leat_mutex *mutex, _Atomic int *order, int64_t deadline)
{
    return (struct turn){ .mutex = mutex, .order = order, .status = 1, .deadline = deadline };
}

static int serves_in_order(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_mutex *mutex = leat_mutex_open(s);
    _Atomic int order = 0;
    struct turn turns[5];
    CHECK_IS(0, leat_mutex_lock(mutex));
    for (int i = 0; i < 5; i++) {
        turns[i] = turn_of(mutex, &order, LEAT_NEVER);
        CHECK_IS(0, leat_go(s, take_turn, &turns[i]));
        WAIT_UNTIL(receivers_of(mutex->turn) == (unsigned)i + 1);
    }
    CHECK_IS(0, leat_mutex_unlock(mutex));
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0; i < 5; i++) {
        CHECK_IS(0, turns[i].status);
        CHECK_IS(i, turns[i].got);
    }
    return 0;
}
ON_WORKERS(serves_in_order);

static int ends_with_the_deadline_and_the_scope(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    leat_mutex *mutex = leat_mutex_open(outer);
    _Atomic int order = 0;
    CHECK_IS(0, leat_mutex_lock(mutex));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct turn late = turn_of(mutex, &order, leat_after(LEAT_MS)),
                cancelled = turn_of(mutex, &order, LEAT_NEVER),
                now = turn_of(mutex, &order, LEAT_NOW);
    CHECK_IS(0, leat_go(s, take_turn, &late));
    CHECK_IS(0, leat_go(s, take_turn, &cancelled));
    CHECK_IS(0, leat_go(s, take_turn, &now));
    WAIT_UNTIL(atomic_load(&late.status) == -ETIMEDOUT && atomic_load(&now.status) == -EAGAIN);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-ECANCELED, cancelled.status);
    CHECK_IS(0, order);
    CHECK_IS(0, leat_mutex_unlock(mutex));
    CHECK_IS(0, leat_scope_close(outer));
    return 0;
}
ON_WORKERS(ends_with_the_deadline_and_the_scope);

static int try_it(void *arg)
{
    leat_mutex *mutex = arg;
    CHECK_IS(-EPERM, leat_mutex_unlock(mutex));
    CHECK_IS(-EAGAIN, leat_mutex_try_lock(mutex));
    CHECK_IS(-EAGAIN, leat_mutex_lock_until(mutex, LEAT_NOW));
    return 0;
}

struct visitor {
    leat_block block;
    leat_mutex *mutex;
};

static int visit(leat_block *b)
{
    struct visitor *me = (struct visitor *)b;
    LEAT_BEGIN(b);
    CHECK_IS(-EDEADLK, leat_mutex_lock(me->mutex));
    CHECK_IS(-EAGAIN, leat_mutex_try_lock(me->mutex));
    LEAT_END(b);
}

static int knows_who_holds_it(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_mutex *mutex = leat_mutex_open(s);
    CHECK_IS(-EPERM, leat_mutex_unlock(mutex));
    CHECK_IS(0, leat_mutex_lock(mutex));
    CHECK_IS(-EDEADLK, leat_mutex_lock(mutex));
    CHECK_IS(-EDEADLK, leat_mutex_try_lock(mutex));
    CHECK_IS(-EDEADLK, leat_mutex_lock_until(mutex, LEAT_NOW));
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < KINDS; i++)
        crew_go(&crew, kind_of(i), try_it, mutex);
    crew_close(&crew);
    struct visitor visitor = { .mutex = mutex };
    CHECK_IS(0, leat_go_block(s, &visitor.block, visit));
    CHECK_IS(0, leat_block_join(&visitor.block));
    CHECK_IS(0, leat_mutex_unlock(mutex));
    CHECK_IS(-EPERM, leat_mutex_unlock(mutex));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(knows_who_holds_it);

static int shows_its_holder_in_dumps(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_mutex *mutex = leat_mutex_open(s);
    _Atomic int order = 0;
    struct turn turn = turn_of(mutex, &order, LEAT_NEVER);
    CHECK_IS(0, times_in_dump("held by"));
    CHECK_IS(0, leat_mutex_lock(mutex));
    CHECK_IS(0, leat_go(s, take_turn, &turn));
    CHECK_IS(1, times_in_dump(" mutex: 0 of 1 items, held by task "));
    WAIT_UNTIL(times_in_dump(" waits to receive from channel ") == 1);
    CHECK_IS(1, times_in_dump(" mutex, held by task "));
    char *graph = dump_with(leat_dump_graph);
    CHECK(strstr(graph, " [label=\"held by\"];"));
    free(graph);
    CHECK_IS(0, leat_mutex_unlock(mutex));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, times_in_dump("held by"));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(shows_its_holder_in_dumps);

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_mutex *mutex = leat_mutex_open(s);
    CHECK(!leat_mutex_open(NULL));
    CHECK_IS(-EINVAL, leat_mutex_lock(NULL));
    CHECK_IS(-EINVAL, leat_mutex_lock_until(NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_mutex_lock_until(mutex, -1));
    CHECK_IS(-EINVAL, leat_mutex_try_lock(NULL));
    CHECK_IS(-EINVAL, leat_mutex_unlock(NULL));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(-ECANCELED, leat_mutex_lock(mutex));
    CHECK_IS(0, leat_mutex_try_lock(mutex));
    CHECK_IS(0, leat_mutex_unlock(mutex));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_wrong_arguments);

/* The drop functions of a scope that closes may use its mutexes, which may be older or newer than
 * the channel. */
struct guarded {
    leat_mutex *older, *newer;
    int *dropped;
};

static void drop_guarded(void *item)
{
    const struct guarded *guarded = item;
    leat_mutex *both[] = { guarded->older, guarded->newer };
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, leat_mutex_lock(both[i]));
        CHECK_IS(-EDEADLK, leat_mutex_try_lock(both[i]));
        CHECK_IS(0, leat_mutex_unlock(both[i]));
        CHECK_IS(0, leat_mutex_try_lock(both[i]));
        CHECK_IS(0, leat_mutex_unlock(both[i]));
        CHECK_IS(-EPERM, leat_mutex_unlock(both[i]));
    }
    ++*guarded->dropped;
}

static int serves_drop_functions(void *arg)
{
    (void)arg;
    int dropped = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct guarded guarded = { .older = leat_mutex_open(s), .dropped = &dropped };
    leat_chan *ch = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof guarded, .capacity = 3, .drop = drop_guarded });
    guarded.newer = leat_mutex_open(s);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_send(ch, &guarded));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(3, dropped);
    return 0;
}
ON_WORKERS(serves_drop_functions);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(lets_one_in_at_a_time),
        TESTS_ON_WORKERS(serves_in_order),
        TESTS_ON_WORKERS(ends_with_the_deadline_and_the_scope),
        TESTS_ON_WORKERS(knows_who_holds_it),
        TESTS_ON_WORKERS(shows_its_holder_in_dumps),
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(serves_drop_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
