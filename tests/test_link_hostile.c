/* test_link_hostile.c: near ends and far ends whose engine lies. What comes of it is an error or
 * another try; and the scope can always be cancelled.
 *
 * LEAT_SEED=n repeats a round's lies; parties may still meet in another order. */
#include "link_liar.h"
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

/* ---- lies of any kind ---- */

static void say_any(struct liar_line *line, int depth)
{
    static const long long numbers[] = { 0, 1, -1, 7, INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 24 };
    static const char *const texts[] = { "",
                                         "0",
                                         "1",
                                         "2:-5",
                                         "3:",
                                         "99999999999999999999",
                                         "-1",
                                         "x",
                                         "run",
                                         "5:99999999999",
                                         "18446744073709551615",
                                         "message" };
    uint64_t *chance = &line->chance;
    switch (below(chance, depth < 9 ? 7 : 5)) {
    case 0: say(line, "$-1\r\n"); break;
    case 1: say(line, ":%lld\r\n", numbers[below(chance, 8)]); break;
    case 2: say(line, "+OK\r\n"); break;
    case 3:
        say_bulk(line,
                 "1\0"
                 "2",
                 3);
        break;
    case 4: {
        const char *text = texts[below(chance, 12)];
        say_bulk(line, text, strlen(text));
        break;
    }
    default: {
        unsigned n = below(chance, 5);
        say(line, "*%u\r\n", n);
        while (n--)
            say_any(line, depth + 1);
    }
    }
}

static void say_error(struct liar_line *line)
{
    static const char *const errors[] = {
        "STALE it is",
        "LOADING",
        "BUSY",
        "NOSCRIPT no",
        "NOPERM",
        "ERR",
        "",
        "OOM of memory",
        "ERR Error running script (call to f_0): @user_script:9: @user_script: 9: -OOM command",
        "ERR Error running script: -",
        "MOVED 1 there",
        "EXECABORT"
    };
    say(line, "-%s\r\n", errors[below(&line->chance, 12)]);
}

/* Not in the protocol's form. */
static void say_nonsense(struct liar_line *line)
{
    static const char *const texts[] = { "$9223372036854775807\r\nabc",
                                         "$99999999999999999999\r\n",
                                         "*2147483647\r\n",
                                         "*1048577\r\n",
                                         "*400000\r\n*400000\r\n*400000\r\n:1\r\n",
                                         "*-5\r\n",
                                         "$-7\r\n",
                                         ":12x\r\n",
                                         "?\r\n",
                                         "\r\n",
                                         "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1",
                                         "$3\r\nabcdef\r\n" };
    say(line, "%s", texts[below(&line->chance, 12)]);
}

/* ---- lies in the right form ---- */

static void say_name(struct liar_line *line)
{
    static const char *const odd[] = { "18446744073709551615",
                                       "99999999999999999999",
                                       "007",
                                       "0:-5",
                                       "1:5",
                                       "1:99999999999",
                                       "-1",
                                       "4095",
                                       "4096",
                                       "0000000000000000000000001" };
    char text[32];
    snprintf(text, sizeof text, "%u", below(&line->chance, 20));
    if (below(&line->chance, 4) == 0)
        strcpy(text, odd[below(&line->chance, 10)]);
    say_bulk(line, text, strlen(text));
}

static void say_words(struct liar_line *line, unsigned n)
{
    static const char zeros[64];
    while (n--)
        say_bulk(line, zeros, below(&line->chance, 2) ? sizeof(int) : below(&line->chance, 64));
}

static void say_results(struct liar_line *line)
{
    unsigned entries = below(&line->chance, 4) + 1;
    say(line, "*1\r\n*2\r\n$1\r\nk\r\n*%u\r\n", entries);
    for (unsigned i = 0; i < entries; i++) {
        unsigned results = below(&line->chance, 4);
        say(line, "*2\r\n$%d\r\n%0*d\r\n*%u\r\n", i ? 3 : 47, i ? 3 : 47, 1, 2 * results);
        while (results--) {
            say_name(line);
            say_words(line, 1);
        }
    }
}

static void say_items(struct liar_line *line)
{
    unsigned items = below(&line->chance, 8);
    say(line, "*%u\r\n", 3 * items);
    while (items--) {
        say_name(line);
        if (below(&line->chance, 2))
            say(line, ":-1\r\n");
        else
            say_name(line);
        say_words(line, 1);
    }
}

static void say_runs(struct liar_line *line)
{
    unsigned n = below(&line->chance, 16) ? below(&line->chance, 4) : 10000;
    say(line, "*%u\r\n", n);
    while (n--) {
        char name[32];
        snprintf(name, sizeof name, below(&line->chance, 8) ? "run%u" : "run%u*", n);
        say_bulk(line, name, strlen(name) + (below(&line->chance, 8) ? 0 : 1));
    }
}

