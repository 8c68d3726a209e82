/* deliver.c: the task that receives results and sends outputs. */
#include "remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the engine waits for results before it answers that there are none. */
#define BLOCK_MS 5000

/* How many entries to ask for at once: halved after a large reply, else doubled. An entry may have
 * some MiB. */
enum { ENTRIES = 16, ENTRIES_MOST = 256, MANY_BYTES = 1 << 20 };

/* How long a report waits for more outputs. With the publisher's wait (publish.c) it is 20 ms. */
#define REPORT_AFTER (5 * LEAT_MS)

/* ---- progress ---- */

/* How many outputs may not be used yet: those in the channel's buffer, and the last one that the
 * receiver has taken. */
static uint64_t unsure(const struct lk_remote *remote)
{
    uint64_t most = leat_chan_cap(remote->out);
    return remote->sent > most ? most + 1 : remote->sent;
}

/* How many results are surely used. A dropped failure counts as used when the outputs before it
 * do. */
static uint64_t used(struct lk_remote *remote)
{
    uint64_t outputs = unsure(remote), sure = remote->sent - outputs;
    while (remote->failed_count && remote->failed[remote->failed_first] <= sure) {
        remote->failed_first = (remote->failed_first + 1) % remote->spec.window;
        remote->failed_count--;
    }
    return remote->delivered - outputs - remote->failed_count;
}

/* If the last outputs are followed by a window of failures, the oldest of these count as used: the
 * engine must not keep ever more of them. */
static void note_failure(struct lk_remote *remote)
{
    unsigned window = remote->spec.window;
    if (remote->failed_count == window) {
        remote->failed_first = (remote->failed_first + 1) % window;
        remote->failed_count--;
    }
    remote->failed[(remote->failed_first + remote->failed_count++) % window] = remote->sent;
}

/* Removes the entries whose results are used from the list. Returns how many results are confirmed:
 * if they have no order, only those of removed entries. */
static uint64_t remove_entries(struct lk_remote *remote)
{
    uint64_t confirmed = used(remote);
    while (remote->entry_count && remote->entries[remote->entry_first].after <= confirmed) {
        remote->gone = remote->entries[remote->entry_first].after;
        remote->entry_first++;
        remote->entry_count--;
    }
    return remote->spec.unordered ? remote->gone : confirmed;
}

static void report_progress(struct lk_remote *remote)
{
    struct lk_progress now = { .delivered = remote->delivered,
                               .confirmed = remove_entries(remote) };
    if (remote->entry_count)
        memcpy(now.entry, remote->entries[remote->entry_first].id, sizeof now.entry);
    remote->reported = remote->delivered;
    remote->report_at = leat_after(REPORT_AFTER);
    lk_lock(&remote->lock);
    if (now.confirmed < remote->progress.confirmed)
        now.confirmed = remote->progress.confirmed;
    remote->progress = now;
    pthread_mutex_unlock(&remote->lock);
    lk_ring(remote);
}

/* An engine that keeps to the rules has no more: each entry has a result of its own, of an item
 * that is in flight, or delivered and perhaps not used. */
static bool has_too_many(const struct lk_remote *remote)
{
    return remote->entry_count / 4 > remote->ring + leat_chan_cap(remote->out);
}

static struct lk_entry *new_entry(struct lk_remote *remote)
{
    if (remote->entry_first + remote->entry_count == remote->entry_room) {
        if (remote->entry_first <= remote->entry_room / 2) {
            size_t room = 2 * remote->entry_room + 64;
            struct lk_entry *more = realloc(remote->entries, room * sizeof *more);
            if (!more)
                return NULL;
            remote->entries = more;
            remote->entry_room = room;
        }
        memmove(remote->entries, remote->entries + remote->entry_first,
                remote->entry_count * sizeof *remote->entries);
        remote->entry_first = 0;
    }
    return &remote->entries[remote->entry_first + remote->entry_count++];
}

/* ---- one output ---- */

