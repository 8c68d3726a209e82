/* serve.c: the loop of a far end. */
#define _GNU_SOURCE
#include "far.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define DEFAULT_GRACE (10 * LEAT_S)

/* How often a far end that stops tries to connect to an engine that is away. */
#define RETRY LEAT_S

enum { N_MOST = 65536, NEWS = 64, STACK_LEAST = 16 << 10, STACK_MOST = 1 << 30 };

/* ---- items that end, and news ---- */

/* An item that has ended because the far end does is no failed try: the renewal gives it back. */
static void take_back(struct lk_far *far, struct lk_item *item)
{
    bool ends = item->status == -ECANCELED && leat_cancelled(far->around);
    far->running--;
    far->free++;
    far->all |= ends && !item->lost;
    lk_item_unlink(item);
    item->stored = false;
    if (ends || item->lost) {
        item->run->ready = true;
        lk_item_free(item);
    } else {
        lk_item_link(&item->run->ended, item);
    }
}

/* Takes an item that came with the news. If the far end cannot take it, or has given it back
 * already, a renewal without this item gives it to another. */
static void take_item(struct lk_far *far, struct lk_run *run, const struct lk_news *news)
{
    bool takes = news->number == far->number && far->free && !far->stopping &&
                 !lk_item_find(run->held, news->index);
    run->received += news->number == far->number;
    if (!takes || lk_item_start(far, run, news->index, 0, news->data, news->size) != 0)
        far->all = true;
}

static void take_news(struct lk_far *far, const struct lk_news *news)
{
    far->listens = !news->is_last;
    if (news->error) {
        far->deaf = news->error;
        return;
    }
    struct lk_run *run = news->run[0] ? lk_run_find(far, news->run) : NULL;
    if (!run) {
        far->ask_all = far->all = true; /* a lost connection, or no memory: items may be lost */
    } else if (news->data) {
        run->over = false;
        take_item(far, run, news);
    } else {
        run->over = false;
        run->ready = true;
        run->woken |= news->is_own;
    }
    free(news->data);
}

/* Without memory for the task, the next round tries again. */
static int start_listening(struct lk_far *far)
{
    if (far->listens || far->deaf || far->stopping)
        return 0;
    int error = leat_go_named(far->crowd, lk_listen, far, "listen", 0);
    far->listens = !error;
    return error;
}

static void begin_to_stop(struct lk_far *far)
{
    int64_t grace = far->spec.grace;
    far->stopping = true;
    far->stop_at = grace == LEAT_NEVER ? LEAT_NEVER : leat_after(grace);
}

/* Asks whether it was cancelled before it takes anything: what ends or comes may have woken it
 * first. */
static void collect(struct lk_far *far)
{
    struct lk_item *item;
    struct lk_news news;
    while (leat_try_recv(far->ended, &item) == 0)
        take_back(far, item);
    if (!far->stopping && leat_cancelled(far->around))
        begin_to_stop(far);
    while (leat_try_recv(far->bell, &news) == 0)
        take_news(far, &news);
    start_listening(far);
}

static void lose_all(struct lk_far *far)
{
    for (struct lk_run *run = far->runs; run; run = run->next)
        for (struct lk_item *item = run->held; item; item = item->next)
            lk_item_lose(item);
}

/* Waits until something is due. */
static void wait(struct lk_far *far)
{
    struct lk_item *item;
    struct lk_news news;
    int64_t until = far->stopping ? far->stop_at : LEAT_NEVER;
    if (far->running || far->stopping)
        until = lk_earlier(until, far->renew_at);
    if (far->free && !far->stopping)
        until = lk_earlier(until, far->look_at);
    leat_case cases[] = { LEAT_RECV(far->stopping ? NULL : far->stop, NULL),
                          LEAT_RECV(far->ended, &item), LEAT_RECV(far->bell, &news) };
    int i = leat_select_ordered(cases, 3, until);
    if (i == 0)
        begin_to_stop(far);
    else if (i == 1)
        take_back(far, item);
    else if (i == 2)
        take_news(far, &news);
    if (far->stopping && leat_now() >= far->stop_at) {
        far->stop_at = LEAT_NEVER;
        lose_all(far);
    }
}

/* ---- the loop ---- */

static bool has_results(const struct lk_far *far)
{
    for (const struct lk_run *run = far->runs; run; run = run->next)
        if (run->ended)
            return true;
    return false;
}

static void count_exchange(struct lk_far *far)
{
    atomic_fetch_add_explicit(&far->exchanges, 1, memory_order_relaxed);
}

/* Stops while the engine is away: items go on, and results wait to be stored, until the grace ends
 * (lk_hurry). */
static int come_back_in_grace(struct lk_far *far)
{
    if (!far->stopping)
        begin_to_stop(far);
    for (;;) {
        bool last = !far->running && !has_results(far);
        int error = lk_engine_connect(&far->engine, leat_after(RETRY));
        if (!error || last || !lk_engine_may_return(error))
            return error ? -ESHUTDOWN : 0;
        far->renew_at = leat_after(RETRY);
        wait(far);
    }
}

static int come_back(struct lk_far *far)
{
    count_exchange(far);
    int error = lk_engine_return(&far->engine, far->stop);
    if (error == -ESHUTDOWN)
        error = come_back_in_grace(far);
    count_exchange(far);
    if (error)
        return error;
    far->all = far->ask_all = true;
    return 0;
}

/* If there is no run, the question for runs is the only request that shows that the engine is
 * there. */
