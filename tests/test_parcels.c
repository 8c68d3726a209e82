/* test_parcels.c: what lies in a queue, a job for a worker or a result for leat map, may be
 * arbitrary bytes. Those of a leat are read as they were written; and whatever a seed makes of them
 * is refused or has all that its reader relies on. Each copy fills its memory, so that
 * AddressSanitizer sees a read beyond it. */
#include "support.h"

#include "map/host.h"
#include "worker/order.h"

#include <signal.h>

enum { LIES = 60000, MOST = 1 << 14 };

/* Called where a result has failed, which answer_read only says. */
bool end_run(struct run *run, bool kill, int signal, int status)
{
    (void)run, (void)kill, (void)signal, (void)status;
    abort();
}

void streams_say(struct streams *s, const char *format, ...)
{
    (void)s, (void)format;
    abort();
}

/* ---- parcels of a leat ---- */

static void put_hello(struct text *to, bool of_map)
{
    struct text body = { 0 };
    text_add(&body, leat_version(), strlen(leat_version()) + 1);
    if (of_map) {
        frame_add(&body, 1000000, 8);
        text_add(&body, "folder", 7);
    }
    frame_put(to, FRAME_HELLO, 0, body.bytes, body.len);
    text_free(&body);
}

static void make_job(struct text *to)
{
    static const char strings[] = "LEAT_SEQ=1\0LEAT_SLOT=1\0LEAT_TRY=1\0sh\0-c\0cat";
    struct text limit = { 0 };
    frame_add(&limit, 5000000, 8);
    put_hello(to, true);
    frame_put_all(to, FRAME_ARGUMENTS, 0, strings, sizeof strings);
    frame_put(to, FRAME_LIMIT, 0, limit.bytes, limit.len);
    frame_put(to, FRAME_START, 0, "\6\0\0\0\1", 5);
    frame_put(to, FRAME_INPUT, 0, "some input", 10);
    text_free(&limit);
}

static void make_result(struct text *to)
{
    struct text body = { 0 };
    put_hello(to, false);
    frame_put(to, FRAME_OUTPUT, 0, "some output", 11);
    frame_put(to, FRAME_ERRORS, 0, "an error", 8);
    frame_add(&body, 7000, 8);
    frame_add(&body, 10, 8);
    frame_add(&body, 0, 1);
    text_add(&body, "host", 5);
    frame_put(to, FRAME_RAN, 0, body.bytes, body.len);
    frame_put(to, FRAME_ENDED, 0, "\3\0\0\0\0\0\0\0", 8);
    text_free(&body);
}

/* ---- reading ---- */

static int read_job(const char *bytes, size_t n, struct order *order)
{
    int error = order_read(order, bytes, n);
    CHECK(error == 0 || error == -EBADMSG || error == -EPROTONOSUPPORT);
    CHECK(order->strings.len + order->input.len <= n);
    if (error)
        return error;
    CHECK(order->grace >= 0 && order->limit >= 0);
    CHECK(order->folder >= bytes && order->folder + strlen(order->folder) < bytes + n);
    CHECK(order->count > 3 && frame_strings_are(&order->strings, order->count));
    CHECK(order->has_input || !order->input.len);
    return 0;
}

static int read_result(const char *bytes, size_t n, struct remote *remote)
{
    int error = answer_read(remote, bytes, n);
    CHECK(error == 0 || error == -EBADMSG || error == -EPROTONOSUPPORT || error == -EMSGSIZE);
    CHECK(!memchr(remote->ran.host, '\n', strnlen(remote->ran.host, sizeof remote->ran.host)));
    CHECK(memchr(remote->ran.host, 0, sizeof remote->ran.host));
    CHECK(remote->output[STREAM_OUT].len + remote->output[STREAM_ERR].len <= (error ? 0 : n));
    CHECK(error || (remote->ended && remote->ran.host[0] && remote->ran.took >= 0));
    return error;
}

static int read_copy(const char *bytes, size_t n, bool of_map)
{
    struct order order = { 0 };
    struct remote remote = { 0 };
    char *copy = malloc(n + !n);
    CHECK(copy);
    memcpy(copy, bytes, n);
    int error = of_map ? read_job(copy, n, &order) : read_result(copy, n, &remote);
    order_free(&order);
    for (int i = 0; i < STREAMS; i++)
        text_free(&remote.output[i]);
    free(copy);
    return error;
}

/* ---- the tests ---- */

static void test_whole(void **state)
{
    (void)state;
    struct text job = { 0 }, result = { 0 };
    struct order order;
    struct remote remote = { 0 };
    make_job(&job);
    make_result(&result);
    CHECK_IS(0, read_job(job.bytes, job.len, &order));
    CHECK_IS(6, order.count);
    CHECK_IS(5000000, order.limit);
    CHECK(strcmp(order.folder, "folder") == 0 && order.input.len == 10);
    CHECK_IS(0, read_result(result.bytes, result.len, &remote));
    CHECK_IS(3, remote.exit.code);
    CHECK_IS(7000, remote.ran.took);
    CHECK(remote.output[STREAM_OUT].len == 11 && remote.output[STREAM_ERR].len == 8);
    order_free(&order);
    for (int i = 0; i < STREAMS; i++)
        text_free(&remote.output[i]);
    text_free(&job);
    text_free(&result);
}

/* A result that is cut short is refused; a job is complete from its START on, at each frame's
 * end. */
static void test_cut_short(void **state)
{
    (void)state;
    struct text job = { 0 }, result = { 0 };
    make_job(&job);
    make_result(&result);
    for (size_t n = 0; n < job.len; n++)
        CHECK_IS(n == job.len - FRAME_HEAD - 10 ? 0 : -EBADMSG, read_copy(job.bytes, n, true));
    for (size_t n = 0; n < result.len; n++)
        CHECK_IS(-EBADMSG, read_copy(result.bytes, n, false));
    text_free(&job);
    text_free(&result);
}

static void lie(uint64_t *chance, struct text *parcel)
{
    static const unsigned char odd[] = { 0, 1, 2, 3, 7, 9, 12, 13, 127, 128, 255 };
    size_t n = parcel->len, at = below(chance, (unsigned)n), from = below(chance, (unsigned)n);
    switch (below(chance, 5)) {
    case 0: parcel->bytes[at] = (char)below(chance, 256); break;
    case 1: parcel->bytes[at] = (char)odd[below(chance, sizeof odd)]; break;
    case 2: parcel->len = at + 1; break;
    case 3: memmove(parcel->bytes + at, parcel->bytes + from, n - (at > from ? at : from)); break;
    default: /* a part twice */
        if (n < MOST && text_reserve(parcel, at))
            text_add(parcel, parcel->bytes, at);
    }
}

static void test_lies(void **state)
{
    (void)state;
    uint64_t chance = seed_of_test();
    unsigned read = 0;
    for (int i = 0; i < LIES / SCALE; i++) {
        struct text parcel = { 0 };
        bool of_map = i % 2;
        (of_map ? make_job : make_result)(&parcel);
        for (unsigned n = 1 + below(&chance, 3); n--;)
            lie(&chance, &parcel);
        read += read_copy(parcel.bytes, parcel.len, of_map) == 0;
        text_free(&parcel);
    }
    CHECK(read > 0); /* some bytes may be any */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole),
                                        cmocka_unit_test(test_cut_short),
                                        cmocka_unit_test(test_lies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
