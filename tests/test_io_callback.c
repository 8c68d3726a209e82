/* test_io_callback.c: transfers by callbacks: ended by bytes, by a close, by their scope, and taken
 * back at any moment. */
#define _GNU_SOURCE
#include "counted.h"
#include "descriptors.h"
#include "traffic.h"

static int callbacks_transfer(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char bytes[10] = "", byte;
    for (int i = 0; i < 4; i++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        open_two(outer, true, ends);
        struct counted reads = counted_op(i & 1 ? s : NULL, i & 2 ? LEAT_ON_WORKER : 0),
                       writes = reads;
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, sizeof bytes, count_call));
        CHECK_IS(0, atomic_load(&reads.calls));
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], "hello", 5, count_call));
        WAIT_UNTIL(atomic_load(&reads.calls));
        WAIT_UNTIL(atomic_load(&writes.calls));
        CHECK(atomic_load(&reads.status) > 0 && bytes[0] == 'h');
        CHECK_IS(0, atomic_load(&writes.status));
        CHECK_IS(5, writes.op.done);
        size_t got = (size_t)atomic_load(&reads.status);
        CHECK_IS(5 - got, got < 5 ? leat_read_full(ends[0], bytes + got, 5 - got, late()) : 0);
        CHECK(memcmp(bytes, "hello", 5) == 0);

        /* Again with the same memory: ended by a close, */
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, 1, count_call));
        CHECK_IS(0, leat_io_close(ends[0]));
        WAIT_UNTIL(atomic_load(&reads.calls) == 2);
        CHECK_IS(-EBADF, atomic_load(&reads.status));
        CHECK_IS(0, leat_read_then(&reads.op, ends[0], bytes, 1, count_call));
        WAIT_UNTIL(atomic_load(&reads.calls) == 3);
        CHECK_IS(-EBADF, atomic_load(&reads.status));
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], "x", 1, count_call));
        WAIT_UNTIL(atomic_load(&writes.calls) == 2);
        CHECK_IS(-EPIPE, atomic_load(&writes.status));
        CHECK_IS(0, writes.op.done);
        CHECK_IS(0, leat_scope_close(s));

        /* and by the scope, which may have been cancelled before. */
        open_two(outer, true, ends);
        s = leat_scope_open(LEAT_NEVER);
        struct counted one = counted_op(s, 0), two = counted_op(s, 0);
        CHECK_IS(0, leat_read_then(&one.op, ends[0], bytes, 1, count_call));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_read_then(&two.op, ends[0], bytes, 1, count_call));
        CHECK_IS(0, leat_scope_close(s));
        CHECK(atomic_load(&one.calls) == 1 && atomic_load(&one.status) == -ECANCELED);
        CHECK(atomic_load(&two.calls) == 1 && atomic_load(&two.status) == -ECANCELED);
        CHECK_IS(1, leat_write(ends[1], "x", 1));
        CHECK_IS(1, leat_read(ends[0], &byte, 1));

        CHECK_IS(-EINVAL, leat_read_then(NULL, ends[0], bytes, 1, count_call));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, NULL, bytes, 1, count_call));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], NULL, 1, count_call));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, 0, count_call));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, 1, NULL));
        CHECK_IS(-EINVAL, leat_read_then(&reads.op, ends[0], bytes, (size_t)1 << 31, count_call));
        CHECK_IS(-EINVAL, leat_write_then(&writes.op, ends[0], NULL, 1, count_call));
        CHECK_IS(-EINVAL, leat_write_then(&writes.op, ends[0], "", 0, count_call));
        CHECK_IS(-EINVAL, leat_write_then(NULL, ends[0], "x", 1, count_call));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(callbacks_transfer);

