#include "far.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_TIME (5 * LEAT_S)

/* ---- what is due ---- */

static int add_step(struct lk_far *far, enum lk_script script, struct lk_run *run, uint64_t asked)
{
    if (far->step_count == far->step_room) {
        size_t room = 2 * far->step_room + 8;
        struct lk_step *more = realloc(far->steps, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        far->steps = more;
        far->step_room = room;
    }
    far->steps[far->step_count++] = (struct lk_step){ script, run, asked };
    return 0;
}

/* The words with which all calls begin. */
static void name_far_end(struct lk_far *far, const struct lk_run *run)
{
    lk_request_text(&far->engine.request, run->keys.channel);
    lk_request_text(&far->engine.request, run->keys.run);
    lk_request_text(&far->engine.request, far->id);
}

/* Chooses the results that the request stores, at the beginning of `ended`. Returns their bytes. */
static size_t choose_results(struct lk_run *run)
{
    size_t n = 0, bytes = 0;
    for (struct lk_item *item = run->ended; item && n < LK_MOST && bytes < LK_MOST_BYTES;
         item = item->next, n++) {
        item->stored = true;
        bytes += item->result.size;
    }
    return bytes;
}

/* `takes`: a take of the run follows in the same request. */
static int plan_done(struct lk_far *far, struct lk_run *run, bool takes)
{
    struct lk_request *request = &far->engine.request;
    size_t n = 0;
    for (const struct lk_item *item = run->ended; item && item->stored; item = item->next)
        n++;
    if (!n)
        return 0;
    lk_engine_call(&far->engine, LK_DONE, &run->keys, 4 + 3 * n);
    name_far_end(far, run);
    lk_request_number(request, takes);
    for (struct lk_item *item = run->ended; n--; item = item->next) {
        lk_request_text(request, item->index);
        lk_request_number(request, item->status);
        lk_request_word(request, item->result.data, item->status ? 0 : item->result.size);
    }
    return add_step(far, LK_DONE, run, 0);
}

static size_t count(const struct lk_item *item)
{
    size_t n = 0;
    for (; item; item = item->next)
        n += !item->lost;
    return n;
}

static void add_indexes(struct lk_far *far, const struct lk_item *item)
{
    for (; item; item = item->next)
        if (!item->lost)
            lk_request_text(&far->engine.request, item->index);
}

/* The leases are `times` as long as usual. */
static int plan_renew(struct lk_far *far, struct lk_run *run, bool has_nothing, size_t times)
{
    struct lk_request *request = &far->engine.request;
    size_t n = has_nothing ? 0 : count(run->held) + count(run->ended);
    if (!n && !far->all && !has_nothing)
        return 0;
    lk_engine_call(&far->engine, LK_RENEW, &run->keys, 5 + n);
    name_far_end(far, run);
    lk_request_number(request, far->link->lease / LEAT_MS * (int64_t)times);
    lk_request_number(request, far->all || has_nothing);
    if (!has_nothing) {
        add_indexes(far, run->held);
        add_indexes(far, run->ended);
    }
    return add_step(far, LK_RENEW, run, 0);
}

/* Only items that the renewals list keep their leases: items that are on their way do not. The
 * engine forgets that the far end waits, so the far end takes again. */
static void begin_anew(struct lk_far *far)
{
    far->number++;
    for (struct lk_run *run = far->runs; run; run = run->next) {
        run->received = 0;
        run->ready = true;
    }
}

/* Moves the run that it returns to the end, so that runs take turns. */
static struct lk_run *next_ready(struct lk_far *far)
{
    for (struct lk_run **at = &far->runs; *at; at = &(*at)->next) {
        struct lk_run *run = *at;
        if (!run->ready)
            continue;
        struct lk_run **last = at;
        *at = run->next;
        while (*last)
            last = &(*last)->next;
        run->next = NULL;
        *last = run;
        return run;
    }
    return NULL;
}

static int plan_take(struct lk_far *far, struct lk_run *run, unsigned places)
{
    struct lk_request *request = &far->engine.request;
    lk_engine_call(&far->engine, LK_TAKE, &run->keys, 9);
    name_far_end(far, run);
    lk_request_number(request, places);
    lk_request_number(request, far->link->lease / LEAT_MS);
    lk_request_number(request, run->look);
    lk_request_number(request, LK_MOST_BYTES);
    lk_request_number(request, far->number);
    lk_request_number(request, (int64_t)run->received);
    return add_step(far, LK_TAKE, run, places);
}

/* The far end has no place for the items that it was woken for: wakes others. */
static int pass_on(struct lk_far *far)
{
    int error = 0;
    for (struct lk_run *run = far->runs; !error && run; run = run->next)
        if (run->woken)
            error = plan_take(far, run, 0);
    return error;
}

static void look_if_due(struct lk_far *far, int64_t now)
{
    if (now < far->look_at)
        return;
    far->look_at = now + far->link->lease / 4;
    for (struct lk_run *run = far->runs; run; run = run->next)
        run->look = run->ready = true;
}

/* A run with results to store is ready too: they end leases, which its items may wait for. */
static struct lk_run *choose_run(struct lk_far *far)
{
    for (struct lk_run *run = far->runs; run; run = run->next)
        run->ready |= run->ended != NULL;
    return far->free && !far->stopping ? next_ready(far) : NULL;
}

/* While large results are on their way, the far end renews nothing: so before them, it renews for a
 * lease for each MiB. */
int lk_far_plan(struct lk_far *far)
{
    int64_t now = leat_now();
    size_t bytes = 0;
    for (struct lk_run *run = far->runs; run; run = run->next)
        bytes += choose_results(run);
    size_t times = bytes < 2 * LK_MOST_BYTES ? 1 : bytes / LK_MOST_BYTES;
    bool renew = far->all || now >= far->renew_at || times > 1;
    int error = 0;
    lk_request_empty(&far->engine.request);
    far->step_count = 0;
    if (far->all)
        begin_anew(far);
    look_if_due(far, now);
    struct lk_run *from = choose_run(far);
    for (struct lk_run *run = far->runs; !error && run; run = run->next) {
        if (renew)
            error = plan_renew(far, run, false, times);
        error = error ? error : plan_done(far, run, run == from);
    }
    if (renew)
        far->renew_at = now + far->link->lease / 3;
    if (!error && from)
        error = plan_take(far, from, far->free < LK_MOST ? far->free : LK_MOST);
    else if (!error && (!far->free || far->stopping))
        error = pass_on(far);
    return error;
}

/* ---- replies ---- */

static void forget_stored(struct lk_run *run)
{
    for (struct lk_item *item = run->ended, *next; item; item = next) {
        next = item->next;
        if (!item->stored)
            continue;
        lk_item_unlink(item);
        lk_item_free(item);
    }
}

/* The indexes come in the order in which they were sent: those of held items, in the order of the
 * list, and then those of ended items, which need nothing. */
static int lose(struct lk_run *run, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return -EPROTO;
    struct lk_item *item = run->held;
    for (size_t i = 0; item && i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_STRING)
            return -EPROTO;
        item = lk_item_find(item, reply->element[i]->str);
        if (item)
            lk_item_lose(item);
    }
    return 0;
}

