/* test_store.c: the output that waits in leat map: what comes back, and the memory it takes. */
#include "map/store.h"
#include "support.h"

#include <malloc.h>

enum { JOBS = 40, MOST = 100000 };

/* ---- a model: the bytes of each job in order, and their streams ---- */

struct model {
    struct held held;
    size_t begin, end; /* of what waits */
    unsigned char bytes[MOST], streams[MOST];
};

static struct model models[JOBS];
static struct store store;
static uint64_t rng;

static unsigned up_to(unsigned n)
{
    return lt_rng_below(&rng, n);
}

static void add(struct model *m, size_t n, enum stream stream)
{
    n = n < MOST - m->end ? n : MOST - m->end;
    for (size_t i = 0; i < n; i++) {
        m->bytes[m->end + i] = (unsigned char)up_to(256);
        m->streams[m->end + i] = (unsigned char)stream;
    }
    if (n && store_add(&store, &m->held, stream, (char *)m->bytes + m->end, n, false))
        m->end += n;
}

/* Takes some bytes; false: there are none. */
static bool take(struct model *m)
{
    enum stream stream;
    char *bytes;
    int64_t n = store_take(&store, &m->held, &stream, &bytes);
    CHECK(n >= 0 && (size_t)n <= m->end - m->begin && (n > 0) == (m->begin < m->end));
    if (n == 0)
        return false;
    CHECK(memcmp(bytes, m->bytes + m->begin, (size_t)n) == 0);
    for (size_t i = 0; i < (size_t)n; i++)
        CHECK_IS(m->streams[m->begin + i], stream);
    free(bytes);
    m->begin += (size_t)n;
    return true;
}

static void drop_stream(struct model *m, enum stream stream)
{
    size_t to = m->begin;
    store_drop_stream(&store, &m->held, stream);
    for (size_t i = m->begin; i < m->end; i++) {
        m->bytes[to] = m->bytes[i];
        m->streams[to] = m->streams[i];
        to += m->streams[i] != stream;
    }
    m->end = to;
}

static void act(struct model *m)
{
    static const unsigned sizes[] = { 2, 20, 5000, 70000 };
    unsigned what = up_to(20);
    if (what < 14)
        add(m, 1 + up_to(sizes[up_to(4)]), up_to(8) ? STREAM_OUT : STREAM_ERR);
    else if (what < 18)
        take(m);
    else if (what < 19)
        drop_stream(m, up_to(2) ? STREAM_OUT : STREAM_ERR);
    else
        while (take(m)) {
        }
    if (m->begin == m->end)
        m->begin = m->end = 0;
}

/* Leaves this much room in memory. */
static void fill_memory(struct held *held, size_t room)
{
    static char bytes[64 * 1024];
    size_t n = sizeof bytes;
    while (STORE_MEMORY - (size_t)store.memory > room + 2 * n)
        CHECK(store_add(&store, held, STREAM_OUT, bytes, n, false));
}

static void gives_back_what_it_got(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        struct held ballast = { 0 };
        rng = (uint64_t)round;
        store_open(&store, round % 4 == 0 ? 0 : round % 4 == 1 ? 100000 : INT64_C(1) << 30);
        fill_memory(&ballast, round < 4 ? 0 : 400000);
        for (int i = 0; i < 6000 / SCALE; i++)
            act(&models[up_to(JOBS)]);
        for (int i = 0; i < JOBS; i++) {
            if (i % 2)
                store_drop(&store, &models[i].held);
            else
                while (take(&models[i])) {
                }
            models[i].begin = models[i].end = 0;
        }
        CHECK_IS(0, store.spilled);
        store_drop(&store, &ballast);
        CHECK_IS(0, store.memory);
        store_close(&store);
    }
}

/* ---- memory ---- */

/* Jobs that write a byte at a time need no more memory than others. */
static void needs_little_memory_for_small_pieces(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their malloc does not count */
#endif
    enum { BYTES = 1000000 };
    static struct held held[JOBS];
    size_t before = mallinfo2().uordblks;
    store_open(&store, INT64_C(1) << 30);
    for (int i = 0; i < BYTES; i++)
        CHECK(store_add(&store, &held[i % JOBS], STREAM_OUT, "x", 1, false));
    CHECK(mallinfo2().uordblks - before < STORE_MEMORY + STORE_MEMORY / 8);
    for (int i = 0; i < JOBS; i++)
        store_drop(&store, &held[i]);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_it_got),
        cmocka_unit_test(needs_little_memory_for_small_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