static void say_names(struct liar_line *line)
{
    unsigned n = below(&line->chance, 8);
    say(line, "*%u\r\n", n);
    while (n--)
        say_name(line);
}

/* What a far end hears, with items that come by themselves. */
static void say_news(struct liar_line *line)
{
    static const char *const texts[] = { "run2",
                                         "run1 1 5 data",
                                         "run2 2 6 ",
                                         "run2 1 7",
                                         "run3 0 0 x y",
                                         "run2  1 x",
                                         "run2 -1 1 x",
                                         "run* 1 1 x",
                                         " 1 1 x",
                                         "run2 99999999999 1 x",
                                         "run2 1 999999999999999999999 x",
                                         "run2 1 x x" };
    unsigned n = 1 + below(&line->chance, 4);
    say(line, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    while (n--) {
        const char *text = texts[below(&line->chance, below(&line->chance, 4) ? 4 : 12)];
        say(line, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n");
        say_bulk(line, text, strlen(text));
    }
}

/* What could be true. */
static void say_likely(struct liar_line *line, const redisReply *request)
{
    switch (script_of(request)) {
    case LK_OPEN:
        if (below(&line->chance, 2))
            say(line, ":%u\r\n", below(&line->chance, 3));
        else
            say(line, "*3\r\n:1\r\n:%u\r\n:0\r\n", below(&line->chance, 20));
        return;
    case LK_TAKE: say_items(line); return;
    case LK_RENEW: say_names(line); return;
    case -1: break;
    default: say(line, ":0\r\n"); return;
    }
    if (asks(request, "XREAD"))
        say_results(line);
    else if (asks(request, "SMEMBERS"))
        say_runs(line);
    else if (asks(request, "SUBSCRIBE"))
        say_news(line);
    else
        say(line, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
}

static int lie(struct liar_line *line, const redisReply *request)
{
    switch (below(&line->chance, 24)) {
    case 0: say_any(line, 0); return 0;
    case 1: say_error(line); return 0;
    case 2: say_nonsense(line); return 0;
    case 3: say_nonsense(line); return -1;
    case 4: return -1;
    case 5: return 0; /* silence */
    case 6: say_likely(line, request); break;
    case 7:
        say_likely(line, request);
        line->out.size -= line->out.size / 3;
        leat_write(line->io, line->out.bytes, line->out.size);
        return -1;
    default: break;
    }
    say_likely(line, request);
    return 0;
}

/* ---- the ends ---- */

static int check_item(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)arg;
    CHECK(strlen(item->key) < LEAT_KEY_MAX && strlen(item->run) <= LK_NAME);
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

/* ---- a full memory, as an engine before 7.0 tells of it ---- */

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

enum { FLOOD = 48, GREETINGS = 52 };

static void flood(struct liar_line *line)
{
    static const char some[1 << 20];
    say(line, "$%lld\r\n", 1LL << 40);
    for (int i = 0; i < 256; i++)
        if (leat_write(line->io, i ? some : line->out.bytes, i ? sizeof some : line->out.size) < 0)
            return;
}

/* The seed says which reply is a lie, and what it is. */
static int greet_badly(struct liar_line *line, const redisReply *request)
{
    static const char *const lies[] = {
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
        "-ERR unknown command 'AUTH', beginning with: 'secret'\r\n"
    };
    static const char *const commands[] = { "AUTH", "INFO", "CONFIG", "SCRIPT" };
    uint64_t seed = line->liar->seed;
    if (!asks(request, seed < FLOOD ? commands[seed / 12] : commands[seed - FLOOD]))
        return greeted(line, request);
    if (seed >= FLOOD)
        flood(line);
    else
        say(line, "%s", lies[seed % 12]);
    liar_speak(line);
    if (seed >= FLOOD || seed % 12 == 7)
        leat_shutdown(line->io, SHUT_RDWR); /* else it is waited for until 5 s have passed */
    return true;
}

static void check_told(void *arg, const char *message)
{
    (void)arg;
    CHECK(!strstr(message, "secret"));
    CHECK(!strpbrk(message, "\r\n"));
}

static int greeting(void *arg)
{
    struct liar liar = { .greet = greet_badly };
    const leat_link_spec spec = { .password = "secret", .tell = check_told };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    liar_start(&liar, around, lie, *(uint64_t *)arg);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = NULL;
    int error = leat_link_open(scope, liar.url, &spec, &link);
    bool unread =
        liar.seed < 12 && liar.seed % 12 < 10; /* any reply to AUTH but an error will do */
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
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_greeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