/* Makes the output of an item. Returns its status. */
static int make_output(struct lk_remote *remote, uint64_t index, const struct lk_result *result)
{
    const leat_remote_spec *spec = &remote->spec;
    size_t head = spec->failing == LEAT_FAIL_TELLS ? sizeof(leat_outcome) : 0;
    leat_outcome outcome = { .index = index };
    memset(remote->output, 0, spec->out_size);
    memcpy(remote->output, &outcome, head);
    int status = result->status;
    if (!status && result->size > spec->max_bytes)
        status = -EMSGSIZE;
    else if (!status && spec->unpack)
        status = spec->unpack(spec->arg, result->data, result->size, remote->output);
    else if (!status && result->size > spec->out_size - head)
        status = -EPROTO;
    else if (!status && result->size)
        memcpy((char *)remote->output + head, result->data, result->size);
    if (status)
        memset(remote->output, 0, spec->out_size);
    outcome.status = status;
    memcpy(remote->output, &outcome, head);
    return status;
}

/* A receiver may take its time: what it has taken is reported meanwhile. */
static int send_output(struct lk_remote *remote)
{
    leat_drop_fn *drop = leat_chan_drop_fn(remote->out);
    int error = -ETIMEDOUT;
    if (remote->delivered != remote->reported) {
        error = leat_send_until(remote->out, remote->output, remote->report_at);
        if (error == -ETIMEDOUT)
            report_progress(remote);
    }
    if (error == -ETIMEDOUT)
        error = leat_send(remote->out, remote->output);
    if (error && drop)
        drop(remote->output);
    return error == -EPIPE ? -ESHUTDOWN : error;
}

/* 0; -ESHUTDOWN when `out` is closed, or the item's failure cancels the scope; -ECANCELED. */
static int deliver(struct lk_remote *remote, uint64_t index, const struct lk_result *result)
{
    int status = make_output(remote, index, result);
    int error = 0;
    bool sends = !status || remote->spec.failing == LEAT_FAIL_TELLS;
    if (sends)
        error = send_output(remote);
    else if (remote->spec.failing == LEAT_FAIL_CANCELS)
        remote->verdict = status;
    if (remote->verdict)
        return -ESHUTDOWN;
    if (error)
        return error;
    if (sends)
        remote->sent++;
    else
        note_failure(remote);
    remote->delivered++;
    if (remote->delivered - remote->reported > remote->spec.window / 16 ||
        leat_now() >= remote->report_at)
        report_progress(remote);
    return 0;
}

/* Delivers the kept results that are next. */
static int deliver_kept(struct lk_remote *remote)
{
    for (;;) {
        struct lk_result *kept = &lk_slot(remote, remote->delivered)->result;
        if (!kept->data)
            return 0;
        struct lk_result next = *kept;
        *kept = (struct lk_result){ 0 };
        int error = deliver(remote, remote->delivered, &next);
        free(next.data);
        if (error)
            return error;
    }
}

static int keep(struct lk_remote *remote, uint64_t index, const struct lk_result *result)
{
    struct lk_result *to = &lk_slot(remote, index)->result;
    if (to->data)
        return -ESTALE;
    to->data = malloc(result->size + 1);
    if (!to->data)
        return -ENOMEM;
    if (result->size)
        memcpy(to->data, result->data, result->size);
    to->size = result->size;
    to->status = result->status;
    return 0;
}

/* Whether the engine was given the item. If not, another near end has opened the run since.
 * Acquire, as the publisher does. */
static bool was_given(struct lk_remote *remote, uint64_t index)
{
    uint64_t given = atomic_load_explicit(&remote->packed_to, memory_order_acquire);
    return index < given && remote->delivered < given;
}

static int take_result(struct lk_remote *remote, uint64_t index, const struct lk_result *result)
{
    if (index < remote->delivered && !remote->spec.unordered)
        return 0; /* an earlier near end has delivered it */
    if (!was_given(remote, index))
        return -ESTALE;
    if (remote->spec.unordered)
        return deliver(remote, index, result);
    if (index - remote->delivered >= remote->ring)
        return -ESTALE;
    if (index != remote->delivered)
        return keep(remote, index, result);
    int error = deliver(remote, index, result);
    return error ? error : deliver_kept(remote);
}

