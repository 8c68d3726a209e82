/* test_link_hostile.c: near ends and far ends whose engine lies. The result is an error or
 * another try; and the scope can always be cancelled.
 *
 * LEAT_SEED=n repeats a round's lies; parties may still meet in another order. */
#include "link_lies.h"
#include "src/keys.h"

enum { ENDS = 8 };

/* NULL when there was no time. */
static leat_link *open_link(leat_scope *scope, const struct liar *liar)
{
    leat_link *link = NULL;
    leat_link_spec spec = { .lease = 100 * LEAT_MS, .trust = 1 };
    int error = leat_link_open(scope, liar->url, &spec, &link);
    CHECK(error == 0 || error == -ECANCELED || error == -ETIMEDOUT);
    return link;
}

static void end_all(leat_scope *scope, leat_scope *around, struct liar *liar)
{
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
    leat_scope_cancel(around);
    CHECK_IS(0, leat_scope_close(around));
    liar_end(liar);
}

/* ---- the ends ---- */

static int check_item(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)arg;
    CHECK(strlen(item->key) < LEAT_KEY_MAX && strlen(item->run) <= LK_NAME);
    CHECK_IS(0, (uintptr_t)item->data % _Alignof(max_align_t));
    CHECK_IS(0, leat_bytes_add(result, item->data, item->size));
    if (item->index % 3 == 0)
        leat_sleep(LEAT_MS);
    return item->index % 5 == 4 ? -EIO : 0;
}

static int far_end(void *arg)
{
    const struct liar *liar = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_serve_stage_spec spec = { .stage = "s", .n = 7, .run = check_item, .grace = LEAT_MS };
    leat_link *link = open_link(scope, liar);
    if (link)
        CHECK(leat_serve_stage(link, &spec) < 0);
    leat_scope_close(scope);
    return 0;
}

static _Atomic int ends; /* that have begun, less those that have ended */

static void use_remote(leat_scope *scope, leat_link *link)
{
    static _Atomic int kind;
    int mine = atomic_fetch_add(&kind, 1);
    leat_remote_spec spec = { .link = link,
                              .stage = "s",
                              .run = "r",
                              .n = 4,
                              .window = 16,
                              .in_size = sizeof(int),
                              .out_size = sizeof(int),
                              .unordered = mine & 1,
                              .capacity = mine & 2 };
    leat_chan *in = leat_chan_of(scope, int, 40), *out = leat_remote(scope, in, &spec);
    CHECK(out);
    for (int i = 0; i < 40; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    if (mine & 4)
        CHECK_IS(0, leat_close(in));
    while (leat_recv(out, &(int){ 0 }) == 0)
        ;
}

static int near_end(void *arg)
{
    const struct liar *liar = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, liar);
    if (link)
        use_remote(scope, link);
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    return 0;
}

struct end {
    struct liar *liar;
    leat_fn *fn;
};

static int run_end(void *arg)
{
    const struct end *end = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, end->fn, end->liar));
    leat_scope_close(scope);
    atomic_fetch_sub(&ends, 1);
    return 0;
}

/* Several at once, since each waits now and then before it tries again. */
static int one_round(void *arg)
{
    struct liar liar = { 0 };
    struct end near = { &liar, near_end }, far = { &liar, far_end };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, lie, *(uint64_t *)arg);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    atomic_store(&ends, 2 * ENDS);
    for (int i = 0; i < ENDS; i++) {
        CHECK_IS(0, leat_go(scope, run_end, &near));
        CHECK_IS(0, leat_go(scope, run_end, &far));
    }
    WAIT_UNTIL(atomic_load(&liar.requests) > 40 * ENDS || atomic_load(&ends) == 0);
    end_all(scope, around, &liar);
    return 0;
}

static void test_lies(void **state)
{
    (void)state;
    uint64_t seed = seed_of_test();
    for (int i = 0; i < often(6) + 1; i++, seed++) {
        snprintf(check_note, sizeof check_note, "LEAT_SEED=%llu", (unsigned long long)seed);
        CHECK_IS(0, leat_main_with(one_round, &seed, &(leat_options){ .workers = 2 }));
    }
}

/* ---- an engine that says no more ---- */

static int say_little(struct liar_line *line, const redisReply *request)
{
    if (asks(request, "SMEMBERS"))
        say(line, "*1\r\n$3\r\nrun\r\n");
    else if (script_of(request) == LK_RENEW)
        say(line, "*0\r\n");
    return 0;
}

static int serve_alone(void *link)
{
    leat_serve_stage_spec spec = { .stage = "s", .n = 7, .run = check_item, .grace = LEAT_MS };
    CHECK_IS(-ECANCELED, leat_serve_stage(link, &spec));
    return 0;
}

/* Only an answer within a day would end the waits, and none comes. */
static int silence(void *arg)
{
    (void)arg;
    struct liar liar = { 0 };
    leat_link *link;
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, say_little, 0);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link_spec patient = { .lease = 24 * 3600 * LEAT_S, .trust = 1 };
    leat_remote_spec remote = { .stage = "s", .run = "r", .n = 1 };
    CHECK_IS(0, leat_link_open(scope, liar.url, &patient, &link));
    remote.link = link;
    CHECK_IS(0, leat_go(scope, serve_alone, link));
    CHECK(leat_remote(scope, leat_chan_make(scope, 0, 0), &remote));
    WAIT_UNTIL(atomic_load(&liar.requests) >= 5); /* the names, renew, take; subscribe; open */
    end_all(scope, around, &liar);
    return 0;
}