/* A long write goes on as the reader makes room. Taken back, it says how far it came. */
static int long_writes(void *arg)
{
    (void)arg;
    unsigned char *bytes = malloc(MOST_BYTES), *got = malloc(MOST_BYTES);
    fill(bytes, MOST_BYTES, 0);
    for (int back = 0; back < 2; back++) {
        leat_io *ends[2];
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        open_two(s, false, ends);
        struct counted writes = counted_op(s, 0);
        CHECK_IS(0, leat_write_then(&writes.op, ends[1], bytes, MOST_BYTES, count_call));
        CHECK_IS(1000, leat_read_full(ends[0], got, 1000, late()));
        size_t rest = MOST_BYTES;
        if (back) {
            int error = leat_withdraw(&writes.op.op);
            CHECK(error == 0 || error == -EALREADY);
            if (error)
                WAIT_UNTIL(atomic_load(&writes.calls));
            CHECK_IS(error ? -ECANCELED : 0, atomic_load(&writes.status));
            rest = writes.op.done;
            CHECK_IS(0, leat_io_close(ends[1]));
        }
        CHECK_IS(rest - 1000, leat_read_full(ends[0], got + 1000, rest - 1000, late()));
        expect(got, rest, 0);
        if (back)
            CHECK_IS(0, leat_read(ends[0], got, 1));
        else
            WAIT_UNTIL(atomic_load(&writes.calls));
        CHECK_IS(back ? writes.op.done : MOST_BYTES, writes.op.done);
        CHECK_IS(0, leat_scope_close(s));
    }
    free(bytes);
    free(got);
    return 0;
}
ON_WORKERS(long_writes);

/* ---- taking back ---- */

struct race {
    leat_io *ends[2];
    _Atomic int written;
    int rounds;
};

static int write_each_round(void *arg)
{
    struct race *race = arg;
    for (int i = 0; i < race->rounds; i++) {
        WAIT_UNTIL(atomic_load(&race->written) == 2 * i + 1);
        CHECK_IS(1, leat_write(race->ends[1], "x", 1));
        atomic_store(&race->written, 2 * i + 2);
    }
    return 0;
}

/* Two operations want one byte, and both are taken back while it comes: so one is often woken in
 * vain. No byte is lost, and each function is called once or not at all. */
static int taking_back_races_with_bytes(void *arg)
{
    (void)arg;
    struct race race = { .rounds = IN_SIM ? 5 : often(10000) };
    uint64_t chance = seed_of_test();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, race.ends);
    CHECK_IS(0, leat_go_blocking(s, write_each_round, &race));
    for (int i = 0; i < race.rounds; i++) {
        char bytes[2][1];
        struct counted ops[2] = { counted_op(s, 0), counted_op(s, 0) };
        int read = 0;
        for (int k = 0; k < 2; k++)
            CHECK_IS(0, leat_read_then(&ops[k].op, race.ends[0], bytes[k], 1, count_call));
        atomic_store(&race.written, 2 * i + 1);
        for (unsigned n = below(&chance, 300); n; n--)
            atomic_thread_fence(memory_order_seq_cst);
        if (below(&chance, 4) == 0)
            leat_yield();
        for (int k = 0; k < 2; k++) {
            int error = leat_withdraw(&ops[k].op.op);
            CHECK(error == 0 || error == -EALREADY);
            if (error)
                WAIT_UNTIL(atomic_load(&ops[k].calls));
            CHECK_IS(error ? 1 : 0, atomic_load(&ops[k].calls));
            int status = atomic_load(&ops[k].status);
            CHECK(!error || status == 1 || status == -ECANCELED);
            read += error && status == 1;
        }
        WAIT_UNTIL(atomic_load(&race.written) == 2 * i + 2);
        CHECK(read <= 1);
        if (!read)
            CHECK_IS(1, leat_read_until(race.ends[0], bytes[0], 1, late()));
        CHECK_IS(-EAGAIN, leat_read_until(race.ends[0], bytes[0], 1, LEAT_NOW));
    }
    return leat_scope_close(s);
}
ON_WORKERS(taking_back_races_with_bytes);

static int taking_back_what_is_over(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char byte;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    struct counted op = counted_op(s, 0);
    CHECK_IS(1, leat_write(ends[1], "x", 1));
    CHECK_IS(LEAT_IN, leat_ready(ends[0], LEAT_IN, late()));
    CHECK_IS(0, leat_read_then(&op.op, ends[0], &byte, 1, count_call));
    WAIT_UNTIL(atomic_load(&op.calls));
    CHECK_IS(1, atomic_load(&op.status));
    CHECK_IS(-EALREADY, leat_withdraw(&op.op.op));
    CHECK_IS(0, leat_read_then(&op.op, ends[0], &byte, 1, count_call));
    CHECK_IS(0, leat_withdraw(&op.op.op));
    CHECK_IS(1, atomic_load(&op.calls));
    CHECK_IS(-EALREADY, leat_withdraw(&op.op.op));
    return leat_scope_close(s);
}
ON_WORKERS(taking_back_what_is_over);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(callbacks_transfer),
        TESTS_ON_WORKERS(long_writes),
        TESTS_ON_WORKERS(taking_back_races_with_bytes),
        TESTS_ON_WORKERS(taking_back_what_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