/* ---- entries of the stream ---- */

/* "17" or "17:-5" */
static bool read_name(const char *name, uint64_t *index, int *status)
{
    char *end;
    if (*name < '0' || *name > '9')
        return false;
    errno = 0;
    *index = strtoull(name, &end, 10);
    long value = *end == ':' ? strtol(end + 1, &end, 10) : 0;
    *status = (int)value;
    return errno == 0 && *end == '\0' && *status == value;
}

static int take_fields(struct lk_remote *remote, const redisReply *fields, uint64_t *after)
{
    if (fields->elements == 0 || fields->elements % 2)
        return -EPROTO;
    for (size_t i = 0; i < fields->elements; i += 2) {
        const redisReply *name = fields->element[i], *bytes = fields->element[i + 1];
        uint64_t index;
        struct lk_result result = { .data = bytes->str, .size = bytes->len };
        if (name->type != REDIS_REPLY_STRING || bytes->type != REDIS_REPLY_STRING ||
            !read_name(name->str, &index, &result.status))
            return -EPROTO;
        int error = take_result(remote, index, &result);
        if (error)
            return error;
        if (index + 1 > *after)
            *after = index + 1;
    }
    return 0;
}

static int take_entry(struct lk_remote *remote, const redisReply *entry, char *last, size_t size)
{
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
        entry->element[0]->type != REDIS_REPLY_STRING || entry->element[0]->len >= size ||
        entry->element[1]->type != REDIS_REPLY_ARRAY)
        return -EPROTO;
    if (has_too_many(remote))
        return -EPROTO;
    memcpy(last, entry->element[0]->str, entry->element[0]->len + 1);
    struct lk_entry *new = new_entry(remote);
    if (!new)
        return -ENOMEM;
    memcpy(new->id, last, size);
    new->after = UINT64_MAX; /* it must stay while its results are delivered */
    uint64_t after = 0;
    int error = take_fields(remote, entry->element[1], &after);
    if (!error)
        new->after = remote->spec.unordered ? remote->delivered : after;
    return error;
}

/* [[key, [entry, …]]], or nothing. */
static int take_reply(struct lk_remote *remote, const redisReply *reply, char *last, size_t size)
{
    if (reply->type == REDIS_REPLY_NIL)
        return 0;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1 ||
        reply->element[0]->type != REDIS_REPLY_ARRAY || reply->element[0]->elements != 2 ||
        reply->element[0]->element[1]->type != REDIS_REPLY_ARRAY)
        return -EPROTO;
    const redisReply *entries = reply->element[0]->element[1];
    int error = 0;
    for (size_t i = 0; !error && i < entries->elements; i++)
        error = take_entry(remote, entries->element[i], last, size);
    report_progress(remote);
    return error;
}

/* ---- the task ---- */

/* If the engine was killed before it had written the last results, it does not have them any more,
 * and their items will have others: these would be delivered, too. */
static void ask_for_last(struct lk_remote *remote, const char *last)
{
    struct lk_request *request = &remote->deliverer.request;
    lk_engine_call(&remote->deliverer, LK_CONFIRM, &remote->keys, 5);
    lk_request_text(request, remote->epoch);
    lk_request_number(request, 0);
    lk_request_number(request, 0);
    lk_request_text(request, "");
    lk_request_text(request, last);
}

/* `again`: the connection is new, and an earlier one brought the entry `last`. The first reply of a
 * new connection comes at once: it shows that the engine is there. */
