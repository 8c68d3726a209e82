/* test_link_full.c: an engine that refuses some requests for a while. One whose memory is full
 * takes no more items, but what makes room there goes on, and far ends keep their items. */
#include "link_stage.h"

enum { ITEMS = 10, LARGE = 1 << 20 };

static void memory(const char *most)
{
    done(ask("CONFIG SET maxmemory %s", most));
}

/* Whether a client waits in the engine. */
static bool waiting(void)
{
    redisReply *reply = ask("INFO clients");
    bool waits = !strstr(reply->str, "blocked_clients:0");
    freeReplyObject(reply);
    return waits;
}

static int ignore(void *arg, const void *data, size_t size, void *out)
{
    (void)arg, (void)data, (void)size, (void)out;
    return 0;
}

static leat_remote_spec spec_of(leat_scope *scope, const char *run)
{
    leat_link *link;
    leat_link_spec spec = { .trust = 1, .lease = LEAT_S, .tell = count_away };
    CHECK_IS(0, leat_link_open(scope, engine.url, &spec, &link));
    return (leat_remote_spec){ .link = link,
                               .stage = "s",
                               .run = run,
                               .n = 2,
                               .in_size = sizeof(int),
                               .out_size = sizeof(int),
                               .unpack = ignore };
}

static void end(leat_scope *scope)
{
    memory("0");
    cancel_and_close(scope);
}

/* ---- results that are used make room for items ---- */

static int makes_room(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "room");
    leat_chan *in = leat_chan_of(scope, int, ITEMS), *out = leat_remote(scope, in, &spec);
    char *large = calloc(1, LARGE);
    CHECK(out && large);
    for (int i = 0; i < ITEMS; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    WAIT_UNTIL(field("room", "published") == ITEMS);
    for (int i = 0; i < ITEMS; i++)
        done(redisCommand(own, "XADD leat:{s}:room:results * %d %b", i, large, (size_t)LARGE));
    free(large);
    memory("8mb");
    CHECK_IS(0, leat_try_send(in, &(int){ 0 }));
    WAIT_UNTIL(atomic_load(&away));
    CHECK_IS(ITEMS, field("room", "published"));
    for (int i = 0; i < ITEMS; i++)
        receive(out);
    WAIT_UNTIL(field("room", "published") == ITEMS + 1);
    end(scope);
    return 0;
}

static void test_makes_room(void **state)
{
    (void)state;
    on_workers(makes_room);
}

/* ---- leases ---- */

static _Atomic int begun;

static int slow(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)result;
    atomic_fetch_add(&begun, strcmp(item->run, "leases") == 0);
    int error = leat_recv(arg, NULL);
    return error == -EPIPE ? 0 : error;
}

struct far {
    leat_link *link;
    leat_chan *gate;
};

static int serve(void *arg)
{
    struct far *far = arg;
    leat_serve_stage_spec spec = { .stage = "s", .n = 4, .run = slow, .arg = far->gate };
    CHECK_IS(-ECANCELED, leat_serve_stage(far->link, &spec));
    return 0;
}

/* Much longer than the leases and all their tries. */
static int keeps_leases(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "leases");
    spec.tries = 2;
    struct far far = { spec.link, leat_chan_make(scope, 0, 0) };
    leat_chan *in = leat_chan_of(scope, int, 2), *out = leat_remote(scope, in, &spec);
    CHECK(out);
    CHECK_IS(0, leat_go(scope, serve, &far));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    WAIT_UNTIL(atomic_load(&begun) == 2);
    memory("1");
    leat_sleep(4 * LEAT_S);
    CHECK_IS(0, leat_close(far.gate));
    receive(out);
    receive(out);
    CHECK_IS(2, atomic_load(&begun));
    end(scope);
    return 0;
}

static void test_keeps_leases(void **state)
{
    (void)state;
    on_workers(keeps_leases);
}

/* ---- an engine that is a replica for a while ---- */

/* It tells the near end, which waits for results there, that it does not wait any more. */
static int replica(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "replica");
    leat_chan *in = leat_chan_of(scope, int, 1), *out = leat_remote(scope, in, &spec);
    CHECK(out);
    CHECK_IS(0, leat_try_send(in, &(int){ 0 }));
    WAIT_UNTIL(field("replica", "published") == 1);
    done(ask("XADD leat:{s}:replica:results * 0 a"));
    receive(out);
    WAIT_UNTIL(waiting());
    done(ask("REPLICAOF 127.0.0.1 1"));
    WAIT_UNTIL(!waiting());
    done(ask("REPLICAOF NO ONE"));
    CHECK_IS(0, leat_try_send(in, &(int){ 0 }));
    WAIT_UNTIL(field("replica", "published") == 2 || leat_cancelled(scope));
    done(ask("XADD leat:{s}:replica:results * 1 a"));
    receive(out);
    end(scope);
    return 0;
}

static void test_replica(void **state)
{
    (void)state;
    on_workers(replica);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makes_room),
        cmocka_unit_test(test_keeps_leases),
        cmocka_unit_test(test_replica),
    };
    return RUN_WITH_ENGINE(tests, argc, argv);
}
