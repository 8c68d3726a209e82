/* test_link_faults.c: what went wrong once in a stage over an engine. The test takes the far end's
 * or the near end's part itself where it needs a certain order of things. */
#include "link_stage.h"
#include "src/keys.h"

enum { ITEMS = 10 };

static leat_link *open_link(leat_scope *scope, int64_t lease)
{
    leat_link *link;
    CHECK_IS(0, leat_link_open(scope, engine.url,
                               &(leat_link_spec){ .lease = lease, .trust = 1, .tell = count_away },
                               &link));
    return link;
}

static void order(const char *text)
{
    freeReplyObject(ask("%s", "PING"));
    redisReply *reply = redisCommand(own, text);
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* Whether the field of a hash is this number. */
static bool field_is(const char *key, const char *field, long long value)
{
    redisReply *reply = ask("HGET %s %s", key, field);
    bool is = reply->type == REDIS_REPLY_STRING && atoll(reply->str) == value;
    freeReplyObject(reply);
    return is;
}

static leat_chan *some_items(leat_scope *scope)
{
    leat_chan *in = leat_chan_of(scope, int, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    CHECK_IS(0, leat_close(in));
    return in;
}

static leat_remote_spec spec_of(leat_link *link, const char *run)
{
    return (leat_remote_spec){ .link = link,
                               .stage = "s",
                               .run = run,
                               .n = 1,
                               .window = 16,
                               .in_size = sizeof(int),
                               .out_size = sizeof(int) };
}

/* ---- a far end with more places than the run may have items at once ---- */

static int same(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)arg;
    return leat_bytes_add(result, item->data, item->size);
}

static int serve_same(void *link)
{
    static _Atomic int kind;
    leat_serve_stage_spec spec = { .stage = "s", .n = 4, .run = same, .grace = LEAT_NEVER };
    spec.blocking = atomic_fetch_add(&kind, 1) % 2;
    CHECK_IS(-ECANCELED, leat_serve_stage(link, &spec));
    return 0;
}

/* It looks for leases that have ended once in six hours, so that does not help it on. */
static int few_at_once(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, 24 * 3600 * LEAT_S);
    leat_remote_spec spec = spec_of(link, "few");
    leat_chan *out = leat_remote(scope, some_items(scope), &spec);
    CHECK(out);
    CHECK_IS(0, leat_go(scope, serve_same, link));
    CHECK_IS(0, leat_go(scope, serve_same, link));
    for (int i = 0; i < ITEMS; i++) {
        int got;
        CHECK_IS(0, leat_recv_until(out, &got, a_minute()));
        CHECK_IS(i, got);
    }
    CHECK_IS(-EPIPE, leat_recv_until(out, &(int){ 0 }, a_minute()));
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_few_at_once(void **state)
{
    (void)state;
    on_workers(few_at_once);
}

/* ---- items of which a take brings only some ---- */

enum { LARGE = 600 << 10, LARGE_ITEMS = 20 };

static int large_item(void *arg, const void *item, leat_bytes *to)
{
    char *bytes = calloc(1, LARGE);
    CHECK(bytes);
    memcpy(bytes, item, sizeof(int));
    CHECK_IS(0, leat_bytes_add(to, bytes, LARGE));
    free(bytes);
    (void)arg;
    return 0;
}

static int first_bytes(void *arg, const void *data, size_t size, void *out)
{
    (void)arg;
    CHECK_IS(LARGE, size);
    memcpy(out, data, sizeof(int));
    return 0;
}

static int large_items(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, 24 * 3600 * LEAT_S);
    leat_chan *in = leat_chan_of(scope, int, LARGE_ITEMS);
    leat_remote_spec spec = spec_of(link, "size");
    spec.n = 16;
    spec.pack = large_item;
    spec.unpack = first_bytes;
    leat_chan *out = leat_remote(scope, in, &spec);
    CHECK(out);
    for (int i = 0; i < LARGE_ITEMS; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    CHECK_IS(0, leat_close(in));
    WAIT_UNTIL(field_is("leat:{s}:size:run", "published", 16)); /* the window */
    CHECK_IS(0, leat_go(scope, serve_same, link));
    CHECK_IS(0, leat_go(scope, serve_same, link));
    for (int i = 0; i < LARGE_ITEMS; i++) {
        int got;
        CHECK_IS(0, leat_recv_until(out, &got, a_minute()));
        CHECK_IS(i, got);
    }
    CHECK_IS(-EPIPE, leat_recv_until(out, &(int){ 0 }, a_minute()));
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_large_items(void **state)
{
    (void)state;
    on_workers(large_items);
}

/* ---- results without order, and a near end that ends within an entry of them ---- */

static int start_again(void *arg)
{
    (void)arg;
    for (int round = 0; round < 2; round++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_remote_spec spec = spec_of(open_link(scope, 0), "again");
        spec.unordered = 1;
        leat_chan *out = leat_remote(scope, some_items(scope), &spec);
        CHECK(out);
        if (round == 0) {
            WAIT_UNTIL(field_is("leat:{s}:again:run", "published", ITEMS));
            order("XADD leat:{s}:again:results * 0 aaaa");
            order("XADD leat:{s}:again:results * 1 aaaa 2 aaaa 3 aaaa 4 aaaa 5 aaaa 6 aaaa 7 aaaa "
                  "8 aaaa 9 aaaa");
        }
        for (int i = 0; i < (round ? ITEMS - 1 : 5); i++)
            CHECK_IS(0, leat_recv_until(out, &(int){ 0 }, a_minute()));
        if (round == 0)
            WAIT_UNTIL(field_is("leat:{s}:again:run", "delivered", 1));
        else
            CHECK_IS(-EPIPE, leat_recv_until(out, &(int){ 0 }, a_minute()));
        leat_scope_cancel(scope);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}

static void test_start_again(void **state)
{
    (void)state;
    on_workers(start_again);
}

/* ---- a far end that is cancelled while its item runs ---- */

struct last {
    leat_scope *scope; /* around the far end */
    _Atomic int begun;
};

static int cancel_and_end(void *arg, const leat_far_item *item, leat_bytes *result)
{
    struct last *last = arg;
    atomic_fetch_add(&last->begun, 1);
    leat_scope_cancel(last->scope);
    return same(NULL, item, result);
}

/* It begins no other item. (It might, if it slept when the first one ended.) */
static int last_item(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, 24 * 3600 * LEAT_S);
    leat_remote_spec spec = spec_of(link, "last");
    leat_chan *out = leat_remote(scope, some_items(scope), &spec);
    WAIT_UNTIL(field("last", "published") == ITEMS);
    struct last last = { leat_scope_open(LEAT_NEVER), 0 };
    leat_serve_stage_spec serve = { .stage = "s", .n = 1, .run = cancel_and_end, .arg = &last };
    CHECK_IS(-ECANCELED, leat_serve_stage(link, &serve));
    CHECK_IS(0, leat_scope_close(last.scope));
    CHECK_IS(1, last.begun);
    receive(out);
    cancel_and_close(scope);
    return 0;
}

static void test_last_item(void **state)
{
    (void)state;
    on_workers(last_item);
}

/* ---- a far end that may not listen ---- */

static int may_not_listen(void *arg)
{
    (void)arg;
    leat_link *link;
    leat_scope *scope = leat_scope_open(a_minute());
    order("ACL SETUSER deaf on >pw ~* +@all resetchannels");
    leat_link_spec spec = { .user = "deaf", .password = "pw", .trust = 1 };
    CHECK_IS(0, leat_link_open(scope, engine.url, &spec, &link));
    leat_serve_stage_spec serve = { .stage = "s", .n = 1, .run = same };
    CHECK_IS(-EACCES, leat_serve_stage(link, &serve));
    CHECK_IS(0, leat_scope_close(scope));
    order("ACL DELUSER deaf");
    return 0;
}

static void test_may_not_listen(void **state)
{
    (void)state;
    on_workers(may_not_listen);
}

/* ---- a user without a password ---- */

static int user_alone(void *arg)
{
    (void)arg;
    leat_link *link;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    order("ACL SETUSER little on nopass");
    leat_link_spec spec = { .user = "little", .trust = 1 };
    CHECK_IS(-EACCES, leat_link_open(scope, engine.url, &spec, &link));
    spec.user = "nobody";
    CHECK_IS(-EACCES, leat_link_open(scope, engine.url, &spec, &link));
    CHECK_IS(0, leat_scope_close(scope));
    order("ACL DELUSER little");
    return 0;
}

static void test_user_alone(void **state)
{
    (void)state;
    on_workers(user_alone);
}

/* ---- verdicts ---- */

/* A status that the near end also uses within itself. */
static int reports_status(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(a_minute());
    leat_remote_spec spec = spec_of(open_link(scope, 0), "status");
    spec.failing = LEAT_FAIL_CANCELS;
    CHECK(leat_remote(scope, some_items(scope), &spec));
    WAIT_UNTIL(field_is("leat:{s}:status:run", "published", ITEMS));
    order("XADD leat:{s}:status:results * 0:-108 x");
    CHECK_IS(-ESHUTDOWN, leat_scope_close(scope));
    return 0;
}

static void test_reports_status(void **state)
{
    (void)state;
    on_workers(reports_status);
}

static int take_any(void *arg, const void *data, size_t size, void *out)
{
    (void)arg;
    CHECK_IS(0, (uintptr_t)data % _Alignof(max_align_t));
    memset(out, size < 256 ? (int)size : 255, sizeof(int));
    return 0;
}

/* A far end may allow more bytes than the near end. */
static int large_result(void *arg)
{
    (void)arg;
    struct {
        leat_outcome outcome;
        int value;
    } output;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(open_link(scope, 0), "large");
    spec.failing = LEAT_FAIL_TELLS;
    spec.unpack = take_any;
    spec.max_bytes = 4;
    spec.out_size = sizeof output;
    leat_chan *out = leat_remote(scope, some_items(scope), &spec);
    CHECK(out);
    WAIT_UNTIL(field_is("leat:{s}:large:run", "published", ITEMS));
    order("XADD leat:{s}:large:results * 0 aaaa 1 aaaaa");
    CHECK_IS(0, leat_recv_until(out, &output, a_minute()));
    CHECK_IS(0, output.outcome.status);
    CHECK_IS(0, leat_recv_until(out, &output, a_minute()));
    CHECK_IS(-EMSGSIZE, output.outcome.status);
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_large_result(void **state)
{
    (void)state;
    on_workers(large_result);
}

/* ---- a run that was removed, and opened again by another near end ---- */

struct near {
    leat_link *link;
    leat_chan *in;
    _Atomic bool ended;
    int result;
};

static int near_end(void *arg)
{
    struct near *near = arg;
    leat_scope *scope = leat_scope_open(a_minute());
    leat_remote_spec spec = spec_of(near->link, "removed");
    CHECK(leat_remote(scope, near->in, &spec));
    near->result = leat_scope_close(scope);
    atomic_store(&near->ended, true);
    return 0;
}

static int removed(void *arg)
{
    (void)arg;
    struct near first = { 0 }, second = { 0 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    first.link = second.link = open_link(scope, 0);
    first.in = leat_chan_of(scope, int, 1);
    second.in = leat_chan_of(scope, int, 1);
    CHECK_IS(0, leat_go(scope, near_end, &first));
    WAIT_UNTIL(field_is("leat:{s}:removed:run", "n", 1));
    CHECK_IS(0, leat_link_forget(first.link, "s", "removed"));
    CHECK_IS(0, leat_go(scope, near_end, &second));
    WAIT_UNTIL(field_is("leat:{s}:removed:run", "n", 1));
    CHECK_IS(0, leat_try_send(first.in, &(int){ 0 }));
    WAIT_UNTIL(atomic_load(&first.ended));
    CHECK_IS(-ESTALE, first.result);
    CHECK(!atomic_load(&second.ended));
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_removed(void **state)
{
    (void)state;
    on_workers(removed);
}

/* ---- an unwanted output, while the engine is away ---- */

static int closed_while_away(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(a_minute());
    leat_remote_spec spec = spec_of(open_link(scope, 0), "away");
    leat_chan *in = leat_chan_of(scope, int, 2), *out = leat_remote(scope, in, &spec);
    CHECK(out);
    CHECK_IS(0, leat_try_send(in, &(int){ 0 }));
    WAIT_UNTIL(field_is("leat:{s}:away:run", "published", 1));
    order("XADD leat:{s}:away:results * 0 aaaa");
    WAIT_UNTIL(senders_of(out) == 1);
    redisFree(own);
    engine_stop(&engine);
    atomic_store(&away, 0);
    CHECK_IS(0, leat_try_send(in, &(int){ 0 }));
    WAIT_UNTIL(atomic_load(&away) > 0);
    CHECK_IS(0, leat_close(out));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_closed_while_away(void **state)
{
    (void)state;
    on_workers(closed_while_away);
    CHECK(engine_start(&engine));
    own = engine_ask(&engine);
}

/* ---- an output that has another sender, too ---- */

static int dropped;
static void count_drop(void *item)
{
    dropped += memcmp(item, "aaaa", sizeof(int)) == 0;
}

static int shared_output(void *arg)
{
    leat_scope *around = leat_scope_open(a_minute()), *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(open_link(scope, 0), "shared");
    spec.ending = *(leat_ending *)arg;
    spec.out =
        leat_chan_open(around, &(leat_chan_spec){ .item_size = sizeof(int), .drop = count_drop });
    CHECK_IS(0, leat_chan_senders(spec.out, 2));
    CHECK(leat_remote(scope, some_items(scope), &spec) == spec.out);
    WAIT_UNTIL(field_is("leat:{s}:shared:run", "published", ITEMS));
    order("XADD leat:{s}:shared:results * 0 aaaa");
    WAIT_UNTIL(senders_of(spec.out) == 1);
    CHECK_IS(0, leat_link_forget(spec.link, "s", "shared"));
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!leat_chan_closed(spec.out));
    CHECK_IS(0, leat_chan_done(spec.out));
    CHECK_IS(spec.ending == LEAT_ENDS_DONE ? -ECANCELED : -EAGAIN,
             leat_try_recv(spec.out, &(int){ 0 }));
    return leat_scope_close(around);
}

static void test_shared_output(void **state)
{
    (void)state;
    for (leat_ending ending = LEAT_ENDS_DONE; ending <= LEAT_ENDS_OPEN; ending++)
        CHECK_IS(0, leat_main(shared_output, &ending));
    CHECK_IS(2, dropped);
}

/* ---- small stacks ---- */

static int use_link(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, 0);
    CHECK_IS(-ENOENT, leat_link_forget(link, "s", "nothing"));
    CHECK_IS(0, leat_scope_close(scope));
    (void)arg;
    return 0;
}

static int small_stack(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_sized(scope, 16 << 10, use_link, NULL));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_small_stack(void **state)
{
    (void)state;
    if (SCALE > 1)
        skip(); /* a sanitizer needs more */
    on_workers(small_stack);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_at_once),       cmocka_unit_test(test_large_items),
        cmocka_unit_test(test_start_again),       cmocka_unit_test(test_may_not_listen),
        cmocka_unit_test(test_user_alone),        cmocka_unit_test(test_reports_status),
        cmocka_unit_test(test_large_result),      cmocka_unit_test(test_removed),
        cmocka_unit_test(test_small_stack),       cmocka_unit_test(test_shared_output),
        cmocka_unit_test(test_closed_while_away), cmocka_unit_test(test_last_item),
    };
    return RUN_WITH_ENGINE(tests, argc, argv);
}
