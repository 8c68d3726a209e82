/* publish.c: the task that sends items to the engine, and confirms what is delivered. */
#include "remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* How long a confirmation waits for more items, after the deliverer's report; and how often an idle
 * near end asks whether the run is still its own. */
#define CONFIRM_AFTER (15 * LEAT_MS)
#define ASK_EVERY (5 * LEAT_S)
#define KEEP_MS INT64_C(86400000)
#define ALL_KEEP (4 << 20)

/* How often in a row to try to open a run, while others open it in between. */
enum { OPENINGS = 8 };

struct publisher {
    struct lk_remote *remote;
    struct lk_engine *engine;
    int64_t seen; /* the epoch of the run before it is opened; 0: it is new */
    uint64_t published, confirmed;
    uint64_t freed;   /* how many items have left the window */
    uint64_t debt;    /* how many items in flight are beyond the window */
    int64_t answered; /* when the engine last answered */
    /* When what is reported and not confirmed is due; LEAT_NEVER: there is nothing. */
    int64_t confirm_at;
    /* What the request under way does. */
    uint64_t batch;
    struct lk_progress confirming;
    bool confirms;
};

static struct lk_progress progress(struct lk_remote *remote)
{
    lk_lock(&remote->lock);
    struct lk_progress now = remote->progress;
    pthread_mutex_unlock(&remote->lock);
    return now;
}

/* ---- opening the run ---- */

static int64_t number(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 ? reply->integer : -1;
}

/* Afterwards the deliverer and the packer go on. */
static int set_up(struct publisher *p, const redisReply *reply)
{
    struct lk_remote *remote = p->remote;
    bool whole = reply->type == REDIS_REPLY_ARRAY && reply->elements == 3;
    int64_t epoch = whole ? number(reply->element[0]) : -1;
    int64_t published = whole ? number(reply->element[1]) : -1;
    int64_t delivered = whole ? number(reply->element[2]) : -1;
    if (epoch < 0 || delivered < 0 || delivered > published || published - delivered > 1 << 24)
        return -EPROTO;
    uint64_t in_flight = (uint64_t)(published - delivered), window = remote->spec.window;
    remote->ring = in_flight > window ? in_flight : window;
    p->debt = remote->ring - window;
    remote->slots = calloc(remote->ring, sizeof *remote->slots);
    if (!remote->slots)
        return -ENOMEM;
    if (in_flight)
        leat_try_acquire(remote->window, (int64_t)(in_flight - p->debt));
    snprintf(remote->epoch, sizeof remote->epoch, "%" PRId64, epoch);
    remote->skip = p->published = (uint64_t)published;
    remote->delivered = remote->reported = remote->gone = (uint64_t)delivered;
    p->confirmed = p->freed = (uint64_t)delivered;
    remote->progress.delivered = remote->progress.confirmed = (uint64_t)delivered;
    atomic_store_explicit(&remote->packed_to, remote->skip, memory_order_relaxed);
    leat_close(remote->opened);
    return 0;
}

static int ask_for_run(struct publisher *p, redisReply **reply)
{
    const struct lk_remote *remote = p->remote;
    struct lk_request *request = &p->engine->request;
    lk_engine_call(p->engine, LK_OPEN, &remote->keys, 5);
    lk_request_text(request, remote->keys.channel);
    lk_request_text(request, remote->keys.run);
    lk_request_number(request, remote->spec.n);
    lk_request_number(request, remote->spec.tries);
    lk_request_number(request, p->seen);
    return lk_engine_ask(p->engine, reply, leat_after(p->engine->link->lease));
}

/* -EAGAIN if each try finds a new epoch. */
static int open_run(struct publisher *p)
{
    for (int i = 0; i < OPENINGS; i++) {
        redisReply *reply;
        int error = ask_for_run(p, &reply);
        if (error)
            return error;
        bool refused = number(reply) >= 0;
        if (refused)
            p->seen = number(reply);
        else
            error = set_up(p, reply);
        freeReplyObject(reply);
        if (!refused)
            return error;
    }
    return -EAGAIN;
}

/* ---- one request ---- */

static uint64_t packed_to(const struct publisher *p)
{
    /* Acquire: the slots below it are packed. */
    return atomic_load_explicit(&p->remote->packed_to, memory_order_acquire);
}

/* How many items go into the next call: good ones, or one that failed. */
static uint64_t choose_batch(const struct publisher *p)
{
    uint64_t from = p->published, to = packed_to(p), n = 0;
    for (size_t bytes = 0; from + n != to && n < LK_MOST && bytes < LK_MOST_BYTES; n++) {
        const struct lk_packed *packed = &lk_slot(p->remote, from + n)->packed;
        if (packed->status)
            return n ? n : 1;
        bytes += packed->bytes.size;
    }
    return n;
}

static void add_batch(struct publisher *p)
{
    struct lk_remote *remote = p->remote;
    struct lk_request *request = &p->engine->request;
    p->batch = choose_batch(p);
    if (!p->batch)
        return;
    lk_engine_call(p->engine, LK_PUBLISH, &remote->keys, 5 + p->batch);
    lk_request_text(request, remote->keys.channel);
    lk_request_text(request, remote->keys.run);
    lk_request_text(request, remote->epoch);
    lk_request_number(request, (int64_t)p->published);
    lk_request_number(request, lk_slot(remote, p->published)->packed.status);
    for (uint64_t i = 0; i < p->batch; i++) {
        const leat_bytes *bytes = &lk_slot(remote, p->published + i)->packed.bytes;
        lk_request_word(request, bytes->data, bytes->size);
    }
}

