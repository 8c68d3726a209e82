/* link_scripts.h: what the scripts of link/scripts do, in C: script_NAME does what NAME.lua does.
 * test_link_scripts.c compares the two. */
#pragma once

#include "link_simulated.h"

/* ---- the scripts of the near end ---- */

static inline void script_open(const struct call *call)
{
    struct run_keys *run = call->run;
    if (number_of(call, 5) != run->epoch) {
        reply_number(call->reply, run->epoch);
        return;
    }
    run->epoch = run->epoch < call->engine->us ? call->engine->us : run->epoch + 1;
    run->expires = false;
    run->exists = run->open = run->listed = true;
    run->n = number_of(call, 3);
    run->limit = number_of(call, 4);
    publish(call->engine, word(call, 1), word(call, 2));
    reply_array(call->reply, 3);
    reply_number(call->reply, run->epoch);
    reply_number(call->reply, run->published);
    reply_number(call->reply, run->delivered);
}

static inline void add_item(struct run_keys *run, uint64_t index, const redisReply *bytes)
{
    struct cell *cell = cell_of(run, index);
    free(cell->item);
    cell->item = copy_of(bytes->str, bytes->len);
    cell->size = bytes->len;
}

static inline void begin_lease(const struct call *call, struct cell *cell, int64_t lease,
                               const char *far_end)
{
    cell->leased = true;
    cell->ends_at = ms_of(call->engine) + lease;
    if (!cell->owner[0])
        cell->owned_since = ++call->engine->owned;
    snprintf(cell->owner, sizeof cell->owner, "%s", far_end);
}

static inline void add_news(struct message *message, int64_t number, uint64_t index,
                            const struct cell *cell)
{
    message->size += (size_t)snprintf(message->text + message->size, 48,
                                      " %" PRId64 " %" PRIu64 " ", number, index);
    CHECK(message->size + cell->size <= MESSAGE_ROOM);
    memcpy(message->text + message->size, cell->item, cell->size);
    message->size += cell->size;
}

/* How many lone items the far end was sent since its last renewal of all. */
static inline int64_t *handed_to(struct run_keys *run, const char *far_end)
{
    size_t i = 0;
    while (i < run->handed_count && strcmp(run->handed[i].far_end, far_end) != 0)
        i++;
    if (i == run->handed_count) {
        CHECK(run->handed_count++ < WAITERS);
        snprintf(run->handed[i].far_end, NAME_ROOM, "%s", far_end);
    }
    return &run->handed[i].count;
}

static inline bool hand_over(const struct call *call, uint64_t index)
{
    struct run_keys *run = call->run;
    struct cell *cell = cell_of(run, index);
    if (!run->open || cell->size > 16384 || count_leases(run) >= run->n)
        return false;
    while (run->waiting_count) {
        char own[2 * NAME_ROOM];
        struct waiter waiter = take_waiting(call);
        if (!hears(call->engine, word(call, 1), &waiter, own))
            continue;
        add_news(publish(call->engine, own, word(call, 2)), waiter.number, index, cell);
        begin_lease(call, cell, waiter.lease, waiter.far_end);
        ++*handed_to(run, waiter.far_end);
        if (--waiter.places > 0)
            run->waiting[run->waiting_count++] = waiter;
        return true;
    }
    return false;
}

static inline void give_out(const struct call *call, int64_t from, int64_t end)
{
    if (end - from == 1 && hand_over(call, (uint64_t)from))
        return;
    for (int64_t index = from; index < end; index++)
        push(call->run, (uint64_t)index, false);
    wake(call, word(call, 1), word(call, 2), end - from);
}

static inline void script_publish(const struct call *call)
{
    struct run_keys *run = call->run;
    int64_t first = number_of(call, 4), status = number_of(call, 5);
    int64_t end = first + (int64_t)call->n - 5;
    struct entry failed = { 0 };
    if (!is_near_end(call, number_of(call, 3))) {
        reply_stale(call);
        return;
    }
    if (first > run->published) {
        reply_lost(call);
        return;
    }
    int64_t from = first > run->published ? first : run->published;
    if (from < end) {
        for (int64_t index = from; !status && index < end; index++)
            add_item(run, (uint64_t)index, call->words[index - first + 5]);
        if (!status)
            give_out(call, from, end);
        else
            add_field(&failed, (uint64_t)from, status, "", 0);
        store(call, &failed);
        run->published = end;
    }
    reply_number(call->reply, run->published);
}

