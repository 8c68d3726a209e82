/* trace_write.c: a trace as Chrome's trace viewer and Perfetto read it ("Trace Event Format").
 *
 * Each worker is a track of slices, one for each time that it ran a party. A channel passes items
 * on in order: so the n-th item sent is the n-th received, and a flow leads from one to the other.
 * If the sender had to wait, the flow begins where the sender ran last; if the receiver had to
 * wait, it ends where the receiver ran next. Threads have no slices, and so no flows. */
#include "watch/trace_write.h"

#include "base/alloc.h"
#include "watch/trace.h"

#include <leat/base.h>

#include <errno.h>
#include <stdlib.h>

struct slice {
    uint64_t party;
    int64_t from, to;
    const char *name; /* of a block */
    unsigned track;
};

struct name {
    uint32_t number;
    const char *text;
};

/* An item at a channel's one end. */
struct item {
    uint32_t channel;
    bool sent, partner; /* partner: by `party`, which waited; else by the party on `track` */
    unsigned track;
    uint64_t party;
    int64_t at;
    size_t order;
};

struct story {
    unsigned workers;
    int64_t begin, end;
    struct slice *slices;
    struct item *items;
    struct name *tasks, *channels;
    size_t slice_count, item_count, task_count, channel_count;
};

/* ---- reading the events ---- */

static void count(struct story *s, const struct lt_event *e, size_t *counts)
{
    if (!s->begin || e->at < s->begin)
        s->begin = e->at;
    if (e->at > s->end)
        s->end = e->at;
    switch ((enum lt_event_kind)e->kind) {
    case LT_EV_RUNS: counts[0]++; break;
    case LT_EV_TASK: counts[1]++; break;
    case LT_EV_CHANNEL: counts[2]++; break;
    case LT_EV_SENT:
    case LT_EV_RECEIVED: counts[3] += e->count + 1; break;
    case LT_EV_OPENED:
    case LT_EV_CLOSED: break;
    }
}

static void add_item(struct story *s, const struct lt_event *e, unsigned track, bool sent,
                     bool partner)
{
    s->items[s->item_count] = (struct item){ .channel = e->number,
                                             .sent = sent,
                                             .partner = partner,
                                             .track = track,
                                             .party = e->party,
                                             .at = e->at,
                                             .order = s->item_count };
    s->item_count++;
}

