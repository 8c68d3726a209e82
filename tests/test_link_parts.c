/* test_link_parts.c: the parts of libleat-link that need no engine: addresses, requests, bytes,
 * names, and what the public functions refuse. */
#include "support.h"

#include "src/bytes.h"
#include "src/far.h"

#include <leat/link.h>

/* ---- addresses ---- */

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_url(const char *text, const char *address, const char *user, const char *password,
                      const char *database)
{
    struct lk_url url;
    snprintf(check_note, sizeof check_note, "%s", text);
    CHECK_IS(0, lk_url_parse(&url, text));
    CHECK(same(url.address, address));
    CHECK(same(url.user, user));
    CHECK(same(url.password, password));
    CHECK(same(url.database, database));
    lk_url_free(&url);
    CHECK(!url.address && !url.user && !url.password && !url.database);
    check_note[0] = '\0';
}

static void check_host(const char *text, const char *address, const char *host, bool tls)
{
    struct lk_url url;
    check_url(text, address, NULL, NULL, NULL);
    CHECK_IS(0, lk_url_parse(&url, text));
    CHECK(same(url.host, host));
    CHECK_IS(tls, url.tls);
    lk_url_free(&url);
    CHECK(!url.host && !url.tls);
}

static void test_urls(void **state)
{
    (void)state;
    check_url("redis://host", "host:6379", NULL, NULL, NULL);
    check_url("redis://host/", "host:6379", NULL, NULL, NULL);
    check_url("redis://host:70", "host:70", NULL, NULL, NULL);
    check_url("redis://host:70/12", "host:70", NULL, NULL, "12");
    check_url("redis://host/99999", "host:6379", NULL, NULL, "99999");
    check_url("redis://192.0.2.1:service", "192.0.2.1:service", NULL, NULL, NULL);
    check_url("redis://[::1]", "[::1]:6379", NULL, NULL, NULL);
    check_url("redis://[fe80::1%eth0]:7/1", "[fe80::1%eth0]:7", NULL, NULL, "1");
    check_url("redis+unix:/run/x.sock", "unix:/run/x.sock", NULL, NULL, NULL);
    check_url("redis+unix:/run/x.sock?db=3", "unix:/run/x.sock", NULL, NULL, "3");
    check_url("redis+unix:/run/x.sock?db=", "unix:/run/x.sock", NULL, NULL, NULL);
    check_url("redis+unix:/a%20b@c:d", "unix:/a%20b@c:d", NULL, NULL, NULL);
}

static void test_hosts(void **state)
{
    (void)state;
    check_host("redis://host", "host:6379", "host", false);
    check_host("rediss://host", "host:6379", "host", true);
    check_host("rediss://@host.:70/", "host.:70", "host.", true);
    check_host("rediss://192.0.2.1", "192.0.2.1:6379", "192.0.2.1", true);
    check_host("rediss://[::1]:7", "[::1]:7", "::1", true);
    check_host("rediss://[fe80::1%eth0]", "[fe80::1%eth0]:6379", "fe80::1", true);
    check_host("redis+unix:/run/x.sock", "unix:/run/x.sock", NULL, false);
    check_url("rediss://me:pw@host:1/2", "host:1", "me", "pw", "2");
}

static void test_users(void **state)
{
    (void)state;
    check_url("redis://me@host", "host:6379", "me", NULL, NULL);
    check_url("redis://me:pw@host", "host:6379", "me", "pw", NULL);
    check_url("redis://:pw@host", "host:6379", NULL, "pw", NULL);
    check_url("redis://me:@host", "host:6379", "me", "", NULL);
    check_url("redis://@host", "host:6379", NULL, NULL, NULL);
    check_url("redis://me:p@w@host:1/2", "host:1", "me", "p@w", "2");
    check_url("redis://me:a:b@[::1]", "[::1]:6379", "me", "a:b", NULL);
    check_url("redis://%6d%65:%2f%3A%40%25%C3%A4@host", "host:6379", "me", "/:@%\xc3\xa4", NULL);
}