static inline bool has_entry(const struct run_keys *run, const char *name)
{
    for (size_t i = 0; i < run->entry_count; i++) {
        char own[64];
        snprintf(own, sizeof own, "%" PRId64 "-%" PRIu64, run->entries[i].ms,
                 run->entries[i].number);
        if (strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static inline void trim(struct run_keys *run, const char *from)
{
    int64_t ms;
    uint64_t number;
    size_t n = 0;
    CHECK_IS(2, sscanf(from, "%" SCNd64 "-%" SCNu64, &ms, &number));
    while (n < run->entry_count && (run->entries[n].ms < ms ||
                                    (run->entries[n].ms == ms && run->entries[n].number < number)))
        free_entry(&run->entries[n++]);
    run->entry_count -= n;
    memmove(run->entries, run->entries + n, run->entry_count * sizeof *run->entries);
}

static inline void script_confirm(const struct call *call)
{
    if (!is_near_end(call, number_of(call, 1))) {
        reply_stale(call);
        return;
    }
    int64_t delivered = number_of(call, 3);
    if (call->run->published < number_of(call, 2)) {
        reply_lost(call);
        return;
    }
    if (call->n >= 5 && !has_entry(call->run, word(call, 5))) {
        reply_lost(call);
        return;
    }
    if (delivered > call->run->delivered)
        call->run->delivered = delivered;
    if (*word(call, 4))
        trim(call->run, word(call, 4));
    reply_number(call->reply, 0);
}

static inline void script_finish(const struct call *call)
{
    if (!is_near_end(call, number_of(call, 1))) {
        reply_stale(call);
        return;
    }
    call->run->open = call->run->listed = false;
    call->run->expires = true;
    reply_number(call->reply, 0);
}

/* How many of a run's eight keys there are. */
static inline int64_t count_keys(const struct run_keys *run)
{
    bool items = false, leases = false, owners = false, tries = false;
    for (uint64_t i = 0; i < run->cell_count; i++) {
        items |= run->cells[i].item != NULL;
        leases |= run->cells[i].leased;
        owners |= run->cells[i].owner[0] != '\0';
        tries |= run->cells[i].tries != 0;
    }
    return run->exists + items + leases + owners + tries + (run->queue_count > 0) +
           (run->entry_count > 0) + (run->waiting_count > 0);
}

static inline void script_forget(const struct call *call)
{
    reply_number(call->reply, count_keys(call->run));
    free_run(call->run);
    snprintf(call->run->name, sizeof call->run->name, "%s", word(call, 1));
}

/* ---- the scripts of a far end ---- */

/* The lease that has ended and comes last: of equal ends, as texts are ordered. */
static inline bool ends_later(const struct run_keys *run, uint64_t a, uint64_t b)
{
    char first[24], second[24];
    if (run->cells[a].ends_at != run->cells[b].ends_at)
        return run->cells[a].ends_at > run->cells[b].ends_at;
    snprintf(first, sizeof first, "%" PRIu64, a);
    snprintf(second, sizeof second, "%" PRIu64, b);
    return strcmp(first, second) > 0;
}

static inline void remove_waiting(struct run_keys *run, const char *far_end)
{
    for (size_t i = 0; i < run->waiting_count; i++)
        if (strcmp(run->waiting[i].far_end, far_end) == 0) {
            run->waiting[i] = run->waiting[--run->waiting_count];
            return;
        }
}

static inline void look_for_ended(const struct call *call)
{
    struct run_keys *run = call->run;
    struct entry failed = { 0 };
    if (call->engine->uptime * 1000 < number_of(call, 5))
        return;
    for (;;) {
        uint64_t last = UINT64_MAX;
        for (uint64_t i = 0; i < run->cell_count; i++)
            if (run->cells[i].leased && run->cells[i].ends_at <= ms_of(call->engine) &&
                (last == UINT64_MAX || ends_later(run, i, last)))
                last = i;
        if (last == UINT64_MAX)
            break;
        remove_waiting(run, run->cells[last].owner);
        try_again(run, last, -EOWNERDEAD, &failed);
    }
    store(call, &failed);
}

static inline void set_waiting(const struct call *call, int64_t places)
{
    struct run_keys *run = call->run;
    remove_waiting(run, word(call, 3));
    if (places <= 0)
        return;
    CHECK(run->waiting_count < WAITERS);
    struct waiter *waiter = &run->waiting[run->waiting_count++];
    *waiter = (struct waiter){ .lease = number_of(call, 5),
                               .number = number_of(call, 8),
                               .places = places };
    snprintf(waiter->far_end, sizeof waiter->far_end, "%s", word(call, 3));
}

static inline void hand_out(const struct call *call)
{
    uint64_t index = pop(call->run);
    struct cell *cell = cell_of(call->run, index);
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, index);
    lk_request_word(call->reply, text, (size_t)n);
    if (cell->tries)
        lk_request_number(call->reply, cell->tries);
    else
        reply_number(call->reply, 0);
    CHECK(cell->item);
    lk_request_word(call->reply, cell->item, cell->size);
    begin_lease(call, cell, number_of(call, 5), word(call, 3));
}

/* How many of the queue's first items are taken: up to `most`, and up to the bytes. */
static inline int64_t count_taken(const struct call *call, int64_t most, int64_t *bytes)
{
    struct run_keys *run = call->run;
    int64_t n = 0, limit = number_of(call, 7);
    for (*bytes = 0; n < most && n < (int64_t)run->queue_count && *bytes < limit; n++)
        *bytes += (int64_t)cell_of(run, run->queue[n])->size;
    return n;
}

static inline void stretch_leases(const struct call *call, int64_t times)
{
    for (uint64_t i = 0; i < call->run->cell_count; i++)
        if (strcmp(call->run->cells[i].owner, word(call, 3)) == 0)
            call->run->cells[i].ends_at = ms_of(call->engine) + times * number_of(call, 5);
}

static inline void script_take(const struct call *call)
{
    struct run_keys *run = call->run;
    if (!run->open) {
        *handed_to(run, word(call, 3)) = 0;
        reply_line(call->reply, "$-1");
        return;
    }
    int64_t places = number_of(call, 4);
    int64_t on_their_way = *handed_to(run, word(call, 3)) - number_of(call, 9);
    if (on_their_way > 0)
        places = places > on_their_way ? places - on_their_way : 0;
    if (number_of(call, 6) == 1)
        look_for_ended(call);
    int64_t free_ones = run->n - count_leases(run), bytes;
    int64_t n = count_taken(call, places < free_ones ? places : free_ones, &bytes);
    reply_array(call->reply, 3 * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        hand_out(call);
    if (bytes >= 2 * number_of(call, 7))
        stretch_leases(call, bytes / number_of(call, 7));
    int64_t left = (int64_t)run->queue_count, room = free_ones - n;
    left = left < room ? left : room;
    if (left > 0)
        wake(call, word(call, 1), word(call, 2), left);
    set_waiting(call, left > 0 ? 0 : places - n);
}

/* One result. */
static inline void take_in(const struct call *call, size_t at, struct entry *fields)
{
    uint64_t index = (uint64_t)number_of(call, at);
    int64_t status = number_of(call, at + 1);
    struct cell *cell = cell_of(call->run, index);
    if (strcmp(cell->owner, word(call, 3)) != 0)
        return;
    if (status) {
        try_again(call->run, index, status, fields);
        return;
    }
    const redisReply *bytes = call->words[at + 1];
    add_field(fields, index, 0, bytes->str, bytes->len);
    drop_lease(cell);
    drop_item(cell);
}

static inline void script_done(const struct call *call)
{
    struct entry fields = { 0 };
    for (size_t i = 5; i + 2 <= call->n; i += 3)
        take_in(call, i, &fields);
    reply_number(call->reply, (int64_t)fields.n);
    store(call, &fields);
    if (number_of(call, 4) != 1 && call->run->queue_count)
        wake(call, word(call, 1), word(call, 2), (int64_t)call->run->queue_count);
}

static inline bool is_named(const struct call *call, uint64_t index)
{
    for (size_t i = 6; i <= call->n; i++)
        if ((uint64_t)number_of(call, i) == index)
            return true;
    return false;
}

/* The next of the far end's that it has not named, by the time since when it has it. */
static inline uint64_t next_other(const struct call *call)
{
    const struct run_keys *run = call->run;
    uint64_t next = UINT64_MAX;
    for (uint64_t i = 0; i < run->cell_count; i++)
        if (strcmp(run->cells[i].owner, word(call, 3)) == 0 && !is_named(call, i) &&
            (next == UINT64_MAX || run->cells[i].owned_since < run->cells[next].owned_since))
            next = i;
    return next;
}

static inline void give_back_others(const struct call *call)
{
    for (uint64_t i; (i = next_other(call)) != UINT64_MAX;) {
        drop_lease(cell_of(call->run, i));
        push(call->run, i, true);
    }
    remove_waiting(call->run, word(call, 3));
    *handed_to(call->run, word(call, 3)) = 0;
    if (call->run->queue_count)
        wake(call, word(call, 1), word(call, 2), (int64_t)call->run->queue_count);
}

static inline void script_renew(const struct call *call)
{
    struct lk_request lost = { 0 };
    size_t count = 0;
    for (size_t i = 6; i <= call->n; i++) {
        struct cell *cell = cell_of(call->run, (uint64_t)number_of(call, i));
        if (strcmp(cell->owner, word(call, 3)) == 0) {
            cell->ends_at = ms_of(call->engine) + number_of(call, 4);
        } else {
            lk_request_text(&lost, word(call, i));
            count++;
        }
    }
    if (number_of(call, 5) == 1)
        give_back_others(call);
    reply_array(call->reply, count);
    if (count)
        lk_request_raw(call->reply, lost.bytes.data, lost.bytes.size);
    lk_request_free(&lost);
}

/* ---- any script ---- */

static inline void run_script(const struct call *call, enum lk_script script)
{
    static void (*const scripts[LK_SCRIPTS])(const struct call *) = {
        [LK_OPEN] = script_open,     [LK_PUBLISH] = script_publish, [LK_CONFIRM] = script_confirm,
        [LK_FINISH] = script_finish, [LK_FORGET] = script_forget,   [LK_TAKE] = script_take,
        [LK_DONE] = script_done,     [LK_RENEW] = script_renew
    };
    call->engine->message_count = 0;
    call->engine->added = false;
    scripts[script](call);
}