static int ask(struct lk_remote *remote, const char *last, bool again, redisReply **reply)
{
    struct lk_engine *engine = &remote->deliverer;
    const char *block = engine->away_since ? "1" : "5000";
    char most[16];
    snprintf(most, sizeof most, "%u", remote->entries_most);
    if (again)
        ask_for_last(remote, last);
    lk_request_texts(&engine->request, "XREAD", "COUNT", most, "BLOCK", block, "STREAMS",
                     remote->keys.results, last, NULL);
    int error = lk_engine_send(engine);
    if (!error && again)
        error = lk_engine_expect_number(engine);
    return error ? error
                 : lk_engine_reply(engine, reply,
                                   leat_after(BLOCK_MS * LEAT_MS + engine->link->lease));
}

static void adapt(struct lk_remote *remote, const redisReply *reply)
{
    if (remote->deliverer.reply_size > MANY_BYTES)
        remote->entries_most -= remote->entries_most / 2;
    else if (reply->type == REDIS_REPLY_ARRAY && remote->entries_most < ENTRIES_MOST)
        remote->entries_most *= 2;
}

/* -ESHUTDOWN at the end, and when `out` is closed. */
static int deliver_all(struct lk_remote *remote)
{
    struct lk_engine *engine = &remote->deliverer;
    char last[sizeof remote->entries->id] = "0-0";
    bool again = false;
    remote->entries_most = ENTRIES;
    int error = lk_is_all(remote, remote->delivered) ? -ESHUTDOWN : lk_engine_return(engine, NULL);
    while (!error) {
        redisReply *reply;
        error = ask(remote, last, again, &reply);
        if (!error) {
            again = false;
            lk_engine_is_there(engine);
            adapt(remote, reply);
            error = take_reply(remote, reply, last, sizeof last);
            freeReplyObject(reply);
        } else if (lk_engine_may_return(error)) {
            remote->entries_most = 1;
            again = strcmp(last, "0-0") != 0;
            error = lk_engine_return(engine, NULL);
        }
        if (!error && (lk_is_all(remote, remote->delivered) || leat_chan_closed(remote->out)))
            error = -ESHUTDOWN;
    }
    return error;
}

/* One of several senders cannot cut the output short, but an operator with such an input can. If
 * memory for it has run out, no receiver may take the output for whole. */
static void cut_one_sender(const struct lk_remote *remote)
{
    leat_chan *none = leat_chan_make(remote->scope, leat_chan_item_size(remote->out), 0);
    leat_cut(none);
    if (!leat_pipe(remote->scope, none, remote->out, LEAT_ENDS_DONE))
        leat_cut(remote->out);
}

static void end_output(const struct lk_remote *remote, bool whole)
{
    leat_ending ending = remote->spec.ending;
    if (ending == LEAT_ENDS_CLOSED && whole)
        leat_close(remote->out);
    else if (ending == LEAT_ENDS_CLOSED)
        leat_cut(remote->out);
    else if (ending == LEAT_ENDS_DONE && whole)
        leat_chan_done(remote->out);
    else if (ending == LEAT_ENDS_DONE)
        cut_one_sender(remote);
}

int lk_deliver(void *arg)
{
    struct lk_remote *remote = arg;
    leat_case cases[] = { LEAT_RECV(remote->opened, NULL), LEAT_RECV(remote->quit, NULL) };
    int i = leat_select_ordered(cases, 2, LEAT_NEVER);
    if (i == 1)
        return 0; /* leat_remote has failed: `out` is the caller's */
    int error = i < 0 ? i : deliver_all(remote);
    lk_engine_leave(&remote->deliverer);
    if (error == -ESTALE)
        lk_report(remote->spec.link,
                  "the run %s was opened again elsewhere, or removed: it has other items now",
                  remote->keys.run);
    if (error == -EPROTO)
        lk_report(remote->spec.link, "the engine has results that the run %s cannot have",
                  remote->keys.run);
    bool all = lk_is_all(remote, remote->delivered);
    end_output(remote, all && !atomic_load_explicit(&remote->cut, memory_order_relaxed));
    if (!all) {
        leat_close(remote->quit);
        leat_try_acquire(remote->window, 1);
        leat_release(remote->window, 1);
    }
    return error == -ESHUTDOWN ? remote->verdict : error;
}