static void test_silence(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(silence, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a large result: on a slow line nothing else goes to the engine for long ---- */

enum { LARGE = 3 << 20 };

static _Atomic bool given, stored;
static _Atomic int longest; /* of the leases that it was asked for, in milliseconds */

static int take_large(struct liar_line *line, const redisReply *request)
{
    int script = script_of(request);
    if (asks(request, "SMEMBERS")) {
        say(line, "*1\r\n$3\r\nrun\r\n");
    } else if (script == LK_TAKE) {
        say(line, atomic_exchange(&given, true) ? "*0\r\n" : "*3\r\n$1\r\n0\r\n:0\r\n$0\r\n\r\n");
    } else if (script == LK_RENEW) {
        int lease = atoi(request->element[15]->str);
        if (lease > atomic_load(&longest) && !atomic_load(&stored))
            atomic_store(&longest, lease);
        say(line, "*0\r\n");
    } else if (script == LK_DONE) {
        atomic_store(&stored, true);
        say(line, ":1\r\n");
    }
    return 0;
}

static int make_large(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)item;
    return leat_bytes_add(result, arg, LARGE);
}

static int serve_large(void *link)
{
    static const char large[LARGE];
    leat_serve_stage_spec spec = { .stage = "s", .n = 2, .run = make_large, .max_bytes = LARGE };
    spec.arg = (void *)(uintptr_t)large;
    CHECK_IS(-ECANCELED, leat_serve_stage(link, &spec));
    return 0;
}

static int large_result(void *arg)
{
    (void)arg;
    struct liar liar = { 0 };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, take_large, 0);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(scope, &liar);
    CHECK_IS(0, leat_go(scope, serve_large, link));
    WAIT_UNTIL(atomic_load(&stored));
    CHECK_IS(3 * 100, atomic_load(&longest));
    end_all(scope, around, &liar);
    return 0;
}

static void test_large_result(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(large_result, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a full memory, as an engine before 7.0 reports it ---- */

static int have_no_memory(struct liar_line *line, const redisReply *request)
{
    (void)request;
    say(line, "-ERR Error running script (call to f_0): @user_script:9: @user_script: 9: "
              "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    return 0;
}

static int no_memory(void *arg)
{
    (void)arg;
    struct liar liar = { 0 };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, have_no_memory, 0);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec remote = { .stage = "s", .run = "r", .n = 1 };
    remote.link = open_link(scope, &liar);
    CHECK(leat_remote(scope, leat_chan_make(scope, 0, 0), &remote));
    WAIT_UNTIL(atomic_load(&liar.requests) >= 3);
    CHECK(!leat_cancelled(scope));
    end_all(scope, around, &liar);
    return 0;
}

static void test_no_memory(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(no_memory, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- lies in the greeting ---- */

enum { LIES = 13, FLOOD = 4 * LIES, GREETINGS = FLOOD + 4 };

static void flood(struct liar_line *line)
{
    static const char some[1 << 20];
    say(line, "$%lld\r\n", 1LL << 40);
    for (int i = 0; i < 256; i++)
        if (leat_write(line->io, i ? some : line->out.bytes.data,
                       i ? sizeof some : line->out.bytes.size) < 0)
            return;
}

/* The seed says which reply is a lie, and what it is. */
static int greet_badly(struct liar_line *line, const redisReply *request)
{
    static const char *const lies[LIES] = {
        "$-1\r\n",
        ":7\r\n",
        "+OK\r\n",
        "-LOADING it\r\n",
        "*0\r\n",
        "*1048577\r\n",
        "*2\r\n$-1\r\n$-1\r\n",
        "$9223372036854775807\r\nx",
        "$20\r\nredis_version:6.1.99\r\n",
        "$14\r\nredis_version:\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "-ERR unknown command 'AUTH', beginning with: 'secret'\r\n",
        "-ERR \033[2J \177 \2332J \302\233\r\n"
    };
    static const char *const commands[] = { "AUTH", "INFO", "CONFIG", "SCRIPT" };
    uint64_t seed = line->liar->seed;
    if (!asks(request, seed < FLOOD ? commands[seed / LIES] : commands[seed - FLOOD]))
        return greeted(line, request);
    if (seed >= FLOOD)
        flood(line);
    else
        say(line, "%s", lies[seed % LIES]);
    liar_speak(line);
    if (seed >= FLOOD || seed % LIES == 7)
        leat_shutdown(line->io, SHUT_RDWR); /* else it is waited for until 5 s have passed */
    return true;
}

static void check_message(void *arg, const char *message)
{
    (void)arg;
    CHECK(!strstr(message, "secret"));
    for (; *message; message++)
        CHECK(*message >= ' ' && *message <= '~');
}

static int greeting(void *arg)
{
    struct liar liar = { .greet = greet_badly };
    const leat_link_spec spec = { .password = "secret", .tell = check_message };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, lie, *(uint64_t *)arg);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = NULL;
    int error = leat_link_open(scope, liar.url, &spec, &link);
    bool unread = liar.seed < 10; /* any reply to AUTH but an error will do */
    CHECK(error <= 0 && (error < 0 || unread));
    CHECK(!link == (error < 0));
    CHECK_IS(0, leat_scope_close(scope));
    leat_scope_cancel(around);
    CHECK_IS(0, leat_scope_close(around));
    liar_end(&liar);
    return 0;
}

static void test_greeting(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < GREETINGS; i++) {
        snprintf(check_note, sizeof check_note, "lie %llu", (unsigned long long)i);
        CHECK_IS(0, leat_main_with(greeting, &i, &(leat_options){ .workers = 2 }));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),         cmocka_unit_test(test_silence),
        cmocka_unit_test(test_large_result), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_greeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
