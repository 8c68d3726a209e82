/* counted.h: a transfer by a callback that counts its calls and keeps the last status. */
#pragma once

#include <leat/leat.h>
#include <stdatomic.h>

struct counted {
    leat_io_op op;
    _Atomic int calls, status;
};

static inline void count_call(leat_io_op *op, int status)
{
    struct counted *me = (struct counted *)op;
    atomic_store(&me->status, status);
    atomic_fetch_add(&me->calls, 1);
}

static inline struct counted counted_op(leat_scope *scope, unsigned flags)
{
    return (struct counted){ .op = LEAT_IO_OP(scope, flags) };
}
