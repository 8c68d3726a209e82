#include "watch/look.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "watch/around.h"
#include "watch/ask.h"
#include "watch/fleeting.h"
#include "watch/merge.h"
#include "watch/tree.h"

#include <leat/task.h>

#include <errno.h>
#include <time.h>

int lt_look_turn(void)
{
    int error;
    while ((error = lt_runtime_look()) == -EBUSY) {
        leat_yield();
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    }
    return error;
}

static int look_around_pinned(struct lt_look *look)
{
    int error = lt_look_at_scopes(look);
    if (error)
        return error;
    lt_look_share(look, look->bound.parties - lt_look_reserve(look));
    error = lt_ask_all(look);
    if (error)
        return error;
    error = lt_look_around(look);
    int unanswered = lt_ask_wait(look);
    error = error ? error : unanswered;
    for (unsigned i = 0; !error && i < look->worker_count; i++)
        if (!look->asks[i])
            error = lt_look_at_busy(look, i);
    return error;
}

static int prepare(struct lt_look *look)
{
    lt_pad_init(&look->pad);
    look->asks = lt_alloc(look->worker_count * sizeof(struct lt_ask *));
    look->workers = lt_alloc(look->worker_count * sizeof *look->workers);
    if (!look->asks || !look->workers)
        return -ENOMEM;
    return look->bounded && !lt_pad_bound(&look->pad, look->bound.parties) ? -ENOMEM : 0;
}

static void add_up(struct lt_look *look)
{
    look->sampled |= look->pad.cut;
    look->longest = look->pad.longest;
    for (unsigned i = 0; i < look->worker_count; i++) {
        if (!look->asks[i])
            continue;
        look->sampled |= lt_ask_pad(look->asks[i])->cut;
        look->longest_answer = lt_ask_steps(look->asks[i]) > look->longest_answer
                                   ? lt_ask_steps(look->asks[i])
                                   : look->longest_answer;
    }
}

int lt_look_begin(struct lt_look *look, const void *caller, const struct lt_look_bound *bound)
{
    int saved = errno, error = lt_look_turn();
    if (error)
        return error;
    *look = (struct lt_look){ .now = lt_clock_now(),
                              .caller = caller,
                              .bounded = bound != NULL,
                              .answer_ms = bound ? LT_ANSWER_BOUNDED_MS : LT_ANSWER_MS,
                              .worker_count = lt_runtime.worker_count };
    if (bound)
        look->bound = *bound;
    error = prepare(look);
    if (!error)
        error = look_around_pinned(look);
    lt_look_unpin(look);
    lt_runtime_look_away();
    if (!error)
        error = lt_look_merge(look);
    if (error)
        lt_look_end(look);
    else
        add_up(look);
    errno = saved;
    return error;
}

void lt_look_end(struct lt_look *look)
{
    for (unsigned i = 0; look->asks && i < look->worker_count; i++)
        lt_ask_free(look->asks[i]);
    lt_pad_free(&look->pad);
    lt_free(look->asks);
    lt_free(look->workers);
    lt_free(look->scopes);
    lt_free(look->by_scope);
    lt_free(look->records);
    lt_free(look->by_self);
}
