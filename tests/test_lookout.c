/* test_lookout.c: workers that serve few descriptors leave the watch to the lookout. If one of them
 * then computes, what it holds up is still served.
 *
 * A party computes until the other is served: this shows that it is, not when. */
#define _GNU_SOURCE /* gettid */
#include "descriptors.h"
#include "moves.h"

#include "sched/lookout.h"

enum { LIGHT = 12 }; /* requests that make the watch vain again */

struct talk {
    leat_scope *scope;
    leat_io *io, *quiet;
    int asks, wakes; /* the other ends */
    leat_chan *woken;
    _Atomic int served;
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

static int answer(void *arg)
{
    struct talk *talk = arg;
    char byte;
    for (int round = 0; leat_read(talk->io, &byte, 1) == 1;) {
        if (byte == 'h')
            hold_up(talk, round++);
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
    for (int i = 0; i < 200 / SCALE; i++) {
        for (int k = 0; k < LIGHT; k++)
            ask(talk, 'l');
        ask(talk, 'h');
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

static int serves_what_is_held_up(void *arg)
{
    (void)arg;
    struct talk talk = { .scope = leat_scope_open(LEAT_NEVER) };
    talk.io = half_of_pair(talk.scope, &talk.asks);
    talk.quiet = half_of_pair(talk.scope, &talk.wakes);
    talk.woken = leat_chan_make(talk.scope, 0, 0);
    CHECK_IS(0, leat_go(talk.scope, serve_bytes, &talk));
    CHECK_IS(0, leat_go(talk.scope, serve_messages, &talk));
    CHECK_IS(0, leat_go(talk.scope, answer, &talk));
    CHECK_IS(0, leat_go_blocking(talk.scope, ask_all, &talk));
    return leat_scope_close(talk.scope);
}

ON_MOVING_WORKERS(serves_what_is_held_up);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_MOVING_WORKERS(serves_what_is_held_up) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
