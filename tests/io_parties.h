/* io_parties.h: a party of any kind that reads or writes once: a task, a block, a callback, a
 * thread of the library's or of the program's. */
#pragma once

#include "descriptors.h"

enum io_kind { A_TASK, A_BLOCK, A_CALLBACK, A_POOL_THREAD, A_THREAD, IO_KINDS };
enum io_deed { READS, WRITES };
enum { PIECE = 64, GUARD = 0xee };

struct io_party {
    enum io_kind kind;
    enum io_deed deed;
    leat_io *io;
    leat_scope *scope; /* a foreign thread has none */
    int64_t deadline;  /* a callback has none */
    size_t n;          /* how many bytes it moves at most */
    size_t done;       /* a block's that writes */
    int64_t result;    /* bytes, 0 or an error */
    _Atomic int calls; /* of the function of a callback, or ends of another kind */
    leat_block block;
    leat_alarm alarm;
    leat_op op;
    struct foreign thread;
    unsigned char bytes[PIECE];
};

static inline void io_party_ends(struct io_party *p, int64_t result)
{
    p->result = result;
    atomic_fetch_add(&p->calls, 1);
}

static inline int io_party_acts(void *arg)
{
    struct io_party *p = arg;
    io_party_ends(p, p->deed == READS ? leat_read_until(p->io, p->bytes, p->n, p->deadline)
                                      : leat_write_until(p->io, p->bytes, p->n, p->deadline));
    return 0;
}

static inline int io_party_steps(leat_block *b)
{
    struct io_party *p = LT_CONTAINER(b, struct io_party, block);
    LEAT_BEGIN(b);
    if (p->deed == READS) {
        LEAT_AWAIT_READ_UNTIL(b, p->io, p->bytes, p->n, p->deadline, &p->alarm);
        io_party_ends(p, b->status);
    } else {
        LEAT_AWAIT_WRITE_UNTIL(b, p->io, p->bytes, p->n, p->done, p->deadline, &p->alarm);
        io_party_ends(p, p->done ? (int64_t)p->done : b->status);
    }
    LEAT_END(b);
}

/* It does not wait again when another party was faster: so it may be withdrawn without a lock. */
static inline void io_party_called(leat_op *op, int status)
{
    struct io_party *p = LT_CONTAINER(op, struct io_party, op);
    int64_t n = status == -EPIPE ? -EBADF : status;
    if (!status)
        n = p->deed == READS ? leat_read_until(p->io, p->bytes, p->n, LEAT_NOW)
                             : leat_write_until(p->io, p->bytes, p->n, LEAT_NOW);
    io_party_ends(p, n);
}

static inline void io_party_go(struct io_party *p)
{
    atomic_store(&p->calls, 0);
    if (p->deed == READS)
        memset(p->bytes, GUARD, sizeof p->bytes);
    switch (p->kind) {
    case A_TASK: CHECK_IS(0, leat_go(p->scope, io_party_acts, p)); break;
    case A_BLOCK: CHECK_IS(0, leat_go_block(p->scope, &p->block, io_party_steps)); break;
    case A_POOL_THREAD: CHECK_IS(0, leat_go_blocking(p->scope, io_party_acts, p)); break;
    case A_CALLBACK:
        p->op = (leat_op)LEAT_OP(p->scope, LEAT_ON_WORKER);
        CHECK_IS(0, leat_ready_then(&p->op, p->io, p->deed == READS ? LEAT_IN : LEAT_OUT,
                                    io_party_called));
        break;
    default: foreign_start(&p->thread, io_party_acts, p);
    }
}

/* After its scope has been closed. It has ended exactly once, and has moved `result` bytes. A read
 * without a result has not touched the buffer. */
static inline void io_party_check(struct io_party *p)
{
    if (p->kind == A_THREAD)
        CHECK_IS(0, foreign_join(&p->thread));
    CHECK_IS(1, atomic_load(&p->calls));
    for (size_t i = p->result > 0 ? (size_t)p->result : 0; p->deed == READS && i < PIECE; i++)
        CHECK_IS(GUARD, p->bytes[i]);
}