static int go_round(struct lk_far *far)
{
    int error = 0;
    bool asks = far->ask_all && !far->stopping;
    count_exchange(far);
    if (asks)
        error = lk_runs_ask(far);
    if (!error) {
        far->ask_all = false;
        error = lk_far_plan(far);
    }
    if (!error && far->step_count)
        error = lk_far_exchange(far);
    else if (!error && asks)
        lk_engine_is_there(&far->engine);
    count_exchange(far);
    return error;
}

static int loop(struct lk_far *far)
{
    int error = come_back(far);
    while (!error) {
        collect(far);
        if (far->deaf && !far->stopping)
            return far->deaf;
        if (far->stopping && !far->running && !has_results(far))
            break;
        error = go_round(far);
        if (lk_engine_may_return(error) && error)
            error = come_back(far);
        else if (!error && !far->step_count)
            wait(far);
    }
    return error;
}

/* Cancels the items, and waits for them. */
static void drain(struct lk_far *far)
{
    struct lk_item *item;
    lose_all(far);
    while (far->running && leat_recv(far->ended, &item) == 0)
        take_back(far, item);
}

static int serve(struct lk_far *far)
{
    int error = start_listening(far);
    error = error ? error : leat_go_named(far->crowd, lk_hurry, far, "hurry", 0);
    error = error ? error : loop(far);
    drain(far);
    count_exchange(far);
    if (far->engine.line.io)
        lk_far_give_back(far);
    count_exchange(far);
    leat_close(far->over);
    leat_close(far->stop);
    leat_close(far->bell);
    lk_engine_shut(&far->listener);
    return error == -ESHUTDOWN ? 0 : error;
}

/* ---- beginning and ending ---- */

static void drop_news(void *news)
{
    free(((struct lk_news *)news)->data);
}

static void watched(leat_op *op, int status)
{
    struct lk_far *far = (struct lk_far *)((char *)op - offsetof(struct lk_far, watch));
    if (status == -ECANCELED)
        leat_close(far->stop);
}

/* The random number makes the id unique; process and host show a reader where the far end is. */
static int make_id(char id[LK_FAR_ID + 1])
{
    char host[48] = "";
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -EAGAIN;
    gethostname(host, sizeof host - 1);
    int n = snprintf(id, LK_FAR_ID + 1, "%016" PRIx64 " %d %s", random, (int)getpid(), host);
    memset(id + n, '.', (size_t)(LK_FAR_ID - n));
    id[LK_FAR_ID] = '\0';
    return 0;
}

/* With `around` open. */
static int prepare(struct lk_far *far)
{
    int error = make_id(far->id);
    error = error ? error : lk_keys_make(&far->keys, far->link, far->spec.stage, "-");
    if (error)
        return error;
    far->stop = leat_chan_make(far->around, 0, 0);
    far->never = leat_chan_make(far->around, 0, 0);
    far->over = leat_chan_make(far->around, 0, 0);
    far->bell = leat_chan_open(far->around, &(leat_chan_spec){ .item_size = sizeof(struct lk_news),
                                                               .capacity = NEWS,
                                                               .drop = drop_news });
    far->ended = leat_chan_make(far->around, sizeof(struct lk_item *), far->spec.n);
    if (!far->stop || !far->never || !far->over || !far->bell || !far->ended)
        return -ENOMEM;
    leat_shield();
    far->crowd = leat_scope_open(LEAT_NEVER);
    leat_unshield();
    return far->crowd ? 0 : -ENOMEM;
}

static int check(const leat_link *link, const leat_serve_stage_spec *spec)
{
    if (!link || !spec || !lk_is_name(spec->stage) || !spec->run)
        return -EINVAL;
    if (!spec->n || spec->n > N_MOST || spec->grace < 0)
        return -EINVAL;
    if (spec->stack_size && (spec->stack_size < STACK_LEAST || spec->stack_size > STACK_MOST))
        return -EINVAL;
    return spec->max_bytes > LK_BYTES_MOST ? -EINVAL : 0;
}

static int serve_around(struct lk_far *far)
{
    far->around = leat_scope_open(LEAT_NEVER);
    if (!far->around) /* in a block or callback it is not memory that is missing */
        return leat_sleep(1) == -EDEADLK ? -EDEADLK : -ENOMEM;
    int error = prepare(far);
    if (!error) {
        far->watch = (leat_op)LEAT_OP(far->around, 0);
        leat_recv_then(&far->watch, far->never, NULL, watched);
        error = serve(far);
        leat_scope_close(far->crowd);
        leat_close(far->never);
    }
    int why = leat_scope_close(far->around);
    return error ? error : why;
}

int leat_serve_stage(leat_link *link, const leat_serve_stage_spec *spec)
{
    int error = check(link, spec);
    if (error)
        return error;
    struct lk_far *far = calloc(1, sizeof *far);
    if (!far)
        return -ENOMEM;
    far->link = link;
    far->spec = *spec;
    far->spec.max_bytes = spec->max_bytes ? spec->max_bytes : LK_MAX_BYTES;
    far->spec.grace = spec->grace ? spec->grace : DEFAULT_GRACE;
    far->free = spec->n;
    pthread_mutex_init(&far->lock, NULL);
    lk_engine_init(&far->engine, link);
    lk_engine_init(&far->listener, link);
    error = serve_around(far);
    lk_runs_free(far);
    lk_keys_free(&far->keys);
    free(far->steps);
    lk_engine_free(&far->engine);
    lk_engine_free(&far->listener);
    pthread_mutex_destroy(&far->lock);
    free(far);
    return error;
}