static bool is_index(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING && lk_is_number(reply->str, LK_INDEX);
}

/* index, tries, bytes */
static int start(struct lk_far *far, struct lk_run *run, redisReply *const *three)
{
    const redisReply *tried = three[1], *bytes = three[2];
    if (!is_index(three[0]) || bytes->type != REDIS_REPLY_STRING)
        return -EPROTO;
    long long again = tried->type == REDIS_REPLY_INTEGER ? tried->integer
                      : is_index(tried)                  ? strtoll(tried->str, NULL, 10)
                                                         : 0;
    return lk_item_start(far, run, three[0]->str, (unsigned)again, bytes->str, bytes->len);
}

static int start_all(struct lk_far *far, const struct lk_step *step, const redisReply *reply)
{
    struct lk_run *run = step->run;
    run->woken = run->look = false;
    run->over = reply->type == REDIS_REPLY_NIL;
    if (run->over) {
        run->ready = false;
        run->received = 0;
        return 0;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 3 ||
        reply->elements / 3 > step->asked)
        return -EPROTO;
    int error = 0;
    size_t bytes = 0;
    for (size_t i = 0; !error && i < reply->elements; i += 3) {
        error = start(far, run, reply->element + i);
        bytes += reply->element[i + 2]->len;
    }
    if (step->asked)
        run->ready = reply->elements / 3 == step->asked || bytes >= LK_MOST_BYTES;
    return error;
}

static int handle(struct lk_far *far, const struct lk_step *step)
{
    redisReply *reply;
    int error = lk_engine_reply(&far->engine, &reply, leat_after(far->link->lease + REPLY_TIME));
    if (error)
        return error;
    if (step->script == LK_DONE)
        forget_stored(step->run);
    else if (step->script == LK_RENEW)
        error = lose(step->run, reply);
    else
        error = start_all(far, step, reply);
    freeReplyObject(reply);
    return error;
}

static void none_stored(struct lk_far *far)
{
    for (struct lk_run *run = far->runs; run; run = run->next)
        for (struct lk_item *item = run->ended; item; item = item->next)
            item->stored = false;
}

int lk_far_exchange(struct lk_far *far)
{
    int error = lk_engine_send(&far->engine);
    for (size_t i = 0; !error && i < far->step_count; i++)
        error = handle(far, &far->steps[i]);
    if (error) {
        none_stored(far);
        return error;
    }
    far->all = false;
    lk_runs_clean(far);
    lk_engine_is_there(&far->engine);
    return 0;
}

int lk_far_give_back(struct lk_far *far)
{
    int error = 0;
    lk_request_empty(&far->engine.request);
    far->step_count = 0;
    for (struct lk_run *run = far->runs; !error && run; run = run->next)
        error = plan_renew(far, run, true, 1);
    return error ? error : lk_far_exchange(far);
}
