/* test_frames.c: frames from descriptors to channels, and back. */
#include "feeds.h"

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    leat_chan *ch = NULL, *bytes = leat_chan_of(s, char, 1), *none = leat_chan_make(s, 0, 1);
    CHECK_IS(-EINVAL, leat_frames(NULL, pipe.out, 4, 4, &ch));
    CHECK_IS(-EINVAL, leat_frames(s, NULL, 4, 4, &ch));
    CHECK_IS(-EINVAL, leat_frames(s, pipe.out, 0, 4, &ch));
    CHECK_IS(-EINVAL, leat_frames(s, pipe.out, (1 << 20) + 1, 4, &ch));
    CHECK_IS(-EINVAL, leat_frames(s, pipe.out, 4, 4, NULL));
    CHECK_IS(-ENOMEM, leat_frames(s, pipe.out, 4, SIZE_MAX, &ch));
    CHECK(!ch);
    CHECK_IS(-EINVAL, leat_write_frames(NULL, bytes, pipe.in));
    CHECK_IS(-EINVAL, leat_write_frames(s, NULL, pipe.in));
    CHECK_IS(-EINVAL, leat_write_frames(s, bytes, NULL));
    CHECK_IS(-EINVAL, leat_write_frames(s, none, pipe.in));
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

static void frames_arrive(const char *bytes, size_t n, size_t size, uint64_t *chance)
{
    char *frame = malloc(size);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    struct feed f = { pipe.in, bytes, n, 1 + below(chance, 5000), 1 + below(chance, 1000) };
    leat_scope *reading = leat_scope_open(LEAT_NEVER);
    leat_chan *frames;
    size_t got = 0;
    int error;
    CHECK(frame);
    CHECK_IS(0, leat_go(s, feed, &f));
    CHECK_IS(0, leat_frames(reading, pipe.out, size, below(chance, 4), &frames));
    while ((error = leat_recv(frames, frame)) == 0) {
        CHECK(memcmp(bytes + got, frame, size) == 0);
        got += size;
    }
    if (n % size) { /* some of the last frames may go down with the scope */
        CHECK_IS(-ECANCELED, error);
        CHECK_IS(-EBADMSG, leat_scope_close(reading));
    } else {
        CHECK_IS(n, got);
        CHECK_IS(-EPIPE, error);
        CHECK_IS(0, leat_scope_close(reading));
    }
    CHECK_IS(0, leat_scope_close(s));
    free(frame);
}

static int reads_frames(void *arg)
{
    (void)arg;
    static const size_t sizes[] = { 1, 4, 100, 4096, 65536, 70000, 300000 };
    static char bytes[300000];
    uint64_t chance = seed_of_test();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)below(&chance, 256);
    frames_arrive(bytes, 0, 7, &chance);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (sizes[i] < 100 ? 5000 : sizeof bytes) / sizes[i] * sizes[i];
        frames_arrive(bytes, n, sizes[i], &chance);
        frames_arrive(bytes, n - (sizes[i] > 1), sizes[i], &chance);
    }
    return 0;
}
ON_WORKERS(reads_frames);

static int frames_before_the_error_arrive(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(outer);
    struct outsider o = { 0 };
    leat_line none[5] = { 0 };
    CHECK_IS(sizeof none - 1, leat_write(pipe.in, none, sizeof none - 1));
    CHECK_IS(0, leat_io_close(pipe.in));
    CHECK_IS(0, leat_frames(s, pipe.out, sizeof *none, 1, &o.ch));
    CHECK_IS(0, leat_go(outer, receive_all, &o));
    WAIT_UNTIL(atomic_load(&o.done));
    CHECK_IS(4, o.n);
    CHECK_IS(-ECANCELED, o.error);
    CHECK_IS(-EBADMSG, leat_scope_close(s));
    return leat_scope_close(outer);
}
ON_WORKERS(frames_before_the_error_arrive);

struct record {
    int number;
    char rest[60];
};

static int frames_go_there_and_back(void *arg)
{
    (void)arg;
    enum { N = 20000 / SCALE };
    struct record *records = calloc(N, sizeof *records), record;
    CHECK(records);
    for (int i = 0; i < N; i++)
        records[i].number = i;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    leat_chan *to = leat_chan_of(s, struct record, 50), *from;
    CHECK_IS(0, leat_write_frames(s, to, pipe.in));
    CHECK_IS(0, leat_frames(s, pipe.out, sizeof record, 50, &from));
    CHECK(leat_onto(s, to, records, N, LEAT_ENDS_CLOSED));
    for (int i = 0; i < N; i++) {
        CHECK_IS(0, leat_recv(from, &record));
        CHECK_IS(i, record.number);
    }
    CHECK_IS(0, leat_io_close(pipe.in));
    CHECK_IS(-EPIPE, leat_recv(from, &record));
    CHECK_IS(0, leat_scope_close(s));
    free(records);
    return 0;
}
ON_WORKERS(frames_go_there_and_back);

static int reports_write_errors_of_frames(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(outer);
    leat_chan *frames = leat_chan_of(outer, int, 1);
    CHECK_IS(0, leat_io_close(pipe.out));
    CHECK_IS(0, leat_write_frames(s, frames, pipe.in));
    CHECK_IS(0, leat_try_send(frames, &(int){ 1 }));
    WAIT_UNTIL(leat_chan_closed(frames));
    CHECK_IS(-EPIPE, leat_try_send(frames, &(int){ 2 }));
    CHECK_IS(-EPIPE, leat_scope_close(s));
    return leat_scope_close(outer);
}
ON_WORKERS(reports_write_errors_of_frames);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(reads_frames),
        TESTS_ON_WORKERS(frames_before_the_error_arrive),
        TESTS_ON_WORKERS(frames_go_there_and_back),
        TESTS_ON_WORKERS(reports_write_errors_of_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
