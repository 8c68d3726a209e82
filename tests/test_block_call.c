/* test_block_call.c: blocks that wait for blocks, and blocks that call parts. */
#include "support.h"

/* ---- waiting for a block ---- */

struct child {
    leat_block block;
    leat_chan *go;
    int verdict, ended;
};

/* With a channel, it ends when an item comes, the channel closes or the scope is cancelled. */
static int end_after_item(leat_block *b)
{
    struct child *me = (struct child *)b;
    LEAT_BEGIN(b);
    if (me->go)
        LEAT_AWAIT_RECV(b, me->go, NULL);
    me->ended++;
    LEAT_RETURN(b, me->verdict);
}

struct waiter {
    leat_block block;
    struct child *child;
    _Atomic int about_to;
    int verdict;
};

static int await_it(leat_block *b)
{
    struct waiter *me = (struct waiter *)b;
    LEAT_BEGIN(b);
    atomic_store(&me->about_to, 1);
    LEAT_AWAIT_BLOCK(b, &me->child->block);
    CHECK_IS(me->verdict, b->status);
    CHECK_IS(1, me->child->ended); /* sees what the child wrote */
    LEAT_END(b);
}

static int join_it(void *arg)
{
    struct waiter *me = arg;
    atomic_store(&me->about_to, 1);
    CHECK_IS(me->verdict, leat_block_join(&me->child->block));
    CHECK_IS(1, me->child->ended);
    return 0;
}

/* Any kind of party may wait, before or after the block has ended. */
static int waits_for_the_end(void *arg)
{
    (void)arg;
    for (int who = 0; who <= KINDS; who++) {
        for (int first = 0; first < 4; first++) {
            struct crew crew;
            crew_open(&crew);
            struct child child = { .go = first ? leat_chan_of(crew.scope, int, 1) : NULL };
            struct waiter waiter = { .child = &child };
            CHECK_IS(0, leat_go_block(crew.scope, &child.block, end_after_item));
            if (first == 1) {
                CHECK_IS(0, leat_send(child.go, &(int){ 0 }));
                WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
            }
            if (who == KINDS)
                CHECK_IS(0, leat_go_block(crew.scope, &waiter.block, await_it));
            else
                crew_go(&crew, (enum kind)who, join_it, &waiter);
            if (first == 2)
                WAIT_UNTIL(waiter.about_to);
            if (first == 3)
                CHECK_IS(0, leat_sleep(LEAT_MS));
            if (first > 1)
                CHECK_IS(0, leat_close(child.go));
            crew_close(&crew);
        }
    }
    return 0;
}
ON_WORKERS(waits_for_the_end);

/* The waiter gets the verdict, cancelled or not. A cancel does not end the wait for a block. */
static int returns_the_verdict(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    struct child child = { .go = leat_chan_of(outer, int, 0), .verdict = -EIO };
    struct waiter waiter = { .child = &child, .verdict = -EIO };
    CHECK_IS(0, leat_go_block(outer, &child.block, end_after_item));
    CHECK_IS(0, leat_go_block(s, &waiter.block, await_it));
    WAIT_UNTIL(waiter.about_to);
    CHECK_IS(0, leat_scope_cancel(s));
    for (int i = 0; i < 20; i++) {
        CHECK_IS(0, leat_yield());
        WAIT_UNTIL(leat_scope_tasks(s) == 1);
        CHECK_IS(0, child.ended);
    }
    CHECK_IS(0, leat_close(child.go));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EIO, leat_scope_close(outer));
    return 0;
}
ON_WORKERS(returns_the_verdict);

/* The block's memory may be freed as soon as it has been awaited. */
static int may_be_freed_when_awaited(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *go = leat_chan_of(s, int, 16);
    for (int i = 0; i < 20000 / SCALE; i++) {
        struct child *child = malloc(sizeof *child);
        CHECK(child);
        *child = (struct child){ .go = i % 2 ? go : NULL };
        CHECK_IS(0, leat_go_block(s, &child->block, end_after_item));
        if (i % 2)
            CHECK_IS(0, leat_send(go, &i));
        CHECK_IS(0, leat_block_join(&child->block));
        memset(child, 0xff, sizeof *child);
        free(child);
    }
    return leat_scope_close(s);
}
ON_WORKERS(may_be_freed_when_awaited);

/* Each block waits for the one before. */
struct link {
    leat_block block;
    leat_block *before;
    int place;
};