static void test_wrong_urls(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "host",
        "redis",
        "redis:",
        "redis:/host",
        "redis://",
        "redis:///0",
        "redis://me@",
        "redis://:6379",
        "redis://host:",
        "redis://[::1]:",
        "redis://host/x",
        "redis://host/-1",
        "redis://host/123456",
        "redis://host/0/",
        "redis://host/0?x",
        "redis://host?db=1",
        "redis://host#x",
        "redis://%@host",
        "redis://%4@host",
        "redis://%4g@host",
        "redis://%g4@host",
        "redis://me:%00@host",
        "redis://me:pw%@host",
        "redis://udp:127.0.0.1:53",
        "redis://::1",
        "redis://fe80::1",
        "redis://unix:6379",
        "redis://udp:6379",
        "redis://udp",
        "redis+unix:",
        "redis+unix:x",
        "redis+unix:@x",
        "redis+unix:/x?db=y",
        "redis+unix:/x?db=1&y",
        "rediss://",
        "rediss:/host",
        "rediss://:6379",
        "rediss://me:%00@host",
        "rediss+unix:/x",
        "http://host",
        "REDIS://host",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct lk_url url;
        snprintf(check_note, sizeof check_note, "%s", wrong[i]);
        CHECK_IS(-EINVAL, lk_url_parse(&url, wrong[i]));
        CHECK(!url.address && !url.user && !url.password && !url.database);
    }
    check_note[0] = '\0';
}

/* ---- requests ---- */

static void check_request(const struct lk_request *request, unsigned replies, const char *text)
{
    CHECK(!request->failed);
    CHECK_IS(replies, request->replies);
    CHECK_IS(strlen(text), request->bytes.size);
    CHECK_IS(0, memcmp(request->bytes.data, text, request->bytes.size));
}

static void test_requests(void **state)
{
    (void)state;
    struct lk_request request = { 0 };
    lk_request_texts(&request, "PING", NULL);
    check_request(&request, 1, "*1\r\n$4\r\nPING\r\n");
    lk_request_texts(&request, "A", "", "bcd", NULL);
    check_request(&request, 2, "*1\r\n$4\r\nPING\r\n*3\r\n$1\r\nA\r\n$0\r\n\r\n$3\r\nbcd\r\n");
    lk_request_empty(&request);
    check_request(&request, 0, "");
    lk_request_begin(&request, 12345);
    lk_request_number(&request, INT64_MIN);
    lk_request_number(&request, 0);
    lk_request_word(&request, NULL, 0);
    lk_request_raw(&request, "$1\r\nx\r\n", 7);
    check_request(&request, 1,
                  "*12345\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n$0\r\n\r\n"
                  "$1\r\nx\r\n");
    lk_request_free(&request);
    CHECK(!request.bytes.data && !request.bytes.size && !request.bytes.room && !request.replies);
}

static void test_large_request(void **state)
{
    (void)state;
    enum { LARGE = 3 << 20 };
    struct lk_request request = { 0 };
    char *bytes = malloc(LARGE);
    CHECK(bytes);
    memset(bytes, '\r', LARGE);
    lk_request_begin(&request, 1);
    lk_request_word(&request, bytes, LARGE);
    CHECK_IS(4 + 10 + LARGE + 2, request.bytes.size);
    CHECK_IS(0, memcmp(request.bytes.data, "*1\r\n$3145728\r\n\r", 15));
    CHECK_IS(0, memcmp(request.bytes.data + request.bytes.size - 3, "\r\r\n", 3));
    lk_request_empty(&request); /* which keeps no more than a MiB */
    CHECK_IS(0, request.bytes.room);
    free(bytes);
}

/* Once memory has run out, calls do nothing until the request is emptied. */
static void test_failed_request(void **state)
{
    (void)state;
    struct lk_request request = { .failed = true };
    lk_request_texts(&request, "PING", NULL);
    CHECK(request.failed && !request.bytes.size && !request.bytes.data);
    lk_request_empty(&request);
    lk_request_texts(&request, "PING", NULL);
    check_request(&request, 1, "*1\r\n$4\r\nPING\r\n");
    lk_request_free(&request);
}