static void take(struct story *s, const struct lt_event *e, unsigned track, struct slice **open)
{
    bool sent = e->kind == LT_EV_SENT;
    switch ((enum lt_event_kind)e->kind) {
    case LT_EV_RUNS:
        if (*open)
            (*open)->to = e->at;
        *open = e->party ? &s->slices[s->slice_count++] : NULL;
        if (*open)
            **open = (struct slice){ e->party, e->at, s->end, e->text, track };
        break;
    case LT_EV_TASK: s->tasks[s->task_count++] = (struct name){ e->number, e->text }; break;
    case LT_EV_CHANNEL:
        s->channels[s->channel_count++] = (struct name){ e->number, e->text };
        break;
    case LT_EV_SENT:
    case LT_EV_RECEIVED:
        for (uint64_t i = 0; i < e->count; i++)
            add_item(s, e, track, sent, false);
        if (e->party)
            add_item(s, e, track, !sent, true);
        break;
    case LT_EV_OPENED:
    case LT_EV_CLOSED: break;
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_number(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    return compare(x->number, y->number);
}

static int by_party(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    int order = compare(x->party, y->party);
    return order ? order : compare((uint64_t)x->from, (uint64_t)y->from);
}

/* By channel, then sent before received, then by time. */
static int by_channel(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare(x->channel, y->channel);
    if (!order)
        order = compare(y->sent, x->sent);
    if (!order)
        order = compare((uint64_t)x->at, (uint64_t)y->at);
    return order ? order : compare(x->order, y->order);
}

static bool read_events(struct story *s)
{
    size_t counts[4] = { 0 };
    for (unsigned i = 0; i <= s->workers; i++)
        for (const struct lt_event_chunk *chunk = lt_trace_chunks(i); chunk; chunk = chunk->next)
            for (size_t k = 0; k < chunk->count; k++)
                count(s, &chunk->events[k], counts);
    s->slices = lt_alloc((counts[0] + 1) * sizeof *s->slices);
    s->tasks = lt_alloc((counts[1] + 1) * sizeof *s->tasks);
    s->channels = lt_alloc((counts[2] + 1) * sizeof *s->channels);
    s->items = lt_alloc((counts[3] + 1) * sizeof *s->items);
    if (!s->slices || !s->tasks || !s->channels || !s->items)
        return false;
    for (unsigned i = 0; i <= s->workers; i++) {
        struct slice *open = NULL;
        for (const struct lt_event_chunk *chunk = lt_trace_chunks(i); chunk; chunk = chunk->next)
            for (size_t k = 0; k < chunk->count; k++)
                take(s, &chunk->events[k], i, &open);
    }
    qsort(s->slices, s->slice_count, sizeof *s->slices, by_party);
    qsort(s->tasks, s->task_count, sizeof *s->tasks, by_number);
    qsort(s->channels, s->channel_count, sizeof *s->channels, by_number);
    qsort(s->items, s->item_count, sizeof *s->items, by_channel);
    return true;
}

static const struct name *find(const struct name *names, size_t n, uint64_t number)
{
    if (number > UINT32_MAX || !n)
        return NULL;
    return bsearch(&(struct name){ .number = (uint32_t)number }, names, n, sizeof *names,
                   by_number);
}

/* ---- writing ---- */

static void put_text(FILE *to, const char *text)
{
    putc('"', to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20)
            fprintf(to, "\\u%04x", c);
        else
            putc(c, to);
    }
    putc('"', to);
}

/* Writes microseconds since the beginning. */
static void put_time(FILE *to, const struct story *s, const char *key, int64_t at)
{
    fprintf(to, ",\"%s\":%lld.%03lld", key, (long long)(at - s->begin) / 1000,
            (long long)(at - s->begin) % 1000);
}

static void put_head(FILE *to, const char *phase, unsigned track)
{
    fprintf(to, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", phase, track + 1);
}

static void put_slice(FILE *to, const struct story *s, const struct slice *slice)
{
    const struct name *task = find(s->tasks, s->task_count, slice->party);
    put_head(to, "X", slice->track);
    put_time(to, s, "ts", slice->from);
    put_time(to, s, "dur", s->begin + slice->to - slice->from);
    fprintf(to, ",\"cat\":\"%s\",\"name\":", task ? "task" : "block");
    if (task && task->text)
        put_text(to, task->text);
    else
        put_text(to, slice->name ? slice->name : task ? "task" : "block or callback");
    if (task)
        fprintf(to, ",\"args\":{\"task\":%u}", task->number);
    putc('}', to);
}

/* The party's last slice that began before `at`, or the first that did not; NULL: none. */
static const struct slice *slice_at(const struct story *s, uint64_t party, int64_t at, bool before)
{
    size_t low = 0, high = s->slice_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct slice *slice = &s->slices[middle];
        if (slice->party < party || (slice->party == party && slice->from < at))
            low = middle + 1;
        else
            high = middle;
    }
    if (before)
        return low > 0 && s->slices[low - 1].party == party ? &s->slices[low - 1] : NULL;
    return low < s->slice_count && s->slices[low].party == party ? &s->slices[low] : NULL;
}

struct end {
    unsigned track;
    int64_t at;
};

/* Where an item was sent or received. False: there is no slice for it. */
static bool find_end(const struct story *s, const struct item *item, struct end *end)
{
    if (!item->partner) {
        *end = (struct end){ item->track, item->at };
        return item->track < s->workers;
    }
    const struct slice *before = slice_at(s, item->party, item->at, true);
    const struct slice *after = slice_at(s, item->party, item->at, false);
    if (!item->sent && after) {
        *end = (struct end){ after->track, after->from };
        return true;
    }
    if (!before)
        return false;
    /* Inside the slice, not at its end. A partner on another worker may have come before the slice
     * was over, or so soon that the slice was not ended at all. */
    int64_t last = before->to > before->from ? before->to - 1 : before->from;
    *end = (struct end){ before->track, last < item->at ? last : item->at };
    return item->sent || last >= item->at;
}

static void put_end(FILE *to, const struct story *s, const char *phase, struct end end, size_t id,
                    const struct name *channel)
{
    put_head(to, phase, end.track);
    put_time(to, s, "ts", end.at);
    fprintf(to, ",\"id\":%zu,\"cat\":\"channel\",\"name\":", id);
    if (channel->text)
        put_text(to, channel->text);
    else
        fprintf(to, "\"channel %u\"", channel->number);
    putc('}', to);
}

/* The items of one channel: those sent, and those received. */
static void put_flows(FILE *to, const struct story *s, size_t first, size_t received, size_t after,
                      size_t *id)
{
    const struct name *channel = find(s->channels, s->channel_count, s->items[first].channel);
    if (!channel)
        return; /* older than the trace: items may have been in it before */
    for (size_t i = 0; first + i < received && received + i < after; i++) {
        struct end from, until;
        if (!find_end(s, &s->items[first + i], &from) ||
            !find_end(s, &s->items[received + i], &until) || until.at < from.at)
            continue;
        put_end(to, s, "s", from, ++*id, channel);
        put_end(to, s, "f\",\"bp\":\"e", until, *id, channel);
    }
}

static void put_all_flows(FILE *to, const struct story *s)
{
    size_t id = 0;
    for (size_t first = 0, received, after; first < s->item_count; first = after) {
        uint32_t channel = s->items[first].channel;
        for (received = first; received < s->item_count && s->items[received].channel == channel &&
                               s->items[received].sent;
             received++) {
        }
        for (after = received; after < s->item_count && s->items[after].channel == channel;
             after++) {
        }
        put_flows(to, s, first, received, after, &id);
    }
}

static void put_scope(FILE *to, const struct story *s, const struct lt_event *e, unsigned track)
{
    put_head(to, e->kind == LT_EV_OPENED ? "b" : "e", track);
    put_time(to, s, "ts", e->at);
    fprintf(to, ",\"cat\":\"scope\",\"id\":%u,\"name\":\"scope %u\"}", e->number, e->number);
}

static void put_scopes(FILE *to, const struct story *s)
{
    for (unsigned i = 0; i <= s->workers; i++)
        for (const struct lt_event_chunk *chunk = lt_trace_chunks(i); chunk; chunk = chunk->next)
            for (size_t k = 0; k < chunk->count; k++)
                if (chunk->events[k].kind == LT_EV_OPENED || chunk->events[k].kind == LT_EV_CLOSED)
                    put_scope(to, s, &chunk->events[k], i);
}

int lt_trace_write(FILE *to, unsigned workers, bool lost)
{
    struct story story = { .workers = workers };
    bool whole = read_events(&story);
    fprintf(to, "{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,"
                "\"name\":\"process_name\",\"args\":{\"name\":\"leat\"}}");
    for (unsigned i = 0; i <= workers; i++) {
        put_head(to, "M", i);
        fprintf(to, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
        fprintf(to, i < workers ? "worker %u\"}}" : "threads\"}}", i);
    }
    for (size_t i = 0; whole && i < story.slice_count; i++)
        put_slice(to, &story, &story.slices[i]);
    if (whole && !lost)
        put_all_flows(to, &story);
    if (whole)
        put_scopes(to, &story);
    fprintf(to, "\n]}\n");
    lt_free(story.slices);
    lt_free(story.items);
    lt_free(story.tasks);
    lt_free(story.channels);
    return !whole ? -ENOMEM : ferror(to) ? -EIO : 0;
}
