/* told.h: a transfer by a callback that counts its calls and keeps the last status. */
#ifndef LEAT_TESTS_TOLD_H
#define LEAT_TESTS_TOLD_H

#include <leat/leat.h>
#include <stdatomic.h>

struct told {
    leat_io_op op;
    _Atomic int calls, status;
};

static inline void told(leat_io_op *op, int status)
{
    struct told *me = (struct told *)op;
    atomic_store(&me->status, status);
    atomic_fetch_add(&me->calls, 1);
}

static inline struct told told_op(leat_scope *scope, unsigned flags)
{
    return (struct told){ .op = LEAT_IO_OP(scope, flags) };
}

#endif