static void add_confirm(struct publisher *p)
{
    struct lk_request *request = &p->engine->request;
    p->confirming = progress(p->remote);
    lk_engine_call(p->engine, LK_CONFIRM, &p->remote->keys, 4);
    lk_request_text(request, p->remote->epoch);
    lk_request_number(request, (int64_t)p->published);
    lk_request_number(request, (int64_t)p->confirming.confirmed);
    lk_request_text(request, p->confirming.entry);
}

static int exchange(struct publisher *p)
{
    unsigned replies = p->engine->request.replies;
    int error = lk_engine_send(p->engine);
    for (; !error && replies; replies--)
        error = lk_engine_expect_number(p->engine);
    if (!error) {
        p->answered = leat_now();
        lk_engine_is_there(p->engine);
    }
    return error;
}

/* Tries until the engine has answered, or `quit` closes. */
static int insist(struct publisher *p, void add(struct publisher *))
{
    for (;;) {
        add(p);
        int error = exchange(p);
        if (!error || !lk_engine_may_return(error))
            return error;
        error = lk_engine_return(p->engine, p->remote->quit);
        if (error)
            return error;
        p->confirms = true; /* an engine whose memory is full gets room by it */
    }
}

static void add_round(struct publisher *p)
{
    if (p->confirms)
        add_confirm(p);
    add_batch(p);
}

static int go_round(struct publisher *p)
{
    int error = insist(p, add_round);
    if (error)
        return error;
    /* A slot keeps a little memory for its next item. */
    size_t little = ALL_KEEP / p->remote->ring + 64;
    for (uint64_t i = 0; i < p->batch; i++) {
        leat_bytes *bytes = &lk_slot(p->remote, p->published + i)->packed.bytes;
        if (bytes->room > little)
            lk_bytes_free(bytes);
    }
    p->published += p->batch;
    if (p->confirms) {
        p->confirmed = p->confirming.confirmed;
        p->confirm_at = LEAT_NEVER;
    }
    return 0;
}

/* ---- the task ---- */

static void add_finish(struct publisher *p)
{
    struct lk_remote *remote = p->remote;
    struct lk_request *request = &p->engine->request;
    add_confirm(p);
    lk_engine_call(p->engine, LK_FINISH, &remote->keys, 3);
    lk_request_text(request, remote->epoch);
    lk_request_text(request, remote->keys.run);
    lk_request_number(request, KEEP_MS);
}

/* Everything is delivered. A run whose input was cut short stays open, for another near end. */
static int finish(struct publisher *p)
{
    lk_engine_shut(&p->remote->deliverer);
    bool cut = atomic_load_explicit(&p->remote->cut, memory_order_relaxed);
    return insist(p, cut ? add_confirm : add_finish);
}

/* Gives permits back. */
static void free_slots(struct publisher *p, uint64_t delivered)
{
    uint64_t done = delivered < p->published ? delivered : p->published, n = done - p->freed;
    uint64_t paid = n < p->debt ? n : p->debt;
    p->debt -= paid;
    p->freed = done;
    if (n > paid)
        leat_release(p->remote->window, (int64_t)(n - paid));
}

/* Later reports, and items to publish, do not put off what is due. */
static void set_due(struct publisher *p, bool some)
{
    if (!some)
        p->confirm_at = LEAT_NEVER;
    else if (p->confirm_at == LEAT_NEVER)
        p->confirm_at = leat_after(CONFIRM_AFTER);
}

/* Waits until there is something to do. */
static int wait_for_work(struct publisher *p)
{
    const struct lk_remote *remote = p->remote;
    uint64_t many = remote->spec.window / 8 + 1;
    for (;;) {
        struct lk_progress now = progress(p->remote);
        free_slots(p, now.delivered);
        set_due(p, now.confirmed != p->confirmed);
        p->confirms = now.confirmed - p->confirmed >= many || leat_now() >= p->confirm_at;
        if (lk_is_all(remote, now.delivered) || p->confirms || packed_to(p) != p->published)
            return 0;
        bool some = p->confirm_at != LEAT_NEVER;
        int64_t until = some ? p->confirm_at : p->answered + ASK_EVERY;
        leat_case cases[] = { LEAT_RECV(remote->bell, NULL), LEAT_RECV(remote->quit, NULL) };
        int i = leat_select_ordered(cases, 2, until);
        p->confirms = i == -ETIMEDOUT;
        if (i != 0)
            return i == 1 ? -ESHUTDOWN : p->confirms ? 0 : i;
    }
}

static int publish_all(struct publisher *p)
{
    for (;;) {
        int error = wait_for_work(p);
        if (error)
            return error;
        if (lk_is_all(p->remote, progress(p->remote).delivered))
            return finish(p);
        error = go_round(p);
        if (error)
            return error;
    }
}

int lk_publish(void *arg)
{
    struct lk_remote *remote = arg;
    struct publisher p = { .remote = remote,
                           .engine = &remote->publisher,
                           .confirm_at = LEAT_NEVER };
    int error = lk_engine_return(p.engine, remote->quit);
    while (!error) {
        error = open_run(&p);
        if (!error || !lk_engine_may_return(error))
            break;
        error = lk_engine_return(p.engine, remote->quit);
    }
    p.answered = leat_now();
    if (!error)
        lk_engine_is_there(p.engine);
    error = error ? error : publish_all(&p);
    lk_engine_leave(p.engine);
    if (error == -ESTALE)
        lk_report(p.engine->link, "the run %s was opened again elsewhere, or removed",
                  remote->keys.run);
    return error == -ESHUTDOWN ? 0 : error;
}
