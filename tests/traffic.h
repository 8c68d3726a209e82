/* traffic.h: bytes that go through pipes and pairs, as the tests of both worlds send them. */
#pragma once

#include "support.h"

static inline void open_two(leat_scope *scope, bool pair, leat_io *ends[2])
{
    CHECK_IS(0, pair ? leat_io_pair(scope, ends) : leat_io_pipe(scope, ends));
}

enum { MOST_BYTES = 200000, CHUNK = 20000 };

static inline unsigned char byte_at(size_t at)
{
    return (unsigned char)(at * 31 + at / 251);
}

static inline void fill(unsigned char *bytes, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(at + i);
}

static inline void expect(const unsigned char *bytes, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        CHECK_IS(byte_at(at + i), bytes[i]);
}

struct traffic {
    leat_io *io;
    size_t bytes, most; /* in total, and in one transfer */
    uint64_t chance;
    bool shut;      /* the writer shuts its end down, and does not close it */
    uint64_t trace; /* of the results, in their order */
};

static inline void see(struct traffic *t, int64_t result)
{
    uint64_t state = t->trace ^ (uint64_t)result;
    if (leat_sim_running())
        state ^= (uint64_t)leat_now() << 20;
    t->trace = lt_rng_next(&state);
}

static inline struct iovec *in_three(struct iovec parts[3], unsigned char *bytes, size_t n)
{
    parts[0] = (struct iovec){ bytes, n / 3 };
    parts[1] = (struct iovec){ bytes + n / 3, 0 };
    parts[2] = (struct iovec){ bytes + n / 3, n - n / 3 };
    return parts;
}

static inline int write_traffic(void *arg)
{
    struct traffic *t = arg;
    unsigned char bytes[CHUNK];
    struct iovec parts[3];
    for (size_t done = 0, n; done < t->bytes; done += n) {
        n = 1 + below(&t->chance, (unsigned)t->most);
        n = n < t->bytes - done ? n : t->bytes - done;
        fill(bytes, n, done);
        if (below(&t->chance, 2))
            CHECK_IS(n, leat_write(t->io, bytes, n));
        else
            CHECK_IS(n, leat_writev(t->io, in_three(parts, bytes, n), 3, LEAT_NEVER));
        see(t, (int64_t)n);
    }
    return t->shut ? leat_shutdown(t->io, SHUT_WR) : leat_io_close(t->io);
}

static inline int read_traffic(void *arg)
{
    struct traffic *t = arg;
    unsigned char bytes[CHUNK];
    struct iovec parts[3];
    size_t done = 0;
    for (int64_t n = 1; n; done += (size_t)n) {
        size_t most = 1 + below(&t->chance, (unsigned)t->most);
        switch (below(&t->chance, 3)) {
        case 0: n = leat_read(t->io, bytes, most); break;
        case 1: n = leat_readv(t->io, in_three(parts, bytes, most), 3, LEAT_NEVER); break;
        default: n = leat_read_full(t->io, bytes, most, LEAT_NEVER);
        }
        CHECK(n >= 0 && n <= (int64_t)most);
        expect(bytes, (size_t)n, done);
        see(t, n);
    }
    CHECK_IS(t->bytes, done);
    return 0;
}

struct block_reader {
    leat_block block;
    struct traffic *t;
    size_t done;
    unsigned char bytes[777];
};

static inline int read_as_block(leat_block *b)
{
    struct block_reader *me = (struct block_reader *)b;
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_READ(b, me->t->io, me->bytes, sizeof me->bytes);
        CHECK(b->status >= 0);
        expect(me->bytes, (size_t)b->status, me->done);
        me->done += (size_t)b->status;
        see(me->t, b->status);
    } while (b->status);
    CHECK_IS(me->t->bytes, me->done);
    LEAT_END(b);
}

struct block_writer {
    leat_block block;
    struct traffic *t;
    size_t done;
    unsigned char bytes[MOST_BYTES];
};

static inline int write_as_block(leat_block *b)
{
    struct block_writer *me = (struct block_writer *)b;
    LEAT_BEGIN(b);
    fill(me->bytes, me->t->bytes, 0);
    LEAT_AWAIT_WRITE(b, me->t->io, me->bytes, me->t->bytes, me->done);
    CHECK_IS(0, b->status);
    CHECK_IS(0, leat_io_close(me->t->io));
    LEAT_END(b);
}

struct op_reader {
    leat_op op;
    struct traffic *t;
    size_t done;
};

static inline void read_as_callback(leat_op *op, int status)
{
    struct op_reader *me = (struct op_reader *)op;
    unsigned char bytes[777];
    int64_t n;
    CHECK_IS(0, status);
    while ((n = leat_read_until(me->t->io, bytes, sizeof bytes, LEAT_NOW)) > 0) {
        expect(bytes, (size_t)n, me->done);
        me->done += (size_t)n;
        see(me->t, n);
    }
    if (n == -EAGAIN)
        CHECK_IS(0, leat_ready_then(op, me->t->io, LEAT_IN, read_as_callback));
    else
        CHECK_IS(me->t->bytes, me->done);
}

/* Each kind of party reads and writes. The trace distinguishes two runs. */
static inline int all_arrives(void *arg)
{
    uint64_t *trace = arg, chance = seed_of_test();
    enum { FLOWS = 4 };
    struct traffic to[FLOWS], from[FLOWS];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < FLOWS; i++) {
        leat_io *ends[2];
        open_two(s, i % 2, ends);
        to[i] = from[i] = (struct traffic){ .bytes = 1 + below(&chance, MOST_BYTES / 2),
                                            .most = 1 + below(&chance, CHUNK),
                                            .shut = i == 1 };
        to[i].io = ends[1];
        from[i].io = ends[0];
        to[i].chance = lt_rng_next(&chance);
        from[i].chance = lt_rng_next(&chance);
    }
    struct block_reader block_reader = { .t = &from[1] };
    struct block_writer *block_writer = calloc(1, sizeof *block_writer);
    struct op_reader op_reader = { .op = LEAT_OP(s, 0), .t = &from[2] };
    CHECK(block_writer);
    block_writer->t = &to[3];
    CHECK_IS(0, leat_go(s, write_traffic, &to[0]));
    CHECK_IS(0, leat_go_blocking(s, read_traffic, &from[0]));
    CHECK_IS(0, leat_go_blocking(s, write_traffic, &to[1]));
    CHECK_IS(0, leat_go_block(s, &block_reader.block, read_as_block));
    CHECK_IS(0, leat_go(s, write_traffic, &to[2]));
    CHECK_IS(0, leat_ready_then(&op_reader.op, from[2].io, LEAT_IN, read_as_callback));
    CHECK_IS(0, leat_go_block(s, &block_writer->block, write_as_block));
    CHECK_IS(0, leat_go(s, read_traffic, &from[3]));
    CHECK_IS(0, leat_scope_close(s));
    free(block_writer);
    for (int i = 0; i < FLOWS && trace; i++)
        *trace = *trace * 31 + from[i].trace + to[i].trace;
    return 0;
}