/* ---- bytes ---- */

static void test_bytes(void **state)
{
    (void)state;
    leat_bytes bytes = { .most = 10 };
    CHECK_IS(-EINVAL, leat_bytes_add(NULL, "x", 1));
    CHECK_IS(-EINVAL, leat_bytes_add(&bytes, NULL, 1));
    CHECK_IS(0, leat_bytes_add(&bytes, NULL, 0));
    CHECK_IS(0, leat_bytes_add(&bytes, "", 0));
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, "0123456789a", 11));
    CHECK_IS(0, leat_bytes_add(&bytes, "01234", 5));
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, "567890", 6));
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, "x", SIZE_MAX));
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, "x", SIZE_MAX - 4));
    CHECK_IS(5, bytes.size);
    CHECK_IS(0, leat_bytes_add(&bytes, "56789", 5));
    CHECK_IS(0, memcmp(bytes.data, "0123456789", 10));
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, "x", 1));
    CHECK_IS(0, leat_bytes_add(&bytes, NULL, 0));
    lk_bytes_free(&bytes);
    CHECK(!bytes.data && !bytes.size && !bytes.room);
    CHECK_IS(10, bytes.most);
}

/* They grow by themselves, and everything stays. */
static void test_many_bytes(void **state)
{
    (void)state;
    leat_bytes bytes = { .most = 1 << 20 };
    char some[1000];
    size_t size = 0, n = 0;
    for (; size + n <= bytes.most; size += n, n = (n + 7) % sizeof some) {
        memset(some, (int)(n % 251), sizeof some);
        CHECK_IS(0, n ? leat_bytes_add(&bytes, some, n) : 0);
    }
    CHECK_IS(size, bytes.size);
    CHECK_IS(-EMSGSIZE, leat_bytes_add(&bytes, some, bytes.most - size + 1));
    n = 0;
    for (size_t at = 0; at < size; n = (n + 7) % sizeof some)
        for (size_t i = 0; i < n; i++)
            CHECK_IS(n % 251, bytes.data[at++] & 255);
    lk_bytes_free(&bytes);
}

/* ---- names ---- */

static void test_names(void **state)
{
    (void)state;
    char name[131];
    CHECK(!lk_is_name(NULL) && !lk_is_name(""));
    CHECK(lk_is_name("a") && lk_is_name("-") && lk_is_name("azAZ09._-+"));
    for (int c = 1; c < 256; c++) {
        char text[] = { 'x', (char)c, 0 };
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool allowed = letter || (c >= '0' && c <= '9') || strchr("._-+", c);
        CHECK_IS(allowed, lk_is_name(text));
    }
    memset(name, 'x', sizeof name);
    name[128] = '\0';
    CHECK(lk_is_name(name));
    name[128] = 'x';
    name[129] = '\0';
    CHECK(!lk_is_name(name));
}

static void test_keys(void **state)
{
    (void)state;
    struct lk_keys keys;
    leat_link link = { .prefix = "p:" };
    CHECK_IS(0, lk_keys_make(&keys, &link, "s", "r"));
    CHECK(same(keys.channel, "p:{s}") && same(keys.runs, "p:{s}:runs"));
    CHECK(same(keys.results, "p:{s}:r:results") && same(keys.run, "r"));
    CHECK_IS(0,
             strncmp(keys.words.bytes.data, "$11\r\np:{s}:r:run\r\n$13\r\np:{s}:r:items\r\n", 38));
    CHECK_IS(
        0, memcmp(keys.words.bytes.data + keys.words.bytes.size - 17, "$10\r\np:{s}:runs\r\n", 17));
    lk_keys_free(&keys);
}