static int await_the_one_before(leat_block *b)
{
    struct link *me = (struct link *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_BLOCK(b, me->before);
    CHECK_IS(0, b->status);
    CHECK_IS(me->place - 1, me->place ? ((struct link *)me->before)->place : -1);
    LEAT_END(b);
}

static int waits_in_a_chain(void *arg)
{
    (void)arg;
    enum { LINKS = 1000 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct child first = { .go = leat_chan_of(s, int, 0) };
    struct link *chain = calloc(LINKS, sizeof *chain);
    CHECK(chain);
    CHECK_IS(0, leat_go_block(s, &first.block, end_after_item));
    for (int i = 0; i < LINKS; i++) {
        chain[i].before = i ? &chain[i - 1].block : &first.block;
        chain[i].place = i;
        CHECK_IS(0, leat_go_block(s, &chain[i].block, await_the_one_before));
    }
    WAIT_UNTIL(receivers_of(first.go) == 1);
    WAIT_UNTIL(leat_scope_tasks(s) == LINKS + 1);
    CHECK_IS(0, leat_close(first.go));
    CHECK_IS(0, leat_block_join(&chain[LINKS - 1].block));
    CHECK_IS(0, leat_scope_close(s));
    free(chain);
    return 0;
}
ON_WORKERS(waits_in_a_chain);

/* ---- parts ---- */

struct inner {
    leat_block block;
    leat_chan *in, *out;
    int x, times, i;
};

struct middle {
    leat_block block;
    struct inner inner;
    int i;
};

struct outer {
    leat_block block;
    struct middle middle;
    leat_chan *in, *out;
    int i, sum;
};

/* Receives and sends `times` times. Returns `times`, by which the caller distinguishes its
 * calls. */
static int take_and_give(leat_block *b)
{
    struct inner *me = (struct inner *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < me->times; me->i++) {
        LEAT_AWAIT_RECV(b, me->in, &me->x);
        if (b->status < 0)
            LEAT_RETURN(b, b->status);
        LEAT_AWAIT_SEND(b, me->out, &me->x);
        if (b->status < 0)
            LEAT_RETURN(b, b->status);
    }
    LEAT_RETURN(b, me->times);
}

/* Calls a part three times in the same struct. The first call ends at once. */
static int in_three_parts(leat_block *b)
{
    struct middle *me = (struct middle *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < 3; me->i++) {
        me->inner.times = me->i;
        LEAT_AWAIT_CALL(b, &me->inner.block, take_and_give);
        if (b->status < 0)
            LEAT_RETURN(b, b->status);
        CHECK_IS(me->i, b->status);
        CHECK_IS(me->i, me->inner.block.status);
    }
    LEAT_RETURN(b, 100);
}

static int call_parts(leat_block *b)
{
    struct outer *me = (struct outer *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < 50; me->i++) {
        me->middle.inner.in = me->in;
        me->middle.inner.out = me->out;
        LEAT_AWAIT_CALL(b, &me->middle.block, in_three_parts);
        if (b->status < 0) /* a part cancels nothing, so its caller decides */
            break;
        CHECK_IS(100, b->status);
        me->sum += b->status;
    }
    LEAT_AWAIT_CALL(b, &me->middle.inner.block, take_and_give); /* `times` is still 2 */
    if (b->status == -EPIPE)
        LEAT_RETURN(b, 0);
    LEAT_RETURN(b, b->status);
}

static int runs_parts(void *arg)
{
    (void)arg;
    for (size_t capacity = 0; capacity <= 8; capacity += 8) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct outer me = { .in = leat_chan_of(s, int, capacity),
                            .out = leat_chan_of(s, int, capacity) };
        CHECK_IS(0, leat_go_block(s, &me.block, call_parts));
        WAIT_UNTIL(leat_scope_tasks(s) == 1); /* parts do not count as tasks of the scope */
        for (int i = 0, x = 0; i < 150; i++) {
            CHECK_IS(0, leat_send(me.in, &i));
            CHECK_IS(0, leat_recv(me.out, &x));
            CHECK_IS(i, x);
        }
        CHECK_IS(0, leat_close(me.in));
        CHECK_IS(0, leat_block_join(&me.block));
        CHECK_IS(5000, me.sum);
        CHECK_IS(0, leat_cancelled(s));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(runs_parts);

struct fails {
    leat_block block;
    struct child part;
    leat_chan *go;
    int how;
};

static int call_what_fails(leat_block *b)
{
    struct fails *me = (struct fails *)b;
    LEAT_BEGIN(b);
    for (me->how = 0; me->how < 2; me->how++) {
        me->part = (struct child){ .go = me->how ? me->go : NULL, .verdict = -EIO };
        LEAT_AWAIT_CALL(b, &me->part.block, end_after_item);
        CHECK_IS(-EIO, b->status);
        CHECK_IS(1, me->part.ended);
        LEAT_AWAIT_YIELD(b);
        CHECK_IS(0, leat_cancelled(NULL));
    }
    LEAT_END(b);
}

/* A part's verdict cancels nothing, whether the part ended at once or later. */
static int parts_cancel_nothing(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct fails me = { .go = leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_go_block(s, &me.block, call_what_fails));
    CHECK_IS(0, leat_send(me.go, &(int){ 1 }));
    CHECK_IS(0, leat_block_join(&me.block));
    CHECK_IS(0, leat_cancelled(s));
    return leat_scope_close(s);
}
ON_WORKERS(parts_cancel_nothing);

/* A cancelled scope ends the wait of the innermost part, and each caller gets -ECANCELED. */
static int cancels_parts(void *arg)
{
    (void)arg;
    for (int settle = 0; settle <= 1; settle++) {
        for (int i = 0; i < 200 / SCALE; i++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            struct outer me = { .in = leat_chan_of(s, int, 0), .out = leat_chan_of(s, int, 0) };
            CHECK_IS(0, leat_go_block(s, &me.block, call_parts));
            if (settle)
                WAIT_UNTIL(receivers_of(me.in) == 1);
            CHECK_IS(0, leat_scope_cancel(s));
            CHECK_IS(-ECANCELED, leat_block_join(&me.block));
            CHECK_IS(0, receivers_of(me.in));
            CHECK_IS(0, leat_scope_close(s));
        }
    }
    return 0;
}
ON_WORKERS(cancels_parts);

/* Each part calls the next one; the last waits. So many calls would not fit on one stack. */
enum { DEEP = IN_SIM ? 101 : 200001 / SCALE };

struct deep {
    leat_block block;
    struct deep *next;
    leat_chan *go;
    int depth;
};

static int go_deeper(leat_block *b)
{
    struct deep *me = (struct deep *)b;
    LEAT_BEGIN(b);
    if (!me->next) {
        LEAT_AWAIT_RECV(b, me->go, NULL);
        LEAT_RETURN(b, b->status == 0 ? 1 : b->status);
    }
    LEAT_AWAIT_CALL(b, &me->next->block, go_deeper);
    if (me->depth == 0)
        LEAT_RETURN(b, b->status == DEEP - 1 ? 0 : b->status);
    LEAT_RETURN(b, b->status > 0 ? b->status + 1 : b->status);
}

static int parts_nest_deep(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct deep *all = calloc(DEEP, sizeof *all);
    CHECK(all);
    for (int at_once = 0; at_once <= 1; at_once++) {
        leat_chan *go = leat_chan_of(s, int, 1);
        for (int i = 0; i < DEEP; i++)
            all[i] =
                (struct deep){ .next = i + 1 < DEEP ? &all[i + 1] : NULL, .go = go, .depth = i };
        if (at_once)
            CHECK_IS(0, leat_send(go, &(int){ 1 }));
        CHECK_IS(0, leat_go_block(s, &all[0].block, go_deeper));
        if (!at_once) {
            WAIT_UNTIL(receivers_of(go) == 1);
            CHECK_IS(0, leat_send(go, &(int){ 1 }));
        }
        CHECK_IS(0, leat_block_join(&all[0].block));
    }
    CHECK_IS(0, leat_scope_close(s));
    free(all);
    return 0;
}
ON_WORKERS(parts_nest_deep);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(waits_for_the_end),
        TESTS_ON_WORKERS(returns_the_verdict),
        TESTS_ON_WORKERS(may_be_freed_when_awaited),
        TESTS_ON_WORKERS(waits_in_a_chain),
        TESTS_ON_WORKERS(runs_parts),
        TESTS_ON_WORKERS(parts_cancel_nothing),
        TESTS_ON_WORKERS(cancels_parts),
        TESTS_ON_WORKERS(parts_nest_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
