/* test_lookout.c: workers that serve few descriptors leave the watch to the lookout. If one of them
 * then computes, what it holds up is still served.
 *
 * A party computes until the other is served: this shows that it is, not when. */
#define _GNU_SOURCE /* gettid */
#include "descriptors.h"
#include "moves.h"
#include "switches.h"

#include "sched/lookout.h"

enum { LIGHT = 12 }; /* requests that make the watch vain again */

struct talk {
    leat_scope *scope;
    leat_io *io, *quiet;
    int asks, wakes; /* the other ends */
    leat_chan *woken;
    _Atomic int served;
    char wish;  /* what is asked for, */
    int rounds; /* and how often */
};

static int serve_once(void *arg)
{
    atomic_fetch_add(&((struct talk *)arg)->served, 1);
    return 0;
}

static int serve_later(void *arg)
{
    CHECK_IS(0, leat_sleep(2 * LEAT_MS));
    return serve_once(arg);
}

static int serve_bytes(void *arg)
{
    struct talk *talk = arg;
    char byte;
    while (leat_read(talk->quiet, &byte, 1) == 1)
        serve_once(talk);
    return 0;
}

static int serve_messages(void *arg)
{
    struct talk *talk = arg;
    while (leat_recv(talk->woken, NULL) == 0)
        serve_once(talk);
    return 0;
}

/* Makes something wait on this worker, and computes until it is served. */
static void hold_up(struct talk *talk, int round)
{
    int before = atomic_load(&talk->served);
    switch (round % 4) {
    case 0: CHECK_IS(0, leat_go(talk->scope, serve_once, talk)); break;
    case 1:
        CHECK_IS(0, leat_go(talk->scope, serve_later, talk));
        leat_yield();
        break;
    case 2: CHECK_IS(1, write(talk->wakes, "q", 1)); break;
    case 3: CHECK_IS(0, leat_send(talk->woken, NULL)); break;
    }
    COMPUTE_UNTIL(atomic_load(&talk->served) > before);
}

static _Atomic bool all_compute, rests;

static int compute_beside(void *arg)
{
    (void)arg;
    atomic_store(&all_compute, true);
    COMPUTE_UNTIL(atomic_load(&rests));
    return 0;
}

static bool is_quiet(void)
{
    long before = switches_of_others();
    for (int64_t until = leat_after(20 * LEAT_MS); leat_now() < until;)
        continue;
    return switches_of_others() == before;
}

/* Lets both workers compute until no other thread wakes up. */
static void compute_on_all(void)
{
    int looks = 0;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    atomic_store(&all_compute, false);
    atomic_store(&rests, false);
    CHECK_IS(0, leat_go_spread(scope, compute_beside, NULL));
    COMPUTE_UNTIL(atomic_load(&all_compute));
    while (!is_quiet())
        CHECK(++looks < 200);
    atomic_store(&rests, true);
    CHECK_IS(0, leat_scope_close(scope));
}

static int answer(void *arg)
{
    struct talk *talk = arg;
    char byte;
    for (int round = 0; leat_read(talk->io, &byte, 1) == 1;) {
        if (byte == 'h')
            hold_up(talk, round++);
        if (byte == 'a')
            compute_on_all();
        CHECK_IS(1, leat_write(talk->io, &byte, 1));
    }
    return 0;
}

static void ask(const struct talk *talk, char byte)
{
    CHECK_IS(1, write(talk->asks, &byte, 1));
    CHECK_IS(1, read(talk->asks, &byte, 1));
}

/* A thread, so that the workers sleep between the requests. */
static int ask_all(void *arg)
{
    struct talk *talk = arg;
    int64_t since = leat_now();
    while (!lt_lookout_is_there() && leat_now() - since < 30 * LEAT_S)
        ask(talk, 'l');
    CHECK(lt_lookout_is_there());
    for (int i = 0; i < talk->rounds; i++) {
        for (int k = 0; k < LIGHT; k++)
            ask(talk, 'l');
        ask(talk, talk->wish);
    }
    close(talk->asks);
    close(talk->wakes);
    return leat_close(talk->woken);
}

static leat_io *half_of_pair(leat_scope *scope, int *other)
{
    int ends[2];
    CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    *other = ends[1];
    return adopt(scope, ends[0]);
}

static int talk_about(char wish, int rounds)
{
    struct talk talk = { .scope = leat_scope_open(LEAT_NEVER), .wish = wish, .rounds = rounds };
    talk.io = half_of_pair(talk.scope, &talk.asks);
    talk.quiet = half_of_pair(talk.scope, &talk.wakes);
    talk.woken = leat_chan_make(talk.scope, 0, 0);
    CHECK_IS(0, leat_go(talk.scope, serve_bytes, &talk));
    CHECK_IS(0, leat_go(talk.scope, serve_messages, &talk));
    CHECK_IS(0, leat_go(talk.scope, answer, &talk));
    CHECK_IS(0, leat_go_blocking(talk.scope, ask_all, &talk));
    return leat_scope_close(talk.scope);
}

static int serves_what_is_held_up(void *arg)
{
    (void)arg;
    return talk_about('h', 200 / SCALE);
}
ON_MOVING_WORKERS(serves_what_is_held_up);

/* While no worker is idle there is nobody to wake, and the lookout rests. */
static int looks_for_nobody(void *arg)
{
    (void)arg;
    return talk_about('a', 5);
}

static void rests_while_all_compute(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        skip(); /* a thread of ThreadSanitizer's own wakes up */
    run_on(2, looks_for_nobody);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_MOVING_WORKERS(serves_what_is_held_up),
                                        cmocka_unit_test(rests_while_all_compute) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