/* The engine compares a far end's count of lone items with its own, which has 64 bits. */
static void test_many_lone_items(void **state)
{
    (void)state;
    static const char last[] = "$10\r\n4294967296\r\n";
    static struct lk_far far = { .spec.stage = "s", .free = 1 };
    leat_link link = { .prefix = "p:", .lease = LEAT_S };
    far.link = &link;
    far.renew_at = far.look_at = LEAT_NEVER;
    struct lk_run *run = lk_run_find(&far, "r");
    run->ready = true;
    run->received = UINT32_MAX;
    run->received++;
    CHECK_IS(0, lk_far_plan(&far));
    const leat_bytes *bytes = &far.engine.request.bytes;
    CHECK_IS(0, memcmp(bytes->data + bytes->size - strlen(last), last, strlen(last)));
    lk_request_free(&far.engine.request);
    lk_runs_free(&far);
    free(far.steps);
}

/* ---- what the public functions refuse ---- */

static void nothing(void *item)
{
    (void)item;
}

static int work(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)arg;
    (void)item;
    (void)result;
    return 0;
}

static int refused_links(void *arg)
{
    (void)arg;
    static char prefix[66];
    leat_link *link = NULL;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const char *url = "redis+unix:/nowhere/at/all";
    const leat_link_spec wrong[] = { { .away = -1 },
                                     { .lease = -1 },
                                     { .lease = 100 * LEAT_MS - 1 },
                                     { .lease = 25 * 3600 * LEAT_S },
                                     { .prefix = memset(prefix, 'x', 65) },
                                     { .prefix = "{" },
                                     { .prefix = "x}" },
                                     { .cert = "/x" },
                                     { .key = "/x" } };
    CHECK_IS(-EINVAL, leat_link_open(NULL, url, NULL, &link));
    CHECK_IS(-EINVAL, leat_link_open(scope, NULL, NULL, &link));
    CHECK_IS(-EINVAL, leat_link_open(scope, url, NULL, NULL));
    CHECK_IS(-EINVAL, leat_link_open(scope, "host", NULL, &link));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_IS(-EINVAL, leat_link_open(scope, url, &wrong[i], &link));
    leat_link_spec right = { .prefix = prefix + 1, .lease = 100 * LEAT_MS };
    CHECK_IS(-ENOENT, leat_link_open(scope, url, &right, &link));
    CHECK(!link);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static int refused_stages(void *arg)
{
    leat_link *link = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(scope, int, 0);
    const leat_remote_spec right = { .link = link,
                                     .stage = "s",
                                     .run = "r",
                                     .n = 1,
                                     .in_size = sizeof(int),
                                     .out_size = sizeof(leat_outcome),
                                     .drop = nothing };
#define REFUSED(...) \
    do { \
        leat_remote_spec spec = right; \
        (void)spec; \
        __VA_ARGS__; \
        CHECK(!leat_remote(scope, in, &spec)); \
    } while (0)
    CHECK(!leat_remote(NULL, in, &right));
    CHECK(!leat_remote(scope, NULL, &right));
    CHECK(!leat_remote(scope, in, NULL));
    REFUSED(spec.link = NULL);
    REFUSED(spec.stage = NULL);
    REFUSED(spec.stage = "a b");
    REFUSED(spec.run = NULL);
    REFUSED(spec.run = "");
    REFUSED(spec.n = 0);
    REFUSED(spec.n = 65537);
    REFUSED(spec.n = 5, spec.window = 4);
    REFUSED(spec.window = (1 << 20) + 1);
    REFUSED(spec.in_size = (1 << 20) + 1);
    REFUSED(spec.in_size = sizeof(int) - 1);
    REFUSED(spec.in_size = 0);
    REFUSED(spec.out = in);
    REFUSED(spec.out_size = (1 << 20) + 1);
    REFUSED(spec.out_size = sizeof(leat_outcome) - 1, spec.failing = LEAT_FAIL_TELLS);
    REFUSED(spec.failing = (leat_failing)(LEAT_FAIL_TELLS + 1));
    REFUSED(spec.failing = (leat_failing)-1);
    REFUSED(spec.ending = (leat_ending)(LEAT_ENDS_OPEN + 1));
    REFUSED(spec.max_bytes = ((size_t)64 << 20) + 1);
    REFUSED(spec.max_bytes = SIZE_MAX);
    REFUSED(spec.capacity = SIZE_MAX);
#undef REFUSED
    CHECK_IS(0, leat_scope_tasks(scope));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static const leat_serve_stage_spec served = { .stage = "s", .n = 1, .run = work };

struct asker {
    leat_block block;
    leat_link *link;
};

static int serve_in_block(leat_block *b)
{
    const struct asker *asker = (struct asker *)b;
    CHECK_IS(-EDEADLK, leat_serve_stage(asker->link, &served));
    return 0;
}

static int refused_far_ends(void *arg)
{
    leat_link *link = arg;
    struct asker asker = { .link = link };
    const leat_serve_stage_spec right = served;
#define REFUSED(...) \
    do { \
        leat_serve_stage_spec spec = right; \
        __VA_ARGS__; \
        CHECK_IS(-EINVAL, leat_serve_stage(link, &spec)); \
    } while (0)
    CHECK_IS(-EINVAL, leat_serve_stage(NULL, &right));
    CHECK_IS(-EINVAL, leat_serve_stage(link, NULL));
    REFUSED(spec.stage = NULL);
    REFUSED(spec.stage = "a/b");
    REFUSED(spec.run = NULL);
    REFUSED(spec.n = 0);
    REFUSED(spec.n = 65537);
    REFUSED(spec.grace = -1);
    REFUSED(spec.stack_size = (16 << 10) - 1);
    REFUSED(spec.stack_size = ((size_t)1 << 30) + 1);
    REFUSED(spec.max_bytes = ((size_t)64 << 20) + 1);
#undef REFUSED
    CHECK_IS(-EINVAL, leat_link_forget(NULL, "s", "r"));
    CHECK_IS(-EINVAL, leat_link_forget(link, NULL, "r"));
    CHECK_IS(-EINVAL, leat_link_forget(link, "s", NULL));
    CHECK_IS(-EINVAL, leat_link_forget(link, "s:", "r"));
    CHECK_IS(-EINVAL, leat_link_forget(link, "s", "r*"));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_block(scope, &asker.block, serve_in_block));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

/* In a cancelled scope, and without a listener at the address. */
static int no_listener(void *arg)
{
    leat_link *link = arg;
    const leat_serve_stage_spec spec = { .stage = "s", .n = 1, .run = work };
    CHECK_IS(-EHOSTDOWN, leat_serve_stage(link, &spec));
    CHECK_IS(-ENOENT, leat_link_forget(link, "s", "r"));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(scope, int, 0);
    leat_remote_spec remote = {
        .link = link, .stage = "s", .run = "r", .n = 1, .in_size = sizeof(int)
    };
    leat_chan *out = leat_remote(scope, in, &remote);
    CHECK(out);
    CHECK_IS(-ECANCELED, leat_recv(out, NULL));
    CHECK_IS(-EHOSTDOWN, leat_scope_close(scope));
    link->away = LEAT_NEVER;
    scope = leat_scope_open(LEAT_NEVER);
    leat_scope_cancel(scope);
    CHECK_IS(-ECANCELED, leat_serve_stage(link, &spec));
    CHECK_IS(-ECANCELED, leat_link_forget(link, "s", "r"));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static void test_refused(void **state)
{
    (void)state;
    leat_link link = { .prefix = "p:", .lease = LEAT_S, .away = LEAT_MS };
    CHECK_IS(0, lk_url_parse(&link.url, "redis+unix:/nowhere/at/all"));
    const leat_options options = { .workers = 2 };
    CHECK_IS(0, leat_main_with(refused_links, NULL, &options));
    CHECK_IS(0, leat_main_with(refused_stages, &link, &options));
    CHECK_IS(0, leat_main_with(refused_far_ends, &link, &options));
    CHECK_IS(0, leat_main_with(no_listener, &link, &options));
    lk_url_free(&link.url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),           cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_users),          cmocka_unit_test(test_wrong_urls),
        cmocka_unit_test(test_requests),       cmocka_unit_test(test_large_request),
        cmocka_unit_test(test_failed_request), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_many_bytes),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_keys),           cmocka_unit_test(test_many_lone_items),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
