/* test_look_passed.c: the page counts the items that channels have passed on, and names the holders
 * of mutexes. */
#include "look_client.h"

static unsigned passed(const char *name)
{
    char text[64];
    unsigned n;
    CHECK_IS(200, ask("/json"));
    snprintf(text, sizeof text, "\"name\":\"%s\"", name);
    const char *at = strstr(answer, text);
    CHECK(at && (at = strstr(at, "\"passed\":")));
    CHECK_IS(1, sscanf(at, "\"passed\":%u", &n));
    return n;
}

enum { ITEMS = 1000, MANY = 8 };

static int sends(void *ch)
{
    for (int i = 0; i < ITEMS; i++)
        CHECK_IS(0, leat_send(ch, &i));
    return 0;
}

/* An item counts once it has been received, however the channel passes it on. */
static int counts(void *unused)
{
    static const struct {
        const char *name;
        leat_buffer buffer;
        size_t capacity;
    } kinds[] = { { "straight", LEAT_FIXED, 0 },
                  { "buffered", LEAT_FIXED, 16 },
                  { "sliding", LEAT_SLIDING, 2 * ITEMS } };
    int item, items[MANY];
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int),
                                                             .capacity = kinds[i].capacity,
                                                             .buffer = kinds[i].buffer,
                                                             .name = kinds[i].name });
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(inner, sends, ch));
        for (int n = 0; n < ITEMS; n++)
            CHECK_IS(0, leat_recv(ch, &item));
        CHECK_IS(ITEMS, passed(kinds[i].name));
        /* A thread that finds a buffer empty splits it. */
        CHECK_IS(0, leat_go_blocking(inner, sends, ch));
        for (int64_t n = 0, got; n < ITEMS; n += got)
            CHECK((got = leat_recv_many(ch, items, n + MANY < ITEMS ? MANY : 1, LEAT_NEVER)) > 0);
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(2 * ITEMS, passed(kinds[i].name));
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void test_passed(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(counts, NULL, &(leat_options){ .workers = 2 }));
}

static bool is_said(const char *what)
{
    CHECK_IS(200, ask("/json"));
    return strstr(answer, what);
}

static leat_chan *gate;

static int hold(void *mutex)
{
    CHECK_IS(0, leat_mutex_lock(mutex));
    CHECK_IS(-EPIPE, leat_recv(gate, NULL));
    return leat_mutex_unlock(mutex);
}

/* The holder has parked, so that every look finds it. */
static int names_holders(void *unused)
{
    (void)unused;
    char held[64];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    leat_mutex *mutex = leat_mutex_open(s);
    gate = leat_chan_make(s, 0, 0);
    CHECK(is_said("\"passed\":0,\"holder\":null}"));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(inner, hold, mutex, "holder", 0));
    WAIT_UNTIL(receivers_of(gate) == 1 && is_said("\"holder\":\"t"));
    const char *holder = strstr(answer, "\"holder\":\"t");
    snprintf(held, sizeof held, "{\"id\":\"t%lu\",\"kind\":\"task\",\"name\":\"holder\"",
             strtoul(holder + strlen("\"holder\":\"t"), NULL, 10));
    CHECK(strstr(answer, held));
    CHECK_IS(0, leat_close(gate));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK(!is_said("\"holder\":\"t"));
    return leat_scope_close(s);
}

static void test_holders(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(names_holders, NULL, &(leat_options){ .workers = 2 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_passed),
                                        cmocka_unit_test(test_holders) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
