/* test_fed.c: a worker that others give a little to do, again and again, steals in between.
 *
 * A task accepts requests and starts a task for each, which computes for a moment. Clients whose
 * home is the other worker are woken there one by one, and only ask again. */
#define _GNU_SOURCE /* CPU_COUNT */
#include "moves.h"

#include <sched.h>

enum { CLIENTS = 64, EACH = 100, COMPUTE_NS = 3000, ONE_IN = 16 };

struct server {
    leat_scope *scope;
    leat_chan *requests; /* a request is its client's channel */
};

static int serves(void *arg)
{
    for (int64_t until = leat_now() + COMPUTE_NS; leat_now() < until;) {
    }
    return leat_send(arg, NULL);
}

static int accepts(void *arg)
{
    struct server *server = arg;
    for (leat_chan *client; leat_recv(server->requests, &client) == 0;)
        CHECK_IS(0, leat_go(server->scope, serves, client));
    return 0;
}

static int asks(void *arg)
{
    struct server *server = arg;
    leat_chan *back = leat_chan_make(server->scope, 0, 1);
    CHECK(back);
    for (int i = 0; i < EACH; i++) {
        CHECK_IS(0, leat_send(server->requests, &back));
        CHECK_IS(0, leat_recv(back, NULL));
    }
    return leat_chan_done(server->requests);
}

/* Whether a good part of the tasks began on another worker than the one that started them. */
static bool steals_many(void)
{
    struct server server = { .scope = leat_scope_open(LEAT_NEVER) };
    server.requests = leat_chan_of(server.scope, leat_chan *, CLIENTS);
    CHECK_IS(0, leat_chan_senders(server.requests, CLIENTS));
    uint64_t before = counts_now().stolen;
    CHECK_IS(0, leat_go(server.scope, accepts, &server));
    for (int i = 0; i < CLIENTS; i++)
        CHECK_IS(0, leat_go_spread(server.scope, asks, &server));
    CHECK_IS(0, leat_scope_close(server.scope));
    return (counts_now().stolen - before) * ONE_IN >= CLIENTS * EACH;
}

static int serve_in_rounds(void *arg)
{
    (void)arg;
    WAIT_UNTIL(steals_many());
    return 0;
}

static void fed_worker_steals(void **state)
{
    (void)state;
    cpu_set_t set;
    CHECK_IS(0, sched_getaffinity(0, sizeof set, &set));
    if (CPU_COUNT(&set) < 2 || LT_LOCAL_QUEUE_SIZE < (int)CLIENTS)
        skip(); /* in a small queue few tasks wait to be stolen */
    CHECK_IS(0, leat_main_with(serve_in_rounds, NULL, &(leat_options){ .workers = 2 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fed_worker_steals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
