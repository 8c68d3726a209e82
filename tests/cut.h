/* cut.h: for the tests of streams that are cut short: inputs, and parties that wait for them. */
#pragma once

#include "support.h"

#define HOUR (3600 * LEAT_S)

static inline int cancel_soon(void *scope)
{
    leat_sleep(20 * LEAT_MS);
    return leat_scope_cancel(scope);
}

static inline void send_numbers(leat_chan *ch, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_try_send(ch, &i));
}

static inline leat_chan *numbers(leat_scope *s, size_t capacity, int n)
{
    leat_chan *ch = leat_chan_of(s, int, capacity);
    send_numbers(ch, n);
    return ch;
}

struct waiting {
    leat_block block;
    leat_op op;
    leat_case cases[2];
    leat_chan *ch;
    leat_scope *scope;
    int x, status, way;
    _Atomic bool done;
};

enum {
    RECEIVES,
    SELECTS,
    RECEIVES_UNTIL,
    RECEIVES_MANY,
    FARTHER_IN,
    BY_BLOCK,
    BY_SELECTING_BLOCK,
    BY_CALLBACK,
    ON_THREAD,
    WAYS
};

static inline void end_wait(struct waiting *w, int status)
{
    w->status = status;
    atomic_store(&w->done, true);
}

static inline int selected(struct waiting *w, int result)
{
    return result < 0 ? result : w->cases[result].status;
}

/* Receives in a scope inside of a scope; a cancel marks these scopes later. */
static inline int receive_farther_in(struct waiting *w)
{
    leat_scope *in = leat_scope_open(LEAT_NEVER), *farther = leat_scope_open(LEAT_NEVER);
    int status = leat_recv(w->ch, &w->x);
    leat_scope_close(farther);
    leat_scope_close(in);
    return status;
}

static inline int wait(void *arg)
{
    struct waiting *w = arg;
    switch (w->way) {
    case SELECTS: end_wait(w, selected(w, leat_select(w->cases, 2, LEAT_NEVER))); break;
    case RECEIVES_UNTIL: end_wait(w, leat_recv_until(w->ch, &w->x, leat_after(HOUR))); break;
    case RECEIVES_MANY: end_wait(w, (int)leat_recv_many(w->ch, &w->x, 1, LEAT_NEVER)); break;
    case FARTHER_IN: end_wait(w, receive_farther_in(w)); break;
    default: end_wait(w, leat_recv(w->ch, &w->x)); break;
    }
    return 0;
}

static inline int wait_as_block(leat_block *b)
{
    struct waiting *w = LT_CONTAINER(b, struct waiting, block);
    LEAT_BEGIN(b);
    if (w->way == BY_BLOCK) {
        LEAT_AWAIT_RECV(b, w->ch, &w->x);
        end_wait(w, b->status);
    } else {
        LEAT_AWAIT_SELECT(b, w->cases, 2, LEAT_NEVER, NULL);
        end_wait(w, selected(w, b->status));
    }
    LEAT_END(b);
}

static inline void received(leat_op *op, int status)
{
    end_wait(LT_CONTAINER(op, struct waiting, op), status);
}

static inline void begin_to_wait(leat_scope *s, struct waiting *w, leat_chan *ch, int way)
{
    *w = (struct waiting){ .ch = ch, .scope = s, .way = way };
    w->op = (leat_op)LEAT_OP(s, 0);
    w->cases[0] = (leat_case)LEAT_RECV(NULL, NULL);
    w->cases[1] = (leat_case)LEAT_RECV(ch, &w->x);
    switch (way) {
    case BY_BLOCK:
    case BY_SELECTING_BLOCK: CHECK_IS(0, leat_go_block(s, &w->block, wait_as_block)); break;
    case BY_CALLBACK: CHECK_IS(0, leat_recv_then(&w->op, ch, &w->x, received)); break;
    case ON_THREAD: CHECK_IS(0, leat_go_blocking(s, wait, w)); break;
    default: CHECK_IS(0, leat_go(s, wait, w)); break;
    }
}
